/**
 * Small content is hashed and put in place by a thread: creating, writing and renaming a file is half of the work of
 * fetching a small page, and all of it system calls that the thread of the connections need not wait for. What was
 * completed within a moment travels in one message there and one back; a message a file costs as much as it saves.
 * Messages leave after the requests that were made in the same turn: the site works on those meanwhile.
 */
import { Worker } from 'node:worker_threads';
import type { WholeContent } from './content-file.js';
import { threadSource } from './thread-source.js';

/* oxlint-disable unicorn/require-post-message-target-origin -- a thread has no origin */

/** To the thread: files by columns, their contents one after the other. */
export interface WriteBatch {
  paths: string[];
  attempts: string[];
  lengths: number[];
  /** What the md5 must be for the file to be written; '' where that does not matter. */
  expected: string[];
  contents: Uint8Array;
}

/** From the thread: the md5 of each, and why some were not written. */
export interface WriteAnswer {
  md5s: string[];
  errors: { index: number; code: string | undefined; message: string }[];
}

/** One in work, one ready; what completes meanwhile makes the next batch larger instead of more of them. */
const MAX_BATCHES = 2;

/** Files that are handed over together, unless it takes longer than this until there are so many. */
const BATCH_FILES = 32;
const BATCH_BYTES = 256 * 1024;
const BATCH_DELAY_MS = 4;

/** Bytes waiting for the thread from which on it is waited for, too. */
const CROWDED_BYTES = 8 * 1024 * 1024;

/** `error` is undefined when it is written, or was not because its md5 is not the expected one. */
type Done = (error: unknown, md5: string) => void;

export class FileWriter {
  #thread: Worker | undefined;
  #next: { content: WholeContent; expected: string | undefined; done: Done }[] = [];
  #nextBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending = false;
  /** What each batch on its way owes, in order. */
  #owed: Done[][] = [];

  /** Content comes faster than it is written. */
  get crowded(): boolean {
    return this.#nextBytes >= CROWDED_BYTES;
  }

  /** Puts content in place; `done` is called once. */
  write(content: WholeContent, expected: string | undefined, done: Done): void {
    this.#next.push({ content, expected, done });
    this.#nextBytes += content.length;
    if (this.#next.length >= BATCH_FILES || this.#nextBytes >= BATCH_BYTES) this.#sendSoon();
    // A process is not over before its content is in its place: this timer keeps it alive.
    else this.#timer ??= setTimeout(() => this.#send(), BATCH_DELAY_MS);
  }

  /** Ends the thread once it has nothing to do. */
  close(): void {
    if (this.#next.length > 0 || this.#owed.length > 0) return;
    void this.#thread?.terminate();
    this.#thread = undefined;
  }

  /** Once undici has sent what it was given in this turn: it does so in an immediate that is set after the events. */
  #sendSoon(): void {
    if (this.#sending || this.#owed.length >= MAX_BATCHES) return;
    this.#sending = true;
    process.nextTick(() =>
      setImmediate(() => {
        this.#sending = false;
        this.#send();
      }),
    );
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#owed.length >= MAX_BATCHES || this.#next.length === 0) return;
    const jobs = this.#next;
    this.#next = [];
    // Not from the pool: its memory is given away.
    const contents = Buffer.allocUnsafeSlow(this.#nextBytes);
    this.#nextBytes = 0;
    let at = 0;
    for (const { content } of jobs) {
      for (const chunk of content.chunks) {
        contents.set(chunk, at);
        at += chunk.length;
      }
    }
    const batch: WriteBatch = {
      paths: jobs.map(job => job.content.path),
      attempts: jobs.map(job => job.content.attempt),
      lengths: jobs.map(job => job.content.length),
      expected: jobs.map(job => job.expected ?? ''),
      contents,
    };
    this.#owed.push(jobs.map(job => job.done));
    const thread = (this.#thread ??= this.#start());
    thread.ref();
    thread.postMessage(batch, [contents.buffer]);
  }

  #start(): Worker {
    const thread = new Worker(threadSource('writer-thread.js', 'serveWriting'), { eval: true });
    thread.on('message', (answer: WriteAnswer) => this.#settle(answer));
    thread.on('error', error => this.#lose(thread, error));
    thread.on('exit', () => this.#lose(thread, new Error('the writing thread has ended')));
    return thread;
  }

  #settle({ md5s, errors }: WriteAnswer): void {
    const owed = this.#owed.shift() ?? [];
    if (this.#next.length > 0) this.#send();
    if (this.#owed.length === 0) this.#thread?.unref();
    const problems = new Map(
      errors.map(({ index, code, message }) => [index, Object.assign(new Error(message), { code })]),
    );
    for (const [index, done] of owed.entries()) done(problems.get(index), md5s[index] ?? '');
  }

  /** Whatever it still owed has failed; the next batch gets a new thread. */
  #lose(thread: Worker, error: unknown): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    const owed = [...this.#owed.flat(), ...this.#next.map(job => job.done)];
    this.#owed = [];
    this.#next = [];
    this.#nextBytes = 0;
    for (const done of owed) done(error, '');
  }
}
