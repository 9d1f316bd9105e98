/** A link as a line of a set, or of a stream. */
import { formatAttributes } from '../lib/xml/escape.js';
import type { FoundLink } from './options.js';

/** @param withPid whether the line says whose it is; a set says so itself */
export function linkLine({ pid, curl, furl, hops }: FoundLink, withPid: boolean): string {
  const attributes = { curl, mimetype: '*/*', furl, ifabsent: 'yes', outofroot: 'drop', hops };
  return `<url${formatAttributes(withPid ? { ...attributes, pid } : attributes)}/>\n`;
}
