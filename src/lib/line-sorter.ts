/**
 * Sorts any number of lines by their bytes in bounded memory: sorted runs on disk, merged as they are read.
 */
import { collectGarbage } from './memory.js';
import { merge, readLinesAt } from './line-sequences.js';
import { closeSync, openSync, unlinkSync } from 'node:fs';
import { Output } from './stdio.js';

/** Bytes of lines held in memory before a run is written. Measured: at 1 M urls the process stays below 200
 * MB. */
const RUN_BYTES = 12 * 1024 * 1024;
/** Bytes that are read of all runs together while they are merged, and least and most of each: what is read
 * lives long enough for V8 to keep several times as much. */
const MERGE_BYTES = 2 * 1024 * 1024;
const [LEAST_CHUNK_BYTES, MOST_CHUNK_BYTES] = [4096, 64 * 1024];
/** Bytes that a line costs besides its own: the string, its place in the array. */
const LINE_OVERHEAD_BYTES = 32;

export class LineSorter {
  readonly #beside: string;
  readonly #runBytes: number;
  readonly #runs: Spill[] = [];
  #lines: string[] = [];
  #bytes = 0;

  /** @param beside an existing path on a disk with room for the runs */
  constructor(beside: string, runBytes = RUN_BYTES) {
    this.#beside = beside;
    this.#runBytes = runBytes;
  }

  add(line: string): void {
    this.#lines.push(line);
    this.#bytes += line.length + LINE_OVERHEAD_BYTES;
    if (this.#bytes >= this.#runBytes) this.#spill();
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0 && this.#runs.length === 0;
  }

  /** All lines in order, equal ones as often as they came. To be called once. */
  *sorted(): Generator<string, void, undefined> {
    if (this.#runs.length === 0) {
      yield* this.#lines.sort();
      return;
    }
    this.#spill();
    const chunkBytes = Math.max(LEAST_CHUNK_BYTES, Math.floor(MERGE_BYTES / this.#runs.length));
    yield* merge(this.#runs.map(run => run.lines(Math.min(MOST_CHUNK_BYTES, chunkBytes))));
  }

  close(): void {
    for (const run of this.#runs) run.close();
  }

  #spill(): void {
    const run = new Spill(this.#beside);
    this.#runs.push(run);
    for (const line of this.#lines.sort()) run.write(`${line}\n`);
    this.#lines = [];
    this.#bytes = 0;
    collectGarbage();
  }
}

/** A file nobody else sees: it has no name any more when it is used, so nothing remains however we end. */
class Spill {
  readonly #fd: number;
  readonly #out: Output;
  readonly #where: string;

  /** @param beside an existing path on a disk with room for it */
  constructor(beside: string) {
    const path = `${beside}.${process.pid}.spill`;
    this.#where = `a temporary file beside ${beside}`;
    this.#fd = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    this.#out = new Output(this.#fd, { encoding: 'latin1', where: this.#where });
  }

  /** @throws LccError `io.full`, `io` */
  write(text: string): void {
    this.#out.write(text);
  }

  /** The written lines, from the first. */
  *lines(chunkBytes: number): Generator<string, void, undefined> {
    this.#out.flush();
    yield* readLinesAt(this.#fd, 0, this.#where, chunkBytes);
  }

  close(): void {
    closeSync(this.#fd);
  }
}
