/** The text in content, by its type. */
import { getBOMEncoding } from '@exodus/bytes/encoding-lite.js';
import { decodeDocument, type Decoded } from './decode.js';
import { pageText, type PageText, type TextWanted } from './html.js';
import { tidy, tidyLines } from './tidy.js';

/** Whether there is text in content of this type. */
export function holdsText(mimetype: string): boolean {
  return mimetype.startsWith('text/') || isMarkup(mimetype);
}

/** What is known of content besides its bytes. */
export interface TextSource {
  /** One that `holdsText`. */
  mimetype: string;
  /** The name of the encoding that the server said. */
  charset?: string | null | undefined;
}

/** What was found in a document, and the encoding it was in (a name of the Encoding Standard). */
export interface DocumentText extends PageText {
  charset: string;
}

/**
 * @param wanted `all`: every word on one line; `readable`: the content of a page, a line per paragraph; lines and
 *   indentation as they are where they are content
 * @returns undefined where there is none, whatever the type says: the bytes are not text
 */
export function textOf(
  bytes: Uint8Array,
  source: TextSource,
  wanted: TextWanted = 'all',
): DocumentText | undefined {
  const decoded = decodedOf(bytes, source);
  if (decoded === undefined) return undefined;
  const { text: document, charset } = decoded;
  const { mimetype } = source;
  if (isMarkup(mimetype)) return { ...pageText(document, wanted, mimetype !== 'text/html'), charset };
  return { title: '', text: wanted === 'all' ? tidy(document) : tidyLines(document), charset };
}

/** The document as text, with its markup; undefined where it is not text. */
export function decodedOf(bytes: Uint8Array, { mimetype, charset }: TextSource): Decoded | undefined {
  const markup = !isMarkup(mimetype) ? undefined : mimetype === 'text/html' ? 'html' : 'xml';
  const isWide = charset?.startsWith('utf-16') === true;
  if (!isWide && isBinary(bytes, markup !== undefined)) return undefined;
  return decodeDocument(bytes, { markup, charset: charset ?? undefined });
}

/** Whether content of this type is HTML or XML. */
export function isMarkup(mimetype: string): boolean {
  return /^(text\/(html|xml)|application\/xml|.*\+xml)$/.test(mimetype);
}

/** What the MIME Sniffing Standard looks at (7.2). */
const SNIFFED_BYTES = 1445;

/** One that hardly stands in other bytes by chance. */
const TAG = /<(?:!doctype|!--|\?xml|[a-z][\w:.-]{2,}|h1|a|b|br|p)[\s>/]/i;

/**
 * Whether bytes that are called text are none: control characters at their beginning that no text holds, and no byte
 * order mark. Markup may hold them, where there is a tag besides.
 */
function isBinary(bytes: Uint8Array, isMarkup: boolean): boolean {
  const start = bytes.subarray(0, SNIFFED_BYTES);
  if (!start.some(isBinaryByte) || getBOMEncoding(start) !== null) return false;
  return !isMarkup || !TAG.test(Buffer.from(start).toString('latin1'));
}

function isBinaryByte(byte: number): boolean {
  return byte < 0x20 && (byte < 0x09 || byte === 0x0b || (byte > 0x0d && byte !== 0x1b));
}
