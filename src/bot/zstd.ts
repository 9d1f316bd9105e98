/**
 * zstd bodies, decoded in a thread, which is ended when its body is given up, whatever it is busy with
 * (docs/design/fetching.md says why not by Node itself).
 */
import { Transform, type TransformCallback } from 'node:stream';
import { Worker } from 'node:worker_threads';
import type { ZstdAnswer, ZstdOrder } from './zstd-thread.js';
import { threadFile } from './thread-file.js';

/* oxlint-disable unicorn/require-post-message-target-origin -- a thread has no origin */

/** Threads kept for the next body. */
const MAX_IDLE_THREADS = 4;

const idleThreads: Worker[] = [];

/** Gives a thread at most one order at a time: what it may send back before it is asked again is bounded. */
export class ZstdDecoder extends Transform {
  readonly #thread: Worker;
  #done: TransformCallback | undefined;
  #released = false;

  constructor() {
    super({ readableHighWaterMark: 1024 * 1024 });
    this.#thread = takeThread();
    this.#thread.on('message', this.#onAnswer).on('error', this.#onError).on('exit', this.#onExit);
  }

  override _transform(chunk: Uint8Array, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#order(chunk, done);
  }

  override _flush(done: TransformCallback): void {
    this.#order('end', () => {
      this.#release();
      done();
    });
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    if (!this.#released) {
      this.#detach();
      void this.#thread.terminate();
    }
    callback(error);
  }

  #order(order: ZstdOrder, done: TransformCallback): void {
    this.#done = done;
    this.#thread.postMessage(order);
  }

  readonly #onAnswer = (answer: ZstdAnswer): void => {
    if ('error' in answer) {
      this.destroy(new Error(answer.error));
      return;
    }
    for (const block of answer.blocks) this.push(block);
    if (this.destroyed) return;
    if (answer.done) this.#done?.();
    else this.#thread.postMessage('more');
  };

  readonly #onError = (error: Error): void => void this.destroy(error);
  readonly #onExit = (): void => void this.destroy(new Error('the decoding thread has ended'));

  /** It has done all it was asked for: it can serve another body. */
  #release(): void {
    this.#released = true;
    this.#detach();
    this.#thread.unref();
    if (idleThreads.length < MAX_IDLE_THREADS) idleThreads.push(this.#thread);
    else void this.#thread.terminate();
  }

  #detach(): void {
    this.#thread.off('message', this.#onAnswer).off('error', this.#onError).off('exit', this.#onExit);
  }
}

function takeThread(): Worker {
  const idle = idleThreads.pop();
  idle?.ref();
  return idle ?? startThread();
}

function startThread(): Worker {
  const thread = new Worker(threadFile('zstd-worker.cjs'));
  // An error event nobody listens to ends the process.
  return thread.on('error', () => undefined);
}
