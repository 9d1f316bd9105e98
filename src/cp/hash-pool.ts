/**
 * Describing files with several threads, in order. All stay synchronous: the calling thread works as well,
 * hands out batches of names before its own, and waits on a shared counter only when the oldest answer holds
 * up too many others. Promises for the same work took four times as long. That threads share one table of
 * open files costs next to nothing: two processes with half of 100 k files each, and nothing to hand over,
 * took 1.04 s to the 1.11 of two threads.
 */
import { availableParallelism } from 'node:os';
import { Thread } from '../lib/thread.js';
import { createDescribe, type Describe, type DescribeOptions, type NameProblem } from './describe.js';

export interface BatchAnswer {
  text: string;
  problems: NameProblem[];
}

/** A question is names joined by NUL, which no name contains. */
type HashThread = Thread<string, BatchAnswer>;

/** A batch that a thread has. */
interface Asked {
  thread: HashThread;
  names: readonly string[];
}

/** Batches a thread may have waiting: one in work, others ready while we are busy ourselves. */
const WINDOW = 4;
/** Batches on their way, done or not; the oldest is waited for beyond. */
const MAX_DUE = 64;
/** Time without an answer after which a thread is taken for dead. */
const PATIENCE_MS = 60_000;

const MOST_JOBS_BY_DEFAULT = 4;

/** Threads where nobody says how many (--jobs). */
export function usualJobs(): number {
  return Math.min(availableParallelism(), MOST_JOBS_BY_DEFAULT);
}

export class HashPool {
  readonly #threads: HashThread[];
  readonly #describe: Describe;
  readonly #take: (answer: BatchAnswer) => void;
  readonly #patienceMs: number;
  /** Answers that are due, in order: the next one of a thread, or one of our own. */
  readonly #due: (Asked | BatchAnswer)[] = [];

  /**
   * @param script file that calls `serveHashing` (hash-worker.ts)
   * @param threads besides the calling one, which works too
   */
  constructor(
    script: string,
    threads: number,
    options: DescribeOptions,
    take: (answer: BatchAnswer) => void,
    patienceMs = PATIENCE_MS,
  ) {
    this.#take = take;
    this.#patienceMs = patienceMs;
    this.#describe = createDescribe(options);
    this.#threads = Array.from({ length: threads }, () => new Thread({ script, data: options }));
  }

  /** Describes a batch here or hands it to a thread that has room; passes on the answers that are due. */
  push(names: readonly string[]): void {
    this.#takeReady();
    const thread = this.#threads.find(t => !t.isOver && t.owes < WINDOW);
    if (thread !== undefined) {
      thread.ask(names.join('\0'));
      this.#due.push({ thread, names });
      return;
    }
    this.#due.push(this.#answer(names));
    while (this.#due.length > MAX_DUE) this.#takeOldest();
  }

  /** Waits for all answers and ends the threads. */
  end(): void {
    while (this.#due.length > 0) this.#takeOldest();
    this.stop();
  }

  /** Ends the threads without waiting for answers. */
  stop(): void {
    for (const thread of this.#threads) thread.stop();
  }

  #takeReady(): void {
    for (let oldest = this.#due[0]; oldest !== undefined; oldest = this.#due[0]) {
      if ('thread' in oldest && oldest.thread.ready === 0) return;
      this.#takeOldest();
    }
  }

  #takeOldest(): void {
    const oldest = this.#due.shift();
    if (oldest !== undefined) this.#take('thread' in oldest ? this.#answerOf(oldest) : oldest);
  }

  /** Waits for a thread's next answer; what a dead one had is done here. */
  #answerOf({ thread, names }: Asked): BatchAnswer {
    return thread.take(this.#patienceMs) ?? this.#answer(names);
  }

  #answer(names: readonly string[]): BatchAnswer {
    const problems: NameProblem[] = [];
    return { text: this.#describe(names, problem => problems.push(problem)), problems };
  }
}
