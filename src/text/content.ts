/** The text in content, by its type. */
import { getBOMEncoding } from '@exodus/bytes/encoding-lite.js';
import { decodeDocument, latin1, rawDocument, type Declared, type Decoded, type Raw } from './decode.js';
import { isBinaryByte, wideCharset } from './detect.js';
import { pageText, type PageText, type TextWanted } from './html.js';
import { tidy, tidyLines } from './tidy.js';

/** True if there is text in content of this type. */
export function holdsText(mimetype: string): boolean {
  return mimetype.startsWith('text/') || isMarkup(mimetype);
}

/** Facts of content besides its bytes. */
export interface TextSource {
  /** One that `holdsText`. */
  mimetype: string;
  /** The name of the encoding that the server said. */
  charset?: string | null | undefined;
}

/** Text found in a document, and the encoding it was in (a name of the Encoding Standard). */
export interface DocumentText extends PageText {
  charset: string;
}

/**
 * @param wanted `all`: every word on one line; `readable`: the content of a page, a line per paragraph;
 *   lines and indentation as they are where they are content
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
export function decodedOf(bytes: Uint8Array, source: TextSource): Decoded | undefined {
  const declared = declaredOf(bytes, source);
  return declared && decodeDocument(bytes, declared);
}

/** The same for who needs little of it. */
export function rawOf(bytes: Uint8Array, source: TextSource): Raw | undefined {
  const declared = declaredOf(bytes, source);
  return declared && rawDocument(bytes, declared);
}

/** Facts of the content besides its bytes; undefined where it is not text. */
function declaredOf(bytes: Uint8Array, { mimetype, charset }: TextSource): Declared | undefined {
  const markup = !isMarkup(mimetype) ? undefined : mimetype === 'text/html' ? 'html' : 'xml';
  const wide = charset?.startsWith('utf-16') === true ? charset : wideCharset(bytes);
  if (wide === undefined && isBinary(bytes, markup !== undefined)) return undefined;
  return { markup, charset: wide ?? charset ?? undefined };
}

/** True if content of this type is HTML or XML. */
export function isMarkup(mimetype: string): boolean {
  return /^(text\/(html|xml)|application\/xml|.*\+xml)$/.test(mimetype);
}

/** Bytes that the MIME Sniffing Standard looks at (7.2). */
const SNIFFED_BYTES = 1445;

/** One that hardly stands in other bytes by chance. */
const TAG = /<(?:!doctype|!--|\?xml|[a-z][\w:.-]{2,}|h1|a|b|br|p)[\s>/]/i;

/** How documents, pictures, sounds, fonts and archives begin that may look like text from there on (6 and
 * 7.1). */
const SIGNATURE =
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  /^(?:%PDF-|%!PS-Adobe-|GIF8[79]a|\x89PNG\r\n\x1a\n|\xff\xd8\xff|RIFF.{4}(?:WEBPVP|WAVE|AVI )|OggS\0|\x1aE\xdf\xa3|wOF[F2]\0|\0\x01\0\0|\x1f\x8b\x08|PK\x03\x04|Rar!?\x1a\x07)/s;
const SIGNATURE_BYTES = 16;

/** Machine code and what is compressed have five times as many of their bytes in the control characters. */
const BINARY_MOST_SHARE = 0.02;
/** Any page may hold that many. */
const BINARY_FEW = 4;

/**
 * True if bytes that are called text are none: by their signature, by control characters at their beginning
 * that no text holds, unless there is a tag besides and they are markup, or by the share of these characters
 * in all of them. A byte order mark says that they are text.
 */
function isBinary(bytes: Uint8Array, isMarkup: boolean): boolean {
  const start = bytes.subarray(0, SNIFFED_BYTES);
  if (getBOMEncoding(start) !== null) return false;
  if (SIGNATURE.test(latin1(start.subarray(0, SIGNATURE_BYTES)))) return true;
  if (binaryBytesIn(start) > 0 && !(isMarkup && TAG.test(latin1(start)))) return true;
  const count = binaryBytesIn(bytes);
  return count > BINARY_FEW && count > BINARY_MOST_SHARE * bytes.length;
}

function binaryBytesIn(bytes: Uint8Array): number {
  let count = 0;
  for (let i = 0; i < bytes.length; i++) if (isBinaryByte(bytes[i] as number)) count++;
  return count;
}
