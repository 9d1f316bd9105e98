/** A line of a list of urls: a url, or the number of a document, a tab and a url. */
import { isUtf8 } from 'node:buffer';
import { utf8Of } from '../../lib/byte-lines.js';
import { hostNameOf, isHostName, MAX_DOC_ID } from '../../wire/spider-lines.js';
import type { UrlTerms } from './spider-url.js';

/** Most bytes of a url in a record. */
const MAX_URL_BYTES = 65_535;
/** A url that can be sent as it stands. */
const CLEAN = /^https?:\/\/[\x21-\x7e]+$/i;

const CONTROL = /[\0-\x1f\x7f]/g;
const BEYOND_ASCII = /[\x80-\xff]/g;

interface RefusedLine {
  docId: string;
  url: string;
  why: string;
}

/**
 * @param line without its end, a character a byte; undefined: it was too long
 * @param number from 1: the document's, too, unless the line says one
 */
export function readListLine(line: string | undefined, number: number): UrlTerms | RefusedLine {
  if (line === undefined)
    return { docId: String(number), url: '', why: `line ${number} has more than ${MAX_URL_BYTES} bytes` };
  const [, docText, rest = line] = /^(\d{1,15})\t([^]*)$/.exec(line) ?? [];
  const given = asciiOrUtf8(rest).trim();
  const docId = docText === undefined ? number : Number(docText);
  const refuse = (why: string): RefusedLine => ({
    docId: docText ?? String(number),
    url: given.replace(CONTROL, '?'),
    why,
  });
  if (docId > MAX_DOC_ID) return refuse(`the number of a document is at most ${MAX_DOC_ID}`);
  // Parsers of urls leave a tab out without a word.
  if (given.includes('\t'))
    return refuse(
      docText === undefined
        ? 'what stands before the tab is no number of a document'
        : 'a tab inside of the url',
    );
  const parsed = parseUrl(given);
  if (parsed === undefined) return refuse('not a url');
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') return refuse('neither http nor https');
  const hostName = hostNameOf(parsed);
  if (!isHostName(hostName)) return refuse('its host is no name');
  const url = CLEAN.test(rest.trim()) ? given : parsed.href;
  return url.length > MAX_URL_BYTES
    ? refuse(`more than ${MAX_URL_BYTES} bytes`)
    : { number, docId, url, hostName };
}

/** UTF-8 as text; of a line that is none, every byte beyond ASCII percent-encoded as it is: its server knows
 * the encoding. */
function asciiOrUtf8(line: string): string {
  if (isUtf8(Buffer.from(line, 'latin1'))) return utf8Of(line);
  return line.replace(BEYOND_ASCII, byte => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
