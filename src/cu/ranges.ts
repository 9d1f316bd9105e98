/**
 * Long answers made by two threads. The change sequence is cut into ranges; every other one is made by a
 * second thread, ahead of ours, from the same snapshot, and what it made is written when its turn comes:
 *
 *     ours       makes 0  writes 1  makes 2  writes 3  …
 *     theirs     makes 1  makes 3   makes 5  …     at most AHEAD ranges not taken yet, each bounded
 *
 * All that is SQLite and md5 is so done by two; a range that is too large to be handed over is declined, and
 * made here, piece by piece. So is everything that a thread which is lost still had. On two free processors,
 * start included: 500,000 rows as xml in 0.69 s instead of 1.08 s (1.5 ×), 20,000 pages of 4 KB as jsonl with
 * content 1.5 ×, as tar 1.2 ×; for 12 % more processor time and 50 MB.
 *
 * What is made lies in memory that both have, a slot for each range that is ahead: it is used again and
 * again. Ranges are as wide as makes them RANGE_BYTES, and theirs wider than ours by as much as we have to do
 * besides, which is writing.
 */
import { availableParallelism } from 'node:os';
import type { CacheReader } from '../db/cache/read.js';
import { Thread } from '../lib/thread.js';
import type { Query } from './types.js';

/** Numbers of the change sequence in the first ranges: of lines, and of pages with their content. */
const LINES_WIDTH = 2000;
const CONTENT_WIDTH = 250;
const MIN_WIDTH = 10;
const MAX_WIDTH = 5000;
/** Bytes that a range aims at. */
const RANGE_BYTES = 1024 * 1024;
/** Most bytes of one range that are handed over. */
const SLOT_BYTES = 8 * RANGE_BYTES;
/** Fewer changes are not worth the start of a thread. */
const MIN_LINES = 50_000;
const MIN_CONTENTS = 2500;
/** Ranges that the thread has, made or not. */
const AHEAD = 3;
/** Part of the thread's heap for what was made last. */
const YOUNG_MB = 8;
/**
 * By how much their ranges become wider or narrower when one has waited for the other, and the bounds of it.
 */
const SHARE_STEP = 1.1;
const MAX_SHARE = 2;
/** Commits may come between the two looks at the database: so often is it tried. */
const MAX_LOOKS = 50;
/** Time without an answer after which a thread is taken for dead. */
const PATIENCE_MS = 60_000;

export interface Span {
  /** Changes after this number, up to that one. */
  since: number;
  to: number;
}

/** To the thread: a range to be made in a slot, or to look at the database; `mark` notes its state before
 * ours is looked at. */
export type RangeRequest = (Span & { slot: number }) | 'mark' | 'look';

interface Made {
  count: number;
  rejects: string[];
  /** Rows with their content on another machine: url and machine. */
  elsewhere: [string, string][];
  /** Rows replaced or deleted since. */
  replaced: number;
  notes: string[];
}

export interface MadeRange extends Made {
  /** There until the next range is asked for. */
  bytes: Buffer;
}
/** `length`: of what is in the slot; `looked`: whether nothing was committed since the mark. */
export type RangeAnswer = { made: Made; length: number } | { looked: boolean } | 'marked';

export interface RangeWorkerData {
  dbPath: string;
  machineId: string;
  formatName: string;
  query: Omit<Query, 'format' | 'converter'>;
  /** Memory takes room only where it has been written. */
  slots: SharedArrayBuffer[];
}

/** Further needs, besides the query, of having part of it made elsewhere. */
interface RangeHelp {
  /** File that calls `serveRanges` (range-thread.ts). */
  script: string;
  dbPath: string;
  machineId: string;
  formatName: string;
}

/** True if the records of a query can be made in ranges, and there are enough of them to be worth it. */
export function isWorthSplitting(query: Query, reader: Pick<CacheReader, 'highWater' | 'startOf'>): boolean {
  const { format, selection, limit } = query;
  const { independent = [], sides } = format;
  const changes = reader.highWater - reader.startOf(selection);
  return (
    limit === undefined &&
    query.text === undefined &&
    query.markdown === undefined &&
    selection.sides.filter(side => sides.includes(side)).every(side => independent.includes(side)) &&
    changes >= (hasContent(query) ? MIN_CONTENTS : MIN_LINES) &&
    availableParallelism() > 1
  );
}

