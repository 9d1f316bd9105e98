/** Encodings by the labels and names of the WHATWG's Encoding Standard, which is what servers and pages mean
 * by them. */
import { normalizeEncoding } from '@exodus/bytes/encoding-lite.js';

/** The longest label of the standard has 19 characters. */
const MAX_LABEL = 64;

/** The name of the encoding that a label stands for (`windows-1252` for `Latin1`); undefined where it is
 * none. */
export function charsetNamed(label: string): string | undefined {
  return label.length > MAX_LABEL ? undefined : (normalizeEncoding(label) ?? undefined);
}
