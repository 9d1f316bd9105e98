/**
 * Recognises the lines of the old state as they come in. Most lines of most runs are the same as last time: those never
 * become strings, are not sorted and not merged. The old state is read once for it, and of each line a hash is kept
 * (line-hash.ts): 16 bytes a line, so that three million lines take 64 MB.
 */
import { LineHasher, wordsOf } from './line-hash.js';
import type { Statefile } from './statefile.js';

/** Of the table: 64 MB. More lines than fit are left to sorting and merging, which is as right and slower. */
const MOST_PLACES = 2 ** 22;
const FEWEST_PLACES = 2 ** 8;
/** Numbers of 32 bits in a place: three of the hash, and that of the line, counted from 1, negative once it came in. */
const STRIDE = 4;
const STRIDE_BITS = 2;
/** Of eighths: a fuller table is made larger, or takes no more. */
const FULLEST = 7;
const TYPICAL_LINE_BYTES = 128;

export class Seen {
  readonly #mostPlaces: number;
  readonly #hasher = new LineHasher();
  #table: Int32Array;
  /** Lines of the old state read so far, and of these the ones in the table. */
  #read = 0;
  #held = 0;
  /** A bit a line of the old state: it came in. */
  readonly #taken: Uint8Array;
  /** Lines of the old state. */
  readonly total: number;
  /** Lines recognised so far. */
  taken = 0;

  /** @throws LccError `data.malformed` when lines of the state are not in order, or the last is cut */
  constructor(old: Statefile, mostPlaces = MOST_PLACES) {
    this.#mostPlaces = mostPlaces;
    const likely = 2 ** Math.ceil(Math.log2(((old.bytes / TYPICAL_LINE_BYTES) * 8) / FULLEST + 1));
    this.#table = new Int32Array(STRIDE * Math.min(Math.max(FEWEST_PLACES, likely), mostPlaces));
    this.total = old.scan((bytes, words, at) => {
      this.#hasher.run(bytes, words, at);
      if (this.#hasher.end >= 0) this.#hold();
      return this.#hasher.end;
    });
    this.#taken = new Uint8Array((this.total >> 3) + 1);
  }

  /**
   * Takes lines off `bytes`, from `from` on, as long as each is one of the old state's, named for the first time.
   * @returns where the first that is not begins, or one without its newline
   */
  take(bytes: Buffer, from: number): number {
    if (this.total === 0) return from;
    const words = wordsOf(bytes);
    for (let at = from; ; at = this.#hasher.end + 1) {
      this.#hasher.run(bytes, words, at);
      if (this.#hasher.end < 0) return at;
      const n = this.#find();
      if (n < 0) return at;
      this.#taken[n >> 3]! |= 1 << (n & 7);
      this.taken += 1;
    }
  }

  /** Whether the n-th line of the old state, counted from 0, came in. */
  wasTaken(n: number): boolean {
    return ((this.#taken[n >> 3]! >> (n & 7)) & 1) === 1;
  }

  /** Whether every line of the old state came in. */
  get isComplete(): boolean {
    return this.taken === this.total;
  }

  /** Notes the line hashed last as the next of the old state. */
  #hold(): void {
    const number = ++this.#read;
    const places = this.#table.length / STRIDE;
    if (this.#held >= places * (FULLEST / 8)) {
      if (places === this.#mostPlaces) return;
      this.#grow();
    }
    this.#held += 1;
    const { a, b, c } = this.#hasher;
    put(this.#table, a, b, c, number);
  }

  #grow(): void {
    const before = this.#table;
    const table = new Int32Array(2 * before.length);
    for (let at = 0; at < before.length; at += STRIDE)
      if (before[at + 3] !== 0) put(table, before[at]!, before[at + 1]!, before[at + 2]!, before[at + 3]!);
    this.#table = table;
  }

  /** The number, from 0, of the old line that is the one hashed last, and notes that it came in; -1 where none is. */
  #find(): number {
    const table = this.#table;
    const { a, b, c } = this.#hasher;
    const mask = table.length - 1;
    for (let at = (a << STRIDE_BITS) & mask; ; at = (at + STRIDE) & mask) {
      const number = table[at + 3]!;
      if (number === 0) return -1;
      if (table[at] !== a || table[at + 1] !== b || table[at + 2] !== c || number < 0) continue;
      table[at + 3] = -number;
      return number - 1;
    }
  }
}

function put(table: Int32Array, a: number, b: number, c: number, number: number): void {
  const mask = table.length - 1;
  let at = (a << STRIDE_BITS) & mask;
  while (table[at + 3] !== 0) at = (at + STRIDE) & mask;
  table[at] = a;
  table[at + 1] = b;
  table[at + 2] = c;
  table[at + 3] = number;
}
