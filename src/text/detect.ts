/** The encoding that text looks to be in, where nobody says it and it is no UTF-8. */
import { analyse } from 'chardet';
import { charsetNamed } from '../lib/charset.js';

/** Bytes that are looked at: pairs and triples of letters tell languages apart in far less. */
const SAMPLE_BYTES = 16 * 1024;
/** Most bytes kept of what comes before the first letter that is not ASCII. */
const LEAD_BYTES = 256;
/** Fewer letters beyond ASCII could be of any language. */
const LEAST_LETTERS = 4;
/** Percent. Less is what chardet says of words with one or two such letters in them. */
const LEAST_CONFIDENCE = 12;

/** Fewer bytes could be of anything. */
const LEAST_WIDE_BYTES = 16;
/** At least this share of the characters is ASCII, whatever the language: blanks, tags. */
const LEAST_NARROW_SHARE = 1 / 8;
/**
 * Largest share, among zero bytes, of those that are no high byte of a character, as in letters like U+0400.
 */
const LOW_ZEROS_MOST_SHARE = 1 / 16;

/** A control character that is in no text (MIME Sniffing Standard, 3). */
export function isBinaryByte(byte: number): boolean {
  return byte < 0x20 && (byte < 0x09 || byte === 0x0b || (byte > 0x0d && byte !== 0x1b));
}

/** UTF-16 without a byte order mark, by the zero bytes of what is ASCII in it; undefined where it is not. */
export function wideCharset(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  const length = Math.min(bytes.length, SAMPLE_BYTES) & ~1;
  if (length < LEAST_WIDE_BYTES) return undefined;
  const zeros: [even: number, odd: number] = [0, 0];
  for (let i = 0; i < length; i += 2) {
    const [even, odd] = [bytes[i] as number, bytes[i + 1] as number];
    if (even === 0) zeros[0]++;
    if (odd === 0) zeros[1]++;
    if ((odd === 0 && isBinaryByte(even)) || (even === 0 && isBinaryByte(odd))) return undefined;
  }
  const [low, high] = zeros[0] < zeros[1] ? zeros : [zeros[1], zeros[0]];
  if (high < LEAST_NARROW_SHARE * (length / 2) || low > LOW_ZEROS_MOST_SHARE * high) return undefined;
  return zeros[0] < zeros[1] ? 'utf-16le' : 'utf-16be';
}

/** undefined where it cannot be told. */
export function detectCharset(bytes: Uint8Array): string | undefined {
  const first = bytes.findIndex(byte => byte > 0x7f);
  const from = first < 0 ? 0 : Math.max(0, first - LEAD_BYTES);
  // Tags would be taken for English. In none of the encodings to be told apart does a character hold `<` or
  // `>`.
  const sample = Buffer.from(
    bytes.buffer,
    bytes.byteOffset + from,
    Math.min(4 * SAMPLE_BYTES, bytes.length - from),
  )
    .toString('latin1')
    .replace(/<[^>]*>?/g, ' ')
    .slice(0, SAMPLE_BYTES);
  // oxlint-disable-next-line no-control-regex -- ISO-2022-JP has no others
  if (!sample.includes('\x1b') && (sample.match(/[\x80-\xff]/g)?.length ?? 0) < LEAST_LETTERS)
    return undefined;
  for (const { name, confidence } of analyse(Buffer.from(sample, 'latin1'))) {
    if (confidence < LEAST_CONFIDENCE) return undefined;
    const charset = charsetNamed(name);
    if (charset !== undefined && !charset.startsWith('utf-') && charset !== 'replacement') return charset;
  }
  return undefined;
}
