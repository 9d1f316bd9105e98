/**
 * Small content is hashed and put in place by a thread: creating, writing and renaming a file is half of the
 * work of fetching a small page, and all of it system calls that the thread of the connections need not wait
 * for. What was completed within a moment travels in one message there and one back; a message a file costs
 * as much as it saves. Messages leave after the requests that were made in the same turn: the site works on
 * those meanwhile.
 *
 * A thread that ends, for want of memory say, is no fault of what it was given: that is written here, and
 * what comes after gets a new thread. One takes some 60 ms to start; until then (`isReady`) the caller puts
 * content in place itself.
 *
 * The memory that contents travel in is lent to the thread and comes back with its answer. New memory for
 * each batch would have to be cleared by the system and found again by two collectors; memory that both see
 * is copied to at 2 GB/s.
 */
import { rmSync } from 'node:fs';
import { BUFFERED_BYTES, temporaryOf, type WholeContent } from '../fetch/file-sink.js';
import { Thread, threadFile } from '../lib/thread.js';
import { writeBatch, type ThreadAnswer, type WriteAnswer, type WriteBatch } from './write-batch.js';

/** One in work, one ready; what completes meanwhile makes the next batch larger instead of more of them. */
const MAX_BATCHES = 2;
/**
 * Room for the contents of a batch. With room for a few files only, the thread waits for new ones while ours
 * reads from the sites; what was never used of it costs nothing but V8's opinion: memory that comes back
 * counts as newly allocated, and 64 MB of it make V8 collect all that is old. So small pages travel in as
 * little as they need.
 */
const SLAB_BYTES = 16 * BUFFERED_BYTES;
const SMALL_SLAB_BYTES = BUFFERED_BYTES;

/** Files that are handed over together, unless collecting this many takes too long. */
const BATCH_FILES = 32;
const BATCH_BYTES = 256 * 1024;
const BATCH_DELAY_MS = 4;

/** Bytes waiting for the thread from which on it is waited for, too. */
const CROWDED_BYTES = 8 * 1024 * 1024;

/** `error` is undefined when it is written, or was not because its md5 is not the expected one. */
type Done = (error: unknown, md5: string) => void;

interface Job {
  content: WholeContent;
  expected: string | undefined;
  done: Done;
}

export class FileWriter {
  #thread: Thread<WriteBatch, ThreadAnswer> | undefined;
  #next: Job[] = [];
  #nextBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending = false;
  /** The batches on their way, in order. */
  #owed: Job[][] = [];
  /** Memory for batches that is not with the thread. */
  readonly #slabs: Uint8Array<ArrayBuffer>[] = [];
  readonly #smallSlabs: Uint8Array<ArrayBuffer>[] = [];

  /** Content comes faster than it is written. */
  get crowded(): boolean {
    return this.#nextBytes >= CROWDED_BYTES;
  }

  /** True if the thread is there to be given something; asking starts it. */
  get isReady(): boolean {
    return (this.#thread ??= this.#start()).isReady;
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
    this.#thread?.stop();
    this.#thread = undefined;
  }

  /** Once undici has sent what it was given in this turn: it does so in an immediate that is set after the
   * events. */
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
    const slab =
      this.#nextBytes <= SMALL_SLAB_BYTES
        ? (this.#smallSlabs.pop() ?? newMemory(SMALL_SLAB_BYTES))
        : (this.#slabs.pop() ?? newMemory(SLAB_BYTES));
    const jobs = this.#takeUpTo(slab.length);
    this.#owed.push(jobs);
    (this.#thread ??= this.#start()).ask(batchOf(jobs, slab), [slab.buffer]);
  }

  /** As many of the next as there is room for. */
  #takeUpTo(maxBytes: number): Job[] {
    let bytes = 0;
    let count = 0;
    for (const { content } of this.#next) {
      if (bytes + content.length > maxBytes) break;
      bytes += content.length;
      count++;
    }
    this.#nextBytes -= bytes;
    return this.#next.splice(0, count);
  }

  #start(): Thread<WriteBatch, ThreadAnswer> {
    return new Thread({
      script: threadFile('writer-worker.cjs'),
      answered: answer => this.#settle(answer),
      lost: () => this.#lose(),
    });
  }

  #settle(answer: ThreadAnswer): void {
    const { contents } = answer;
    (contents.length === SMALL_SLAB_BYTES ? this.#smallSlabs : this.#slabs).push(contents);
    const owed = this.#owed.shift() ?? [];
    if (this.#next.length > 0) this.#send();
    tell(owed, answer);
  }

  /** Nobody knows how far it came with what it still owed; that is done once more, here. */
  #lose(): void {
    this.#thread = undefined;
    const owed = this.#owed.flat();
    this.#owed = [];
    for (const { content } of owed) removeQuietly(temporaryOf(content.path, content.attempt));
    const bytes = owed.reduce((sum, { content }) => sum + content.length, 0);
    const answer = writeBatch(batchOf(owed, newMemory(bytes)));
    if (this.#next.length > 0) this.#send();
    tell(owed, answer);
  }
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // A fault there is met and reported by the write itself.
  }
}

/** Not from the pool of buffers, which cannot be given away. */
function newMemory(bytes: number): Uint8Array<ArrayBuffer> {
  return Buffer.allocUnsafeSlow(bytes);
}

/** @param contents has room for them */
function batchOf(jobs: readonly Job[], contents: Uint8Array<ArrayBuffer>): WriteBatch {
  const batch: WriteBatch = { paths: [], attempts: [], lengths: [], expected: [], contents };
  let at = 0;
  for (const { content, expected } of jobs) {
    for (const chunk of content.chunks) {
      contents.set(chunk, at);
      at += chunk.length;
    }
    batch.paths.push(content.path);
    batch.attempts.push(content.attempt);
    batch.lengths.push(content.length);
    batch.expected.push(expected ?? '');
  }
  return batch;
}

function tell(jobs: readonly Job[], { md5s, errors }: WriteAnswer): void {
  const problems: (Error | undefined)[] = [];
  for (const { index, code, message } of errors)
    problems[index] = Object.assign(new Error(message), { code });
  let index = 0;
  for (const { done } of jobs) {
    done(errors.length === 0 ? undefined : problems[index], md5s[index] ?? '');
    index++;
  }
}
