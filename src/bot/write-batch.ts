/** Small content that is written together: what FileWriter gives to its thread, and gets back. */
import { errnoOf, messageOf } from '../lib/errors.js';
import { FileSink } from '../fetch/file-sink.js';

/** Files by columns. */
export interface WriteBatch {
  paths: string[];
  attempts: string[];
  lengths: number[];
  /** The md5 that each content must have for its file to be written; '' where that does not matter. */
  expected: string[];
  /** Begins with their contents, one after the other. */
  contents: Uint8Array<ArrayBuffer>;
}

/** The md5 of each, and why some were not written. */
export interface WriteAnswer {
  md5s: string[];
  errors: { index: number; code: string | undefined; message: string }[];
}

/** Answer of the thread: also the contents of the batch, whose memory it gives back. */
export interface ThreadAnswer extends WriteAnswer {
  contents: Uint8Array<ArrayBuffer>;
}

/** Hashes all of them and puts them in place. */
export function writeBatch({ paths, attempts, lengths, expected, contents }: WriteBatch): WriteAnswer {
  const answer: WriteAnswer = { md5s: [], errors: [] };
  let at = 0;
  for (let index = 0; index < paths.length; index++) {
    const path = paths[index] ?? '';
    const length = lengths[index] ?? 0;
    const file = new FileSink(path, attempts[index] ?? '');
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
