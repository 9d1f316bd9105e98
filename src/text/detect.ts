/** The encoding that text looks to be in, where nobody says it and it is no UTF-8. */
import { analyse } from 'chardet';
import { charsetNamed } from '../lib/charset.js';

/** What is looked at: pairs and triples of letters tell languages apart in far less. */
const SAMPLE_BYTES = 16 * 1024;
/** Most bytes kept of what comes before the first letter that is not ASCII. */
const LEAD_BYTES = 256;
/** Fewer letters beyond ASCII could be of any language. */
const LEAST_LETTERS = 4;
/** Percent. Less is what chardet says of words with one or two such letters in them. */
const LEAST_CONFIDENCE = 12;

/** undefined where it cannot be told. */
export function detectCharset(bytes: Uint8Array): string | undefined {
  const first = bytes.findIndex(byte => byte > 0x7f);
  const from = first < 0 ? 0 : Math.max(0, first - LEAD_BYTES);
  // Tags would be taken for English. In none of the encodings to be told apart does a character hold `<` or `>`.
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