function hasContent({ format, content }: Query): boolean {
  return content === true || format.keyedByUrl === true;
}

export class RangeThread {
  readonly #thread: Thread<RangeRequest, RangeAnswer>;
  readonly #slots = Array.from({ length: AHEAD }, () => new SharedArrayBuffer(SLOT_BYTES));
  readonly #patienceMs: number;
  /** Width of our own ranges. */
  #width: number;
  /** Theirs to ours. */
  #share = 1;

  constructor({ script, ...data }: RangeHelp, query: Query, patienceMs = PATIENCE_MS) {
    const { format: _, converter: __, ...plain } = query;
    const start: RangeWorkerData = { ...data, query: plain, slots: this.#slots };
    // Most of what it makes is let go of at once: more room for that would only be more memory.
    this.#thread = new Thread({ script, data: start, youngMb: YOUNG_MB });
    this.#patienceMs = patienceMs;
    this.#width = hasContent(query) ? CONTENT_WIDTH : LINES_WIDTH;
  }

  /**
   * Has both look at the same state of the database; `reader` is renewed.
   * @returns false when that did not succeed: the thread is of no use
   */
  lookTogether(reader: CacheReader): boolean {
    for (let look = 0; look < MAX_LOOKS && !this.#thread.isOver; look++) {
      // Nothing committed between its mark and its look: what we looked at in between was the same.
      this.#thread.ask('mark');
      if (this.#answer() !== 'marked') return false;
      reader.renew();
      this.#thread.ask('look');
      const answer = this.#answer();
      if (typeof answer === 'object' && 'looked' in answer && answer.looked) return true;
    }
    return false;
  }

  /** The ranges of all of it, in order; the caller makes what is not made yet. */
  *ranges({ since, to }: Span): Generator<Span & { made?: MadeRange }, void> {
    const planned: (Span & { slot?: number })[] = [];
    let asked = 0;
    let taken = 0;
    for (let at = since; ;) {
      while (at < to && asked - taken < AHEAD) {
        planned.push({ since: at, to: (at = Math.min(to, at + this.#width)) });
        if (at === to) break;
        const slot = asked++ % AHEAD;
        const theirs = {
          since: at,
          to: (at = Math.min(to, at + Math.ceil(this.#width * this.#share))),
          slot,
        };
        this.#thread.ask(theirs);
        planned.push(theirs);
      }
      const span = planned.shift();
      if (span === undefined) return;
      if (span.slot === undefined) {
        yield span;
        continue;
      }
      const made = this.#made(span, span.slot, asked - taken);
      yield made === undefined ? span : { ...span, made };
      taken++;
    }
  }

  /** The answer of the thread for the first of those `asked` for; undefined: it declined. Sees to the width
   * of ranges to come. */
  #made({ since, to }: Span, slot: number, asked: number): MadeRange | undefined {
    const { ready } = this.#thread;
    const answer = this.#answer();
    if (typeof answer !== 'object' || !('made' in answer)) {
      this.#width = Math.max(MIN_WIDTH, this.#width >> 2);
      return undefined;
    }
    const { made, length } = answer;
    const fit = (to - since) * (length === 0 ? 2 : Math.min(2, RANGE_BYTES / length));
    this.#width = Math.max(MIN_WIDTH, Math.min(MAX_WIDTH, Math.round(fit / this.#share)));
    // The answer was waited for, or the thread has nothing left to do.
    if (ready === 0) this.#share = Math.max(1 / MAX_SHARE, this.#share / SHARE_STEP);
    else if (ready === asked) this.#share = Math.min(MAX_SHARE, this.#share * SHARE_STEP);
    return { ...made, bytes: Buffer.from(this.#slots[slot] ?? new SharedArrayBuffer(0), 0, length) };
  }

  stop(): void {
    this.#thread.stop();
  }

  /** The next answer of the thread; undefined when it is lost, or declines: that range is made here, and
   * tells what is wrong. */
  #answer(): RangeAnswer | undefined {
    try {
      return this.#thread.take(this.#patienceMs);
    } catch {
      return undefined;
    }
  }
}
