/** The thread of FileWriter: takes batches of files, hashes and writes them, answers. */
import { parentPort } from 'node:worker_threads';
import { writeBatch, type ThreadAnswer, type WriteBatch } from './write-batch.js';

/* oxlint-disable unicorn/require-post-message-target-origin -- a thread has no origin */

/** Serves the thread's owner until ended. */
export function serveWriting(): void {
  parentPort?.on('message', (batch: WriteBatch) => {
    const { contents } = batch;
    const answer: ThreadAnswer = { ...writeBatch(batch), contents };
    parentPort?.postMessage(answer, [contents.buffer]);
  });
}
