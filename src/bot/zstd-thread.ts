/** The thread behind `zstd.ts`. */
import { parentPort } from 'node:worker_threads';
import xxhash from 'xxhash-wasm';
import { messageOf } from '../lib/errors.js';
import { ZstdFrames } from './zstd-frames.js';

/* oxlint-disable unicorn/require-post-message-target-origin -- a thread has no origin */

/** To the thread: coded bytes, that what was decoded of them has been taken, or that the body is complete. */
export type ZstdOrder = Uint8Array | 'more' | 'end';
/** From the thread: content; `done` with the last of an order. After an error nothing else comes. */
export type ZstdAnswer = { blocks: Uint8Array[]; done: boolean } | { error: string };

/** Content given before the other side has to ask for more. */
const AHEAD_BYTES = 1024 * 1024;

/** Serves the messages of the thread's owner, one body after the other. */
export async function serveZstd(): Promise<void> {
  const hashes = await xxhash();
  let frames = new ZstdFrames(() => hashes.create64());
  let content = frames.read(new Uint8Array());
  const next = (order: ZstdOrder): ZstdAnswer => {
    if (order === 'end') {
      frames.end();
      frames = new ZstdFrames(() => hashes.create64());
      return { blocks: [], done: true };
    }
    if (order !== 'more') content = frames.read(order);
    const blocks: Uint8Array[] = [];
    for (let bytes = 0; bytes < AHEAD_BYTES;) {
      const { value, done } = content.next();
      if (done === true) return { blocks, done };
      // An empty block costs as much as others.
      bytes += value.length + 1024;
      if (value.length > 0) blocks.push(value);
    }
    return { blocks, done: false };
  };
  parentPort?.on('message', (order: ZstdOrder) => {
    let answer: ZstdAnswer;
    try {
      answer = next(order);
    } catch (error) {
      answer = { error: messageOf(error) };
    }
    parentPort?.postMessage(answer);
  });
}
