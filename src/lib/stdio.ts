/**
 * Standard input and output of filters: synchronous, in big chunks. A stream per line or a promise per file
 * costs two to five times the work itself; commands that also speak to sockets read `process.stdin`.
 *
 * A descriptor we inherit may be non-blocking because a process that shares it made it so (a terminal, a pipe
 * from another Node process): EAGAIN is answered by sleeping, a little longer each time, never by spinning.
 */
import { readSync, write, writeSync } from 'node:fs';
import { errnoOf, isNoRoom, LccError } from './errors.js';
import { sleepSync } from './sleep-sync.js';

/** Bytes asked for in one read(2): what a Linux pipe holds. */
export const CHUNK_BYTES = 64 * 1024;
const FIRST_NAP_MS = 0.25;
const LONGEST_NAP_MS = 20;

/**
 * The bytes of a descriptor until its end, in chunks of up to `chunkBytes`. The chunk is overwritten by the
 * next read: decode or copy it before asking for more.
 * @throws LccError `input.missing` for a directory, `io` for any other failure; `where` names the input in
 * both
 */
export function* readChunks(
  fd: number,
  where = 'standard input',
  chunkBytes = CHUNK_BYTES,
): Generator<Buffer, void, undefined> {
  const buffer = Buffer.allocUnsafeSlow(chunkBytes);
  for (;;) {
    const bytes = readSome(fd, buffer, where);
    if (bytes === 0) return;
    yield buffer.subarray(0, bytes);
  }
}

/** A file's bytes from an offset to its end, without moving the descriptor's position. Otherwise as
 * `readChunks`. */
export function* readChunksAt(
  fd: number,
  offset: number,
  where: string,
  chunkBytes = CHUNK_BYTES,
): Generator<Buffer, void, undefined> {
  const buffer = Buffer.allocUnsafeSlow(chunkBytes);
  for (let at = offset; ;) {
    const bytes = readSome(fd, buffer, where, at);
    if (bytes === 0) return;
    at += bytes;
    yield buffer.subarray(0, bytes);
  }
}

/** read(2) that waits for a non-blocking descriptor; 0 at the end. */
function readSome(fd: number, buffer: Uint8Array, where: string, offset: number | null = null): number {
  for (let napMs = FIRST_NAP_MS; ; napMs = nap(napMs)) {
    try {
      return readSync(fd, buffer, 0, buffer.length, offset);
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === 'EAGAIN') continue;
      // Some platforms say EOF instead of returning 0 at the end of a terminal or a closed pipe.
      if (errno === 'EOF') return 0;
      if (errno === 'EISDIR')
        throw new LccError('input.missing', `${where} is a directory`, { cause: error });
      throw new LccError('io', `cannot read ${where}: ${errno ?? 'unknown error'}`, { cause: error });
    }
  }
}

/**
 * Collects text and writes it in blocks. Nothing is written behind the caller's back: `flush()` at the end,
 * or the last block is lost. A reader that went away shows as the system's EPIPE error, which
 * `commands/run.ts` ends silently.
 */
export class Output {
  readonly #fd: number;
  readonly #encoding: 'utf8' | 'latin1';
  readonly #blockLength: number;
  readonly #where: string;
  #pending = '';

  /** @param encoding latin1 where every character stands for one byte */
  constructor(
    fd: number,
    options: { encoding?: 'utf8' | 'latin1'; blockLength?: number; where?: string } = {},
  ) {
    this.#fd = fd;
    this.#encoding = options.encoding ?? 'utf8';
    this.#blockLength = options.blockLength ?? 32 * 1024;
    this.#where = options.where ?? 'standard output';
  }

  /**
   * @param data text is collected; bytes go out at once as they are, after what was written before
   * @throws LccError `io.full` (no space left) or `io`; the system's error for EPIPE
   */
  write(data: string | Uint8Array): void {
    if (typeof data !== 'string') {
      this.flush();
      writeFully(this.#fd, data, this.#where);
      return;
    }
    this.#pending += data;
    if (this.#pending.length >= this.#blockLength) this.flush();
  }

  flush(): void {
    if (this.#pending === '') return;
    const text = this.#pending;
    this.#pending = '';
    writeFully(this.#fd, Buffer.from(text, this.#encoding), this.#where);
  }
}

/**
 * write(2) until all is written, waiting for a non-blocking descriptor.
 * @throws LccError `io.full` or `io`; the system's error for EPIPE
 */
export function writeFully(fd: number, bytes: Uint8Array, where: string): void {
  let napMs = FIRST_NAP_MS;
  for (let offset = 0; offset < bytes.length;) {
    try {
      offset += writeSync(fd, bytes, offset, bytes.length - offset);
      napMs = FIRST_NAP_MS;
    } catch (error) {
      refuseFinal(where, error);
      napMs = nap(napMs);
    }
  }
}

/**
 * The same without keeping the event loop from anything else, signals above all, while nobody reads.
 * @throws LccError `io.full` or `io`; the system's error for EPIPE
 */
export async function writeFullyLater(fd: number, bytes: Uint8Array, where: string): Promise<void> {
  let napMs = FIRST_NAP_MS;
  for (let offset = 0; offset < bytes.length;) {
    try {
      offset += await writeLater(fd, bytes.subarray(offset));
      napMs = FIRST_NAP_MS;
    } catch (error) {
      refuseFinal(where, error);
      await new Promise(resolve => setTimeout(resolve, napMs));
      napMs = Math.min(napMs * 2, LONGEST_NAP_MS);
    }
  }
}

/** @throws what a write fails with for good: not where it has to wait */
function refuseFinal(where: string, error: unknown): void {
  const errno = errnoOf(error);
  if (errno === 'EPIPE') throw error;
  if (errno !== 'EAGAIN') throw writeFailure(where, error);
}

function writeLater(fd: number, bytes: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) =>
    write(fd, bytes, (error, written) => (error === null ? resolve(written) : reject(error))),
  );
}

/** The error for a failed write to `where`: LccError `io.full` (no space left) or `io`. */
export function writeFailure(where: string, cause: unknown): LccError {
  return isNoRoom(cause)
    ? new LccError('io.full', `cannot write ${where}: no space left; free some and run again`, { cause })
    : new LccError('io', `cannot write ${where}: ${errnoOf(cause) ?? 'unknown error'}`, { cause });
}

/** Sleeps and says how long to sleep the next time. */
function nap(ms: number): number {
  sleepSync(ms);
  return Math.min(ms * 2, LONGEST_NAP_MS);
}
