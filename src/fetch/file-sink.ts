/**
 * Content on its way into a file. Small content stays in memory, is hashed and written in one go, at once
 * under its name: open, write and close called synchronously took 1/1.4 of the time of callbacks and 1/1.5 of
 * streams for 4 KiB files, and a rename a third of all that again. Nobody is told the name before it is
 * whole; what a killed process leaves there is of no result (docs/design/durability.md).
 *
 * Large content goes to the disk as it comes, under a name used by this attempt only, and is renamed when it
 * is complete; so is what would replace a file. Half of it is known by its name, and never mixed with the
 * bytes of another process.
 */
import { createHash, hash, type Hash } from 'node:crypto';
import {
  closeSync,
  constants,
  fsync,
  mkdirSync,
  openSync,
  renameSync,
  unlinkSync,
  writevSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { writeAll } from '../lib/durable.js';
import { errnoOf } from '../lib/errors.js';
import { step } from '../lib/steps.js';
import type { Sink } from './sink.js';

/** Content up to this many bytes is kept in memory until it is complete. */
export const BUFFERED_BYTES = 256 * 1024;

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Small content that is complete, for somebody else to put in place. */
export interface WholeContent {
  path: string;
  attempt: string;
  chunks: readonly Uint8Array[];
  length: number;
}

/** Where the content of an attempt is until it is complete, unless it is written in one go. */
export function temporaryOf(path: string, attempt: string): string {
  return `${path}.${attempt}.tmp`;
}

export class FileSink implements Sink {
  readonly #path: string;
  readonly #attempt: string;
  readonly #isDurable: boolean;
  #chunks: Uint8Array[] = [];
  #length = 0;
  #hash: Hash | undefined;
  #fd = -1;
  /** The name that it is written to: its own, or that of the attempt. */
  #written = '';

  /**
   * @param attempt unique among all attempts ever made for `path`
   * @param isDurable `finish` is done only when content and name would survive a power cut
   */
  constructor(path: string, attempt: string, isDurable = false) {
    this.#path = path;
    this.#attempt = attempt;
    this.#isDurable = isDurable;
  }

  /** Bytes so far. */
  get length(): number {
    return this.#length;
  }

  get #temporary(): string {
    return temporaryOf(this.#path, this.#attempt);
  }

  /** Takes the next bytes; the caller must not change them afterwards. @throws system errors of the disk */
  write(chunk: Uint8Array): void {
    this.#length += chunk.length;
    if (this.#fd < 0) {
      this.#chunks.push(chunk);
      if (this.#length > BUFFERED_BYTES) this.#spill();
      return;
    }
    this.#hash?.update(chunk);
    writeAll(this.#fd, chunk);
  }

  finish(expected: string | undefined, done: (error: unknown, md5: string) => void): void {
    const md5 = this.md5();
    if (expected !== undefined && expected !== md5) done(undefined, md5);
    else if (this.#isDurable) this.commitDurably(error => done(error ?? undefined, md5));
    else {
      let problem: unknown;
      try {
        this.commit();
      } catch (error) {
        problem = error;
      }
      done(problem, md5);
    }
  }

  /** The md5 of all that was written, lower-case hex. Once, after the last write. */
  md5(): string {
    if (this.#hash !== undefined) return this.#hash.digest('hex');
    const [only] = this.#chunks;
    if (this.#chunks.length <= 1) return hash('md5', only ?? '', 'hex');
    const all = createHash('md5');
    for (const chunk of this.#chunks) all.update(chunk);
    return all.digest('hex');
  }

  /** The content, given away, when all of it is still in memory; there is nothing left here to commit or
   * discard. */
  takeWhole(): WholeContent | undefined {
    if (this.#hash !== undefined) return undefined;
    const chunks = this.#chunks;
    this.#chunks = [];
    return { path: this.#path, attempt: this.#attempt, chunks, length: this.#length };
  }

  /** Puts the content in place under its name, without syncing it. @throws system errors of the disk */
  commit(): void {
    if (this.#fd < 0) this.#writeAtOnce();
    this.#close();
    try {
      if (this.#written !== this.#path) renameSync(this.#written, this.#path);
    } catch (error) {
      this.#unlink();
      throw error;
    }
    step('fetch.file.placed');
  }

  /** The same, and `done` is called only when content and name would survive a power cut. */
  commitDurably(done: (error: unknown) => void): void {
    try {
      if (this.#fd < 0) this.#writeAtOnce();
    } catch (error) {
      done(error);
      return;
    }
    // Not synchronously: the other fetches go on, and syncs at the same time share one write of the journal.
    fsync(this.#fd, error => {
      if (error !== null) {
        done(error);
        return;
      }
      step('fetch.file.synced');
      try {
        this.commit();
        const directory = openSync(dirname(this.#path), constants.O_RDONLY | constants.O_DIRECTORY);
        fsync(directory, failed => {
          closeSync(directory);
          if (failed === null) step('fetch.file.directory-synced');
          done(failed);
        });
      } catch (thrown) {
        done(thrown);
      }
    });
  }

  restart(): boolean {
    this.discard();
    this.#length = 0;
    this.#hash = undefined;
    return true;
  }

  /** Removes all that was written, as far as the disk lets it. */
  discard(): void {
    this.#chunks = [];
    if (this.#fd < 0) return;
    try {
      this.#close();
    } finally {
      this.#unlink();
    }
  }

  #spill(): void {
    this.#hash = createHash('md5');
    for (const chunk of this.#chunks) this.#hash.update(chunk);
    this.#create(this.#temporary);
    this.#writeChunks();
  }

  #writeAtOnce(): void {
    try {
      this.#create(this.#path);
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
      this.#create(this.#temporary);
    }
    this.#writeChunks();
  }

  #create(path: string): void {
    this.#fd = openCreating(path);
    this.#written = path;
  }

  #writeChunks(): void {
    try {
      writeChunks(this.#fd, this.#chunks);
    } catch (error) {
      this.discard();
      throw error;
    }
    this.#chunks = [];
  }

  #close(): void {
    const fd = this.#fd;
    this.#fd = -1;
    try {
      closeSync(fd);
    } catch (error) {
      // close(2) reports what write(2) could not on some file systems (NFS: ENOSPC, EDQUOT).
      this.#unlink();
      throw error;
    }
  }

  #unlink(): void {
    try {
      unlinkSync(this.#written);
    } catch {
      // Called because something failed already; that is what gets reported.
    }
  }
}

function writeChunks(fd: number, chunks: Uint8Array[]): void {
  if (chunks.length > 1) {
    let left = writevSync(fd, chunks);
    for (const chunk of chunks) {
      if (left < chunk.length) writeAll(fd, chunk.subarray(left));
      left = Math.max(0, left - chunk.length);
    }
    return;
  }
  const [only] = chunks;
  if (only !== undefined) writeAll(fd, only);
}

function openCreating(path: string): number {
  try {
    return openSync(path, CREATE, 0o644);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, CREATE, 0o644);
  }
}
