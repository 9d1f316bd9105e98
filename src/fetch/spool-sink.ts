/** Content that is passed on whole: in memory while there is room, otherwise in a file without a name, which
 * goes with this process however that ends. */
import { randomUUID } from 'node:crypto';
import { close, constants, mkdirSync, openSync, read, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { writeAll } from '../lib/durable.js';
import type { Sink } from './sink.js';

/** Memory that all contents of a process share. */
export class ContentMemory {
  readonly #maxBytes: number;
  #usedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** @returns whether there was room */
  take(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#maxBytes) return false;
    this.#usedBytes += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}

interface SpoolSinkOptions {
  memory: ContentMemory;
  /** Larger content goes into a file. */
  maxMemoryBytes: number;
  /** Where files are; made when the first is. */
  dir: string;
}

/** Bytes of a file that are read at a time. */
const PIECE_BYTES = 256 * 1024;
const CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

export class SpoolSink implements Sink {
  readonly #options: SpoolSinkOptions;
  #chunks: Uint8Array[] = [];
  #memoryBytes = 0;
  #length = 0;
  #fd = -1;
  #reads = 0;
  #isOver = false;

  constructor(options: SpoolSinkOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#length;
  }

  /** True if it went into a file. */
  get isSpooled(): boolean {
    return this.#fd >= 0;
  }

  /** The pieces of content in memory; none of what is in a file. */
  get chunks(): readonly Uint8Array[] {
    return this.#chunks;
  }

  write(chunk: Uint8Array): void {
    const { memory, maxMemoryBytes } = this.#options;
    if (this.#fd < 0) {
      if (this.#length + chunk.length <= maxMemoryBytes && memory.take(chunk.length)) {
        this.#memoryBytes += chunk.length;
        this.#length += chunk.length;
        this.#chunks.push(chunk);
        return;
      }
      this.#spill();
    }
    writeAll(this.#fd, chunk);
    this.#length += chunk.length;
  }

  /** The md5 is not taken: ''. */
  finish(_expected: string | undefined, done: (error: unknown, md5: string) => void): void {
    done(undefined, '');
  }

  restart(): boolean {
    this.#forgetMemory();
    this.#close();
    this.#length = 0;
    return true;
  }

  discard(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#forgetMemory();
    if (this.#reads === 0) this.#close();
  }

  /** The bytes of a file from `at` on, as many as there are up to a bound; none at its end. @throws system
   * errors of the disk */
  async piece(at: number): Promise<Uint8Array> {
    const buffer = Buffer.allocUnsafe(Math.min(PIECE_BYTES, this.#length - at));
    this.#reads++;
    try {
      return await new Promise<Uint8Array>((resolve, reject) =>
        read(this.#fd, buffer, 0, buffer.length, at, (error, bytes) =>
          error === null ? resolve(buffer.subarray(0, bytes)) : reject(error),
        ),
      );
    } finally {
      this.#reads--;
      // A descriptor that is read from must not become another file's.
      if (this.#isOver && this.#reads === 0) this.#close();
    }
  }

  #spill(): void {
    const { dir } = this.#options;
    mkdirSync(dir, { recursive: true, mode: 0o750 });
    const path = join(dir, `${process.pid}-${randomUUID()}`);
    this.#fd = openSync(path, CREATE, 0o600);
    unlinkSync(path);
    for (const chunk of this.#chunks) writeAll(this.#fd, chunk);
    this.#forgetMemory();
  }

  #forgetMemory(): void {
    this.#options.memory.give(this.#memoryBytes);
    this.#memoryBytes = 0;
    this.#chunks = [];
  }

  #close(): void {
    if (this.#fd < 0) return;
    close(this.#fd);
    this.#fd = -1;
  }
}
