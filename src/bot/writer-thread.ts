/** The thread of FileWriter: hashes batches of files and writes them. */
import { serveThread } from '../lib/thread.js';
import { writeBatch, type ThreadAnswer, type WriteBatch } from './write-batch.js';

/** Serves the thread's owner until ended. */
export function serveWriting(): void {
  serveThread(
    () =>
      (batch: WriteBatch): ThreadAnswer => ({ ...writeBatch(batch), contents: batch.contents }),
    ({ contents }) => [contents.buffer],
  );
}
