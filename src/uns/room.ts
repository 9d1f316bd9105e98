/** Room of a UNS for more sets: in its spool, and on the spool's disk. */
import { bytesToKeep, describeRoom } from '../config/free-disk.js';
import type { Spool } from '../lib/spool.js';
import { Refusal } from '../wire/refusal.js';
import { limitOf, type UnsOptions } from './options.js';

export class SpoolRoom {
  readonly #spool: Spool;
  readonly #options: UnsOptions;

  constructor(spool: Spool, options: UnsOptions) {
    this.#spool = spool;
    this.#options = options;
  }

  /** The place that is full, the spool or its disk. */
  shortage(): string | undefined {
    const { limits } = this.#options;
    return this.#spool.bytes >= limits.maxSpoolBytes
      ? `the spool is at its limit, ${limitOf(this.#options, 'uns.max_spool_bytes')}`
      : this.#diskShortage();
  }

  /** @throws Refusal 102 when the spool or its disk is full */
  demand(): void {
    const full = this.shortage();
    if (full !== undefined) throw new Refusal(102, `temporarily off-line, try again later: ${full}`);
  }

  #diskShortage(): string | undefined {
    const { minFree } = this.#options;
    const space = this.#spool.space();
    if (space.freeBytes >= bytesToKeep(minFree, space.totalBytes)) return undefined;
    return `the spool's disk has too little room: ${describeRoom(minFree, space)}`;
  }
}
