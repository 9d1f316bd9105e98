/**
 * Contents of pages on their way to rails: small ones in memory, others in files that have the sha256 of
 * their content as their name. What a backlog needs is a synced file; nothing depends on it, though: a page
 * whose content is not there any more is generated again. So the files have a limit, and the oldest that no
 * publication holds make room for new ones.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { BodyToSend } from '../../fetch/job.js';
import { makeDirectoryDurably, writeFileDurably, writeFileDurablyAside } from '../../lib/durable.js';
import { messageOf } from '../../lib/errors.js';
import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';

interface BodiesOptions {
  dir: string;
  /** A content that is larger goes into a file. */
  memoryPageBytes: number;
  memoryBytes: number;
  spoolBytes: number;
  /** True if a backlog has an entry with that content. */
  isNeeded: (sha: string) => boolean;
  log: Log;
}

interface Body {
  length: number;
  /** Undefined: it is in its file. */
  bytes: Uint8Array | undefined;
  isFile: boolean;
  /** True if the file may be of an earlier life: compare it with its name before it is sent. */
  isDoubtful: boolean;
  /** Publications that are on their way with it. */
  holders: number;
}

const NAME = /^[0-9a-f]{64}$/;
/** Files that one look asks the backlogs for. */
const SWEPT_FILES = 500;

export class Bodies {
  readonly #options: BodiesOptions;
  /** By sha256, the oldest first. */
  readonly #bodies = new Map<string, Body>();
  #memoryBytes = 0;
  #spoolBytes = 0;
  /** How far the files have been looked through. */
  #sweeping: Iterator<[string, Body]> | undefined;

  /** Takes up the files of an earlier life; what is no content goes. */
  constructor(options: BodiesOptions) {
    this.#options = options;
    makeDirectoryDurably(options.dir, 0o750);
    for (const name of readdirSync(options.dir)) {
      const path = join(options.dir, name);
      if (!NAME.test(name)) {
        rmSync(path, { force: true, recursive: true });
        continue;
      }
      const length = statSync(path).size;
      this.#bodies.set(name, { length, bytes: undefined, isFile: true, isDoubtful: true, holders: 0 });
      this.#spoolBytes += length;
    }
  }

  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  get spoolBytes(): number {
    return this.#spoolBytes;
  }

  /**
   * Keeps a content until it is released.
   * @param mustSpool in a file, however small
   * @returns its sha256, and what is sent; undefined when there is no room for it
   */
  async take(bytes: Uint8Array, mustSpool: boolean): Promise<{ sha: string; bytes: BodyToSend } | undefined> {
    const sha = createHash('sha256').update(bytes).digest('hex');
    const { length } = bytes;
    const known = this.#sound(sha);
    if (known !== undefined) {
      known.holders++;
      if (mustSpool) this.keep(sha);
      return { sha, bytes: this.#toSend(sha, known) };
    }
    const { memoryPageBytes, memoryBytes } = this.#options;
    const fits = this.#memoryBytes + length <= memoryBytes;
    const body: Body = { length, bytes, isFile: false, isDoubtful: false, holders: 1 };
    if (mustSpool || length > memoryPageBytes || !fits) {
      const isSpooled = await this.#spoolAside(sha, bytes);
      if (!isSpooled && !fits) return undefined;
      if (isSpooled) Object.assign(body, { bytes: undefined, isFile: true });
    }
    // Another page may have brought the same content meanwhile.
    const other = this.#bodies.get(sha);
    if (other !== undefined) {
      other.holders++;
      if (body.isFile && !other.isFile) other.isFile = true;
      else if (body.isFile) this.#spoolBytes -= length;
      return { sha, bytes: this.#toSend(sha, other) };
    }
    this.#bodies.set(sha, body);
    if (body.bytes !== undefined) this.#memoryBytes += length;
    return { sha, bytes: this.#toSend(sha, body) };
  }

  /** Has a content in its file, for a backlog. @returns its name; null when it cannot be kept */
  keep(sha: string): string | null {
    const body = this.#bodies.get(sha);
    if (body === undefined) return null;
    if (body.isFile || body.bytes === undefined) return sha;
    if (!this.#makeRoom(body.length)) return null;
    try {
      writeFileDurably(this.#pathOf(sha), body.bytes);
    } catch (error) {
      this.#spoolBytes -= body.length;
      this.#cannot(error);
      return null;
    }
    step('clear.soft.spooled');
    body.isFile = true;
    return sha;
  }

  /** The content of an entry of a backlog; undefined when it is not there any more. */
  find(sha: string): BodyToSend | undefined {
    const body = this.#sound(sha);
    return body && this.#toSend(sha, body);
  }

  /** A publication is not on its way any more. */
  release(sha: string): void {
    const body = this.#bodies.get(sha);
    if (body === undefined || --body.holders > 0) return;
    if (body.bytes !== undefined) this.#memoryBytes -= body.length;
    body.bytes = undefined;
    if (!body.isFile) this.#bodies.delete(sha);
    else if (!this.#options.isNeeded(sha)) this.#drop(sha, body);
  }

  /** Removes files that no backlog needs any more, some hundreds at a time. */
  sweep(): void {
    const sweeping = (this.#sweeping ??= this.#bodies.entries());
    for (let looked = 0; looked < SWEPT_FILES; looked++) {
      const next = sweeping.next();
      if (next.done === true) {
        this.#sweeping = undefined;
        return;
      }
      const [sha, body] = next.value;
      if (body.holders === 0 && !this.#options.isNeeded(sha)) this.#drop(sha, body);
    }
  }

  #toSend(sha: string, { bytes, length }: Body): BodyToSend {
    return bytes === undefined ? { file: this.#pathOf(sha), length } : { bytes };
  }

  /** A body whose file, if it is of an earlier life, has what its name says. */
  #sound(sha: string): Body | undefined {
    const body = this.#bodies.get(sha);
    if (body?.isDoubtful !== true) return body;
    try {
      const found = createHash('sha256')
        .update(readFileSync(this.#pathOf(sha)))
        .digest('hex');
      body.isDoubtful = found !== sha;
    } catch (error) {
      this.#cannot(error);
    }
    if (!body.isDoubtful) return body;
    this.#options.log.warn('content of a page damaged; the page will be generated again', {
      file: this.#pathOf(sha),
    });
    this.#drop(sha, body);
    return undefined;
  }

  async #spoolAside(sha: string, bytes: Uint8Array): Promise<boolean> {
    if (!this.#makeRoom(bytes.length)) return false;
    try {
      await writeFileDurablyAside(this.#pathOf(sha), bytes);
    } catch (error) {
      this.#spoolBytes -= bytes.length;
      this.#cannot(error);
      return false;
    }
    step('clear.soft.spooled');
    return true;
  }

  /** Counts a file before it is written; others that no publication holds go, the oldest first. @returns
   * whether it may be */
  #makeRoom(length: number): boolean {
    const { spoolBytes } = this.#options;
    for (const [sha, body] of this.#bodies) {
      if (this.#spoolBytes + length <= spoolBytes) break;
      if (body.holders === 0) this.#drop(sha, body);
    }
    if (this.#spoolBytes + length > spoolBytes) return false;
    this.#spoolBytes += length;
    return true;
  }

  #drop(sha: string, body: Body): void {
    rmSync(this.#pathOf(sha), { force: true });
    this.#spoolBytes -= body.length;
    this.#bodies.delete(sha);
  }

  #pathOf(sha: string): string {
    return join(this.#options.dir, sha);
  }

  #cannot(error: unknown): void {
    this.#options.log.error('contents of pages not stored; pages will be generated again', {
      error: messageOf(error),
    });
  }
}
