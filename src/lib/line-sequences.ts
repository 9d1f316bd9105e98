/** Sequences of lines: read from a file, merged in the order of their bytes. Millions of them: split2, which
 * reads lines elsewhere (lib/lines.ts), takes 2.3 × the time (bench/lines.ts). */
import { LccError } from './errors.js';
import { readChunksAt } from './stdio.js';

export const NEWLINE = 10;
/** More than the longest line that there can be, whatever `xml.token_bytes` is. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;

/**
 * The lines of an open file from an offset on, as latin1, many at a time.
 * @returns what follows the last newline
 * @throws LccError `data.malformed` for a line of more than `MAX_LINE_BYTES`
 */
export function* readBlocksAt(
  fd: number,
  offset: number,
  where: string,
  chunkBytes?: number,
): Generator<string[], string, undefined> {
  let carry = '';
  for (const chunk of readChunksAt(fd, offset, where, chunkBytes)) {
    carry += chunk.toString('latin1');
    // Each chunk of a long line is looked at once.
    if (chunk.includes(NEWLINE)) {
      const lines = carry.split('\n');
      carry = lines.pop() ?? '';
      yield lines;
    }
    refuseLongLine(carry.length, where);
  }
  return carry;
}

/** @throws LccError `data.malformed` */
export function refuseLongLine(bytes: number, where: string): void {
  if (bytes > MAX_LINE_BYTES)
    throw new LccError(
      'data.malformed',
      `${where}: a line of more than ${MAX_LINE_BYTES} bytes; is it another file?`,
    );
}

/** The same one by one; the last may lack its newline. */
export function* readLinesAt(
  fd: number,
  offset: number,
  where: string,
  chunkBytes?: number,
): Generator<string, void, undefined> {
  const blocks = readBlocksAt(fd, offset, where, chunkBytes);
  for (;;) {
    const next = blocks.next();
    if (next.done === true) {
      if (next.value !== '') yield next.value;
      return;
    }
    yield* next.value;
  }
}

interface Head {
  line: string;
  rest: Iterator<string>;
}

/** Merges sorted sequences, with a binary heap of their heads. */
export function* merge(sequences: readonly Iterator<string>[]): Generator<string, void, undefined> {
  const heap: Head[] = [];
  for (const rest of sequences) {
    const first = rest.next();
    if (first.done !== true) heap.push({ line: first.value, rest });
  }
  for (let i = heap.length >> 1; i >= 0; i--) sink(heap, i);
  while (heap.length > 0) {
    const top = heap[0]!;
    yield top.line;
    const next = top.rest.next();
    if (next.done === true) {
      const last = heap.pop()!;
      if (heap.length === 0) return;
      if (last !== top) heap[0] = last;
    } else top.line = next.value;
    sink(heap, 0);
  }
}

function sink(heap: Head[], start: number): void {
  for (let at = start; ;) {
    let least = at;
    for (const child of [2 * at + 1, 2 * at + 2])
      if (child < heap.length && heap[child]!.line < heap[least]!.line) least = child;
    if (least === at) return;
    const moved = heap[at]!;
    heap[at] = heap[least]!;
    heap[least] = moved;
    at = least;
  }
}
