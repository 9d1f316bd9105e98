/**
 * Describing files with several threads, in order. All stay synchronous: the calling thread works as well, hands out
 * batches of names before its own, and waits on a shared counter only when the oldest answer holds up too many others.
 * Promises for the same work took four times as long. That threads share one table of open files costs next to nothing:
 * two processes with half of 100 k files each, and nothing to hand over, took 1.04 s to the 1.11 of two threads.
 */
import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from 'node:worker_threads';
import { addToCount, awaitCount } from '../lib/await-count.js';
import { LccError } from '../lib/errors.js';
import { createDescribe, type Describe, type DescribeOptions, type NameProblem } from './describe.js';

/* oxlint-disable unicorn/require-post-message-target-origin -- a port of worker_threads has no origin */

/** To a worker: names joined by NUL, which no name contains; undefined ends it. */
export type BatchRequest = { names: string } | undefined;
export interface BatchAnswer {
  text: string;
  problems: NameProblem[];
  error?: unknown;
}

/** Where the counters of batches asked for and answered lie. */
export const ASKED = 0;
export const ANSWERED = 1;

/** What a worker starts with. */
export interface HashWorkerData {
  options: DescribeOptions;
  port: MessagePort;
  counters: Int32Array;
}

interface Thread {
  worker: Worker;
  port: MessagePort;
  counters: Int32Array;
  asked: number;
  taken: number;
  /** It has not answered for long: it is not waited for again. */
  lost: boolean;
}

/** A batch that a thread has. */
interface Asked {
  thread: Thread;
  names: readonly string[];
}

/** Batches a thread may have waiting: one in work, others ready while we are busy ourselves. */
const WINDOW = 4;
/** Batches on their way, done or not; the oldest is waited for beyond. */
const MAX_DUE = 64;
/** Time without an answer after which a thread is taken for dead. That it ended cannot be heard while waiting for it. */
const PATIENCE_MS = 60_000;

export class HashPool {
  readonly #threads: Thread[];
  readonly #describe: Describe;
  readonly #take: (answer: BatchAnswer) => void;
  readonly #patienceMs: number;
  /** What is due, in order: a thread's next answer, or an answer of our own. */
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
    this.#threads = Array.from({ length: threads }, () => startThread(script, options));
  }

  /** Describes a batch here or hands it to a thread that has room; passes on the answers that are due. */
  push(names: readonly string[]): void {
    this.#takeReady();
    const thread = this.#threads.find(t => !t.lost && t.asked - t.taken < WINDOW);
    if (thread !== undefined) {
      thread.port.postMessage({ names: names.join('\0') } satisfies BatchRequest);
      thread.asked += 1;
      addToCount(thread.counters, ASKED);
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
    for (const thread of this.#threads) {
      thread.port.postMessage(undefined satisfies BatchRequest);
      addToCount(thread.counters, ASKED);
      thread.port.close();
      thread.worker.unref();
    }
  }

  #takeReady(): void {
    for (let oldest = this.#due[0]; oldest !== undefined; oldest = this.#due[0]) {
      if ('thread' in oldest && !isReady(oldest.thread)) return;
      this.#takeOldest();
    }
  }

  #takeOldest(): void {
    const oldest = this.#due.shift();
    if (oldest !== undefined) this.#take('thread' in oldest ? this.#answerOf(oldest) : oldest);
  }

  /** Waits for a thread's next answer; what a dead one had is done here. */
  #answerOf({ thread, names }: Asked): BatchAnswer {
    thread.lost ||= !awaitCount(thread.counters, ANSWERED, thread.taken, this.#patienceMs);
    if (thread.lost) return this.#answer(names);
    const received: { message: BatchAnswer } | undefined = receiveMessageOnPort(thread.port);
    thread.taken += 1;
    if (received === undefined) throw new LccError('bug', 'a hashing thread answered with nothing');
    if (received.message.error !== undefined) throw received.message.error;
    return received.message;
  }

  #answer(names: readonly string[]): BatchAnswer {
    const problems: NameProblem[] = [];
    return { text: this.#describe(names, problem => problems.push(problem)), problems };
  }
}

function isReady({ lost, counters, taken }: Thread): boolean {
  return lost || Atomics.load(counters, ANSWERED) !== taken;
}

function startThread(script: string, options: DescribeOptions): Thread {
  const { port1, port2 } = new MessageChannel();
  const counters = new Int32Array(new SharedArrayBuffer(8));
  const workerData: HashWorkerData = { options, port: port2, counters };
  // Every file is closed as soon as it is read: Node need not note each for the end of the thread, 1 to 2 µs a file.
  // Of streams of its own it makes no use; Node would open ours to write to, and make a pipe there non-blocking.
  const worker = new Worker(script, {
    workerData,
    transferList: [port2],
    trackUnmanagedFds: false,
    stdout: true,
    stderr: true,
  });
  return { worker, port: port1, counters, asked: 0, taken: 0, lost: false };
}
