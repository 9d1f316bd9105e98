/**
 * Long answers made by two threads. The change sequence is cut into ranges; every other one is made by a second thread,
 * ahead of ours, from the same snapshot, and what it made is written when its turn comes:
 *
 *     ours       makes 0  writes 1  makes 2  writes 3  …
 *     theirs     makes 1  makes 3   makes 5  …            at most AHEAD ranges that nobody has taken, each bounded
 *
 * All that is SQLite, checksums and md5 is so done by two; a range that is too large to be handed over is declined, and
 * made here, piece by piece. So is everything that a thread which is lost still had.
 */
import { availableParallelism } from 'node:os';
import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from 'node:worker_threads';
import type { CacheReader } from '../db/cache/read.js';
import type { Query } from './query.js';

/* oxlint-disable unicorn/require-post-message-target-origin -- a port of worker_threads has no origin */

/** Numbers of the change sequence in a range: of lines, and of pages with their content. */
const LINES_WIDTH = 5000;
const CONTENT_WIDTH = 250;
/** Fewer ranges are not worth the start of a thread. */
const MIN_RANGES = 10;
/** Ranges that the thread has, made or not. */
const AHEAD = 4;
/** Commits may come between the two looks at the database: so often is it tried. */
const MAX_LOOKS = 50;
/** Time without an answer after which a thread is taken for dead. That it ended cannot be heard while waiting for it. */
const PATIENCE_MS = 60_000;

export interface Span {
  /** Changes after this number, up to that one. */
  since: number;
  to: number;
}

/** To the thread: a range, or to look at the database; `mark` notes its state before ours is looked at. */
export type RangeRequest = Span | 'mark' | 'look' | 'end';

export interface MadeRange {
  count: number;
  bytes: Uint8Array;
  rejects: string[];
  notes: string[];
}
/** `looked`: whether nothing was committed since the mark. */
export type RangeAnswer = { made: MadeRange } | { looked: boolean } | 'marked' | 'declined';

export interface RangeWorkerData {
  dbPath: string;
  machineId: string;
  formatName: string;
  query: Omit<Query, 'format'>;
  port: MessagePort;
  /** Counts the answers. */
  answered: Int32Array;
}

/** What is needed besides the query to have part of it made elsewhere. */
export interface RangeHelp {
  /** File that calls `serveRanges` (range-thread.ts). */
  script: string;
  dbPath: string;
  machineId: string;
  formatName: string;
}

/** Whether the records of a query can be made in ranges, and are so many that it is worth it. */
export function isWorthSplitting(query: Query, highWater: number): boolean {
  const { format, selection, limit } = query;
  const { independent = [], sides } = format;
  const changes = highWater - (selection.sinceSeq ?? 0);
  return (
    limit === undefined &&
    query.text !== true &&
    selection.sides.filter(side => sides.includes(side)).every(side => independent.includes(side)) &&
    changes >= MIN_RANGES * widthOf(query) &&
    availableParallelism() > 1
  );
}

function widthOf({ format, content }: Query): number {
  return content === true || format.keyedByUrl === true ? CONTENT_WIDTH : LINES_WIDTH;
}

export class RangeThread {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #answered = new Int32Array(new SharedArrayBuffer(4));
  readonly #patienceMs: number;
  readonly #width: number;
  #taken = 0;
  /** It has not answered for long: it is not waited for again. */
  #lost = false;

  constructor({ script, ...data }: RangeHelp, query: Query, patienceMs = PATIENCE_MS) {
    const { port1, port2 } = new MessageChannel();
    const { format: _, ...plain } = query;
    const workerData: RangeWorkerData = { ...data, query: plain, port: port2, answered: this.#answered };
    this.#worker = new Worker(script, {
      workerData,
      transferList: [port2],
      trackUnmanagedFds: false,
      // Otherwise Node opens ours to write to it what the thread says, and makes a pipe there non-blocking.
      stdout: true,
      stderr: true,
    });
    // What it did not answer is made here; an error nobody listens to would end the process.
    this.#worker.on('error', () => (this.#lost = true));
    this.#port = port1;
    this.#patienceMs = patienceMs;
    this.#width = widthOf(query);
  }

  /**
   * Has both look at the same state of the database; `reader` is renewed.
   * @returns false when that did not succeed: the thread is of no use
   */
  lookTogether(reader: CacheReader): boolean {
    for (let look = 0; look < MAX_LOOKS && !this.#lost; look++) {
      // Nothing committed between its mark and its look: what we looked at in between was the same.
      this.#port.postMessage('mark' satisfies RangeRequest);
      if (this.#answer() !== 'marked') return false;
      reader.renew();
      this.#port.postMessage('look' satisfies RangeRequest);
      const answer = this.#answer();
      if (typeof answer === 'object' && 'looked' in answer && answer.looked) return true;
    }
    return false;
  }

  /** The ranges of all of it, in order; what is not made yet is to be made by who asks. */
  *ranges({ since, to }: Span): Generator<Span & { made?: MadeRange }, void> {
    const starts = (index: number) => Math.min(to, since + index * this.#width);
    let asked = 1;
    for (let index = 0; starts(index) < to; index++) {
      for (; asked < index + 2 * AHEAD && starts(asked) < to; asked += 2)
        this.#port.postMessage({
          since: starts(asked),
          to: starts(asked + 1),
        } satisfies RangeRequest);
      const span = { since: starts(index), to: starts(index + 1) };
      const answer = index % 2 === 0 ? undefined : this.#answer();
      yield typeof answer === 'object' && 'made' in answer ? { ...span, made: answer.made } : span;
    }
  }

  stop(): void {
    this.#port.postMessage('end' satisfies RangeRequest);
    this.#port.close();
    this.#worker.unref();
  }

  /** Its next answer; undefined when it is lost. */
  #answer(): RangeAnswer | undefined {
    this.#lost ||= Atomics.wait(this.#answered, 0, this.#taken, this.#patienceMs) === 'timed-out';
    if (this.#lost) return undefined;
    this.#taken += 1;
    const received: { message: RangeAnswer } | undefined = receiveMessageOnPort(this.#port);
    return received?.message;
  }
}
