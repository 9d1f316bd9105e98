/**
 * Tells if the type that a server serves contradicts what was announced. A CP knows the files it announces; a
 * server often knows less. Only two specific, different types contradict each other: an error page in the
 * place of a document, say.
 */

/** Types that servers give when they do not know. */
const UNKNOWN = new Set(['application/octet-stream', 'binary/octet-stream', 'application/unknown']);

/** @param announced and served essences: lower case, no parameters */
export function contradicts(announced: string, served: string): boolean {
  if (announced === served || UNKNOWN.has(served) || UNKNOWN.has(announced)) return false;
  const [said, got] = [family(announced), family(served)];
  if (said === got) return false;
  // Many a server calls every text it has no entry for text/plain: markdown, CSV, JSON, source. HTML it
  // knows.
  return !(got === 'text/plain' && announced !== 'text/html' && isText(announced, said));
}

function isText(announced: string, said: string): boolean {
  return announced.startsWith('text/') || said === 'xml' || said === 'json' || said === 'javascript';
}

/** One name for types registered, or once used, under several (RFC 9239, RFC 7303, RFC 8081, RFC 6648). */
function family(essence: string): string {
  const [type = '', subtype = ''] = essence.split('/');
  const name = subtype.replace(/^x-/, '');
  if (name === 'javascript' || name === 'ecmascript') return 'javascript';
  if (name === 'xml' || (name.endsWith('+xml') && name !== 'xhtml+xml' && name !== 'svg+xml')) return 'xml';
  if (name === 'json' || name.endsWith('+json')) return 'json';
  if (name === 'icon' || name === 'vnd.microsoft.icon') return 'icon';
  if (type === 'font' || name.startsWith('font-')) return `font/${name.replace(/^font-/, '')}`;
  return `${type}/${name}`;
}
