/**
 * Many checksums looked at in one: the CRC-32 of texts end to end follows from the CRC-32 of each, so that a block of rows
 * is verified by one native pass over all of its text. A crossing for each row costs four times as much (1.0 µs a row,
 * 0.25 this way; bench/lccq.ts).
 *
 * A CRC is a remainder of polynomials over GF(2). The one of A followed by B is the one of A, multiplied by x to the power
 * of the bits in B, plus the one of B. Multiplying by a fixed power is linear in the 32 bits: four tables of 256.
 */

/** Reflected, as zlib has it. */
const POLYNOMIAL = 0xedb88320;
/** Longer texts have no tables: they are looked at one by one. */
export const MAX_JOINED_BYTES = 2048;

/** What each of the 32 bits becomes. */
type Operator = Uint32Array;

const tablesOf: (Uint32Array | undefined)[] = [];
/** By power of two: what that many zero bytes do. */
let powers: Operator[] | undefined;

/**
 * The CRC-32 of a text made of two.
 * @param first CRC-32 of the beginning
 * @param second CRC-32 of the rest, which has `length` bytes, at most MAX_JOINED_BYTES
 */
export function joinCrc(first: number, second: number, length: number): number {
  const table = (tablesOf[length] ??= tablesFor(length));
  return (
    ((table[first & 0xff] ?? 0) ^
      (table[256 + ((first >>> 8) & 0xff)] ?? 0) ^
      (table[512 + ((first >>> 16) & 0xff)] ?? 0) ^
      (table[768 + (first >>> 24)] ?? 0) ^
      second) >>>
    0
  );
}

function tablesFor(length: number): Uint32Array {
  powers ??= powersUpTo(MAX_JOINED_BYTES);
  let bits: Operator = Uint32Array.from({ length: 32 }, (_, i) => (1 << i) >>> 0);
  for (let k = 0; length >>> k > 0; k++) {
    const power = powers[k];
    if (((length >>> k) & 1) === 1 && power !== undefined) bits = bits.map(bit => applied(power, bit));
  }
  const table = new Uint32Array(4 * 256);
  for (let byte = 0; byte < 4; byte++) {
    const at = byte * 256;
    for (let value = 1; value < 256; value++) {
      const lowest = 31 - Math.clz32(value & -value);
      table[at + value] = (table[at + (value & (value - 1))] ?? 0) ^ (bits[byte * 8 + lowest] ?? 0);
    }
  }
  return table;
}

function powersUpTo(length: number): Operator[] {
  // One zero bit; then twice as many each time: 2, 4 and 8 bits, 2 bytes and so on.
  let operator: Operator = Uint32Array.from({ length: 32 }, (_, i) =>
    i === 0 ? POLYNOMIAL : (1 << (i - 1)) >>> 0,
  );
  const found: Operator[] = [];
  for (let bits = 1; bits <= 8 * length; bits *= 2) {
    if (bits >= 8) found.push(operator);
    const again = operator;
    operator = again.map(bit => applied(again, bit));
  }
  return found;
}

function applied(operator: Operator, value: number): number {
  let result = 0;
  for (let i = 0; i < 32; i++) if (((value >>> i) & 1) === 1) result ^= operator[i] ?? 0;
  return result >>> 0;
}
