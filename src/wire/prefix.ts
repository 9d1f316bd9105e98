/** The prefix of the conversations' own elements. It is a fixed text: peers need not declare it, replies never do. */
export const PREFIX = 'lococa:';
export const NAMESPACE = 'http://www.lococa.org/1.0';

/** An element's name without the prefix. */
export function localName(name: string): string {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name;
}
