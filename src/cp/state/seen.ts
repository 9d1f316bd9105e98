/**
 * Recognises the lines of the old state as they come in. Most lines of most runs are the same as last time:
 * those never become strings, are not sorted and not merged. The old state is read once for it, and of each
 * line a hash is kept (line-hash.ts): 16 bytes a line, so that three million lines take 64 MB.
 */
import { giveBack } from '../../lib/memory.js';
import { LineHasher, wordsOf } from './line-hash.js';
import type { Statefile } from './statefile.js';

/** Most places of the table: 64 MB. More lines than fit are left to sorting and merging, which is as right
 * and slower. */
const MOST_PLACES = 2 ** 22;
const FEWEST_PLACES = 2 ** 8;
/** Numbers of 32 bits in a place: three of the hash, and that of the line, counted from 1, negative once it
 * came in. */
const STRIDE = 4;
const STRIDE_BITS = 2;
/** Eighths that are taken: a fuller table is made larger, or takes no more. */
const FULLEST = 7;
/** A smaller table is not worth what giving back takes. */
const WORTH_GIVING_BACK_BYTES = 8 * 1024 * 1024;
const TYPICAL_LINE_BYTES = 128;

/**
 * Lines hashed before the table is looked at. Places of a table of 64 MB are in no cache: those of many
 * lines, asked for in one loop, come together, and a url of three million costs hardly more than one of 100
 * 000.
 */
const BATCH = 64;

export class Seen {
  readonly #mostPlaces: number;
  readonly #hasher = new LineHasher();
  #table: Int32Array;
  /** Lines of a batch: hash, and where each ends. */
  readonly #a = new Int32Array(BATCH);
  readonly #b = new Int32Array(BATCH);
  readonly #c = new Int32Array(BATCH);
  readonly #ends = new Int32Array(BATCH);
  #count = 0;
  /** Bytes of the batch, the next line in it, and where that begins. */
  #bytes: Buffer | undefined;
  #next = 0;
  #at = 0;
  /** Nothing that matters: what was read for the sake of reading. */
  touched = 0;
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
      const { end } = this.#hasher;
      if (end >= 0) {
        this.#note(end);
        if (this.#count === BATCH) this.#hold();
      }
      return end;
    });
    this.#hold();
    this.#taken = new Uint8Array((this.total >> 3) + 1);
  }

  /**
   * Takes lines off `bytes`, from `from` on, as long as each is one of the old state's, named for the first
   * time.
   * @param bytes must not change as long as it is given again
   * @returns where the first that is not begins, or one without its newline
   */
  take(bytes: Buffer, from: number): number {
    if (this.total === 0) return from;
    if (this.#bytes !== bytes || this.#at !== from) {
      this.#bytes = bytes;
      this.#at = from;
      this.#next = this.#count = 0;
    }
    for (;;) {
      if (this.#next === this.#count && !this.#fill(bytes)) return this.#at;
      const n = this.#find(this.#next);
      const at = this.#at;
      // The line is not asked for again: it is taken, or left to the caller.
      this.#at = this.#ends[this.#next++]! + 1;
      if (n < 0) return at;
      this.#taken[n >> 3]! |= 1 << (n & 7);
      this.taken += 1;
    }
  }

  /** True if the n-th line of the old state, counted from 0, came in. */
  wasTaken(n: number): boolean {
    return ((this.#taken[n >> 3]! >> (n & 7)) & 1) === 1;
  }

  /** Gives the memory of the table back: nothing will be taken any more. */
  endTaking(): void {
    if (this.#table.byteLength >= WORTH_GIVING_BACK_BYTES) giveBack(Buffer.from(this.#table.buffer));
    this.#table = new Int32Array(0);
  }

  /** True if every line of the old state came in. */
  get isComplete(): boolean {
    return this.taken === this.total;
  }

  /** Keeps the hash of the line hashed last. */
  #note(end: number): void {
    const at = this.#count++;
    this.#a[at] = this.#hasher.a;
    this.#b[at] = this.#hasher.b;
    this.#c[at] = this.#hasher.c;
    this.#ends[at] = end;
  }

  /** Hashes a batch of lines from `#at` on. @returns false where there is no whole line */
  #fill(bytes: Buffer): boolean {
    const words = wordsOf(bytes);
    this.#next = this.#count = 0;
    for (let at = this.#at; this.#count < BATCH; at = this.#hasher.end + 1) {
      this.#hasher.run(bytes, words, at);
      if (this.#hasher.end < 0) break;
      this.#note(this.#hasher.end);
    }
    this.#touch();
    return this.#count > 0;
  }

  /** Has the places of a batch fetched from memory. */
  #touch(): void {
    const table = this.#table;
    const mask = table.length - 1;
    let sum = 0;
    for (let i = 0; i < this.#count; i++) sum ^= table[(this.#a[i]! << STRIDE_BITS) & mask]!;
    this.touched ^= sum;
  }

  /** Notes the lines of the batch as the next of the old state. */
  #hold(): void {
    while (this.#held + this.#count > (this.#table.length / STRIDE) * (FULLEST / 8)) {
      if (this.#table.length / STRIDE >= this.#mostPlaces) break;
      this.#grow();
    }
    this.#touch();
    for (let i = 0; i < this.#count; i++) {
      this.#read += 1;
      if (this.#held >= (this.#table.length / STRIDE) * (FULLEST / 8)) continue;
      this.#held += 1;
      put(this.#table, this.#a[i]!, this.#b[i]!, this.#c[i]!, this.#read);
    }
    this.#count = 0;
  }

  #grow(): void {
    const before = this.#table;
    const table = new Int32Array(2 * before.length);
    for (let at = 0; at < before.length; at += STRIDE)
      if (before[at + 3] !== 0) put(table, before[at]!, before[at + 1]!, before[at + 2]!, before[at + 3]!);
    this.#table = table;
  }

  /** The number, from 0, of the old line that is the i-th of the batch, and notes that it came in; -1 where
   * none is. */
  #find(i: number): number {
    const table = this.#table;
    const mask = table.length - 1;
    const a = this.#a[i]!;
    const b = this.#b[i]!;
    const c = this.#c[i]!;
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
