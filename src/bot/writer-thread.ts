/** The thread behind FileWriter: takes batches of files, hashes and writes them, answers. */
import { parentPort } from 'node:worker_threads';
import { errnoOf, messageOf } from '../lib/errors.js';
import { ContentFile } from './content-file.js';
import type { WriteAnswer, WriteBatch } from './writer.js';

/* oxlint-disable unicorn/require-post-message-target-origin -- a thread has no origin */

/** Serves the thread's owner until ended. */
export function serveWriting(): void {
  parentPort?.on('message', (batch: WriteBatch) => parentPort?.postMessage(writeAll(batch)));
}

function writeAll({ paths, attempts, lengths, expected, contents }: WriteBatch): WriteAnswer {
  const answer: WriteAnswer = { md5s: [], errors: [] };
  let at = 0;
  for (const [index, path] of paths.entries()) {
    const length = lengths[index] ?? 0;
    const file = new ContentFile(path, attempts[index] ?? '');
    try {
      file.write(contents.subarray(at, at + length));
      const md5 = file.md5();
      answer.md5s.push(md5);
      if (expected[index] === '' || expected[index] === md5) file.commit();
    } catch (error) {
      answer.md5s[index] ??= '';
      answer.errors.push({ index, code: errnoOf(error), message: messageOf(error) });
    }
    at += length;
  }
  return answer;
}
