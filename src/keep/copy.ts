/**
 * A copy of a database as the engine has it, in a file beside the database: `lcc.db.copy`.
 *
 *     base, MiB by MiB ──▶ log, shipment by shipment ──▶ … ──finish──▶ lcc.db
 *
 * Pages go to their places, and the file is cut to its size, so what is written once more does no harm: after
 * a crash it goes on from the shipment that is noted beside it. Of a base that is not complete nothing is
 * noted. What is not in the engine any more when it is read (an older base, its log) is noticed at the end,
 * by the number of the base, and all begins again.
 *
 *     const copy = new HomeCopy({ name, path, ledger, clock });
 *     await copy.follow(stop);      // again and again, as a standby
 *     await copy.finish(stop);      // nobody ships any more: it is the database
 */
import { closeSync, fdatasync, ftruncateSync, openSync, renameSync, rmSync, writevSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { FileState } from '../db/engine/ledger.js';
import { forgetMarks } from '../db/sqlite/marks.js';
import { makeDirectoryDurably, syncDirectory } from '../lib/durable.js';
import { LccError } from '../lib/errors.js';
import { inodeOf } from '../lib/inode.js';
import { makeFile } from '../lib/owner.js';
import { step } from '../lib/steps.js';
import type { BaseOptions } from './base.js';
import { copiedSoFar, noteCopied, noteOf } from './copy-note.js';
import { decodePiece } from './piece.js';

/** Between two notes, which cost a sync each. */
const NOTE_MS = 1000;
const MODE = 0o640;
const sync = promisify(fdatasync);

/** `path`: the database that it becomes. */
type HomeCopyOptions = Pick<BaseOptions, 'name' | 'path' | 'ledger' | 'clock'>;

export class HomeCopy {
  readonly #options: HomeCopyOptions;
  readonly #file: string;
  #fd: number | undefined;
  /** The shipment that it has; undefined: none. */
  #n: number | undefined;
  #notedMs = -Infinity;
  /** Bytes from the engine since it was begun, deflated. */
  bytes = 0;

  constructor(options: HomeCopyOptions) {
    this.#options = options;
    this.#file = `${options.path}.copy`;
    this.#n = inodeOf(this.#file) === undefined ? undefined : copiedSoFar(options.path);
  }

  /** The shipment that it has; undefined: it is not complete. */
  get n(): number | undefined {
    return this.#n;
  }

  /**
   * Brings it up to what the engine has now.
   * @returns that; undefined when there is no base yet
   * @throws LccError `data.malformed` when the engine's data is damaged; system errors
   */
  async follow(stop: AbortSignal): Promise<FileState | undefined> {
    const { name, ledger } = this.#options;
    for (;;) {
      const state = await ledger.state(name, stop);
      if (state === undefined || state.base === 0) return undefined;
      if (state.n === this.#n) return state;
      const isNew = this.#n === undefined || this.#n < state.base || this.#n > state.n;
      const from = isNew ? state.base : (this.#n ?? 0);
      if (isNew) {
        this.#begin();
        for await (const { i, data } of ledger.base(name, from, stop)) this.#put(data, `base ${from}.${i}`);
      }
      for await (const { n, k, data } of ledger.log(name, from, state.n, stop))
        this.#put(data, `log ${n}.${k}`);
      const after = await ledger.state(name, stop);
      this.#n = after !== undefined && after.base <= from ? state.n : undefined;
      if (this.#n === undefined) continue;
      await this.#note(isNew);
      return state;
    }
  }

  /**
   * Makes it the database; all that was there under its name goes.
   * @throws LccError `try.later` when the engine has no base
   */
  async finish(stop: AbortSignal): Promise<void> {
    const { name, path } = this.#options;
    const state = await this.follow(stop);
    if (state === undefined)
      throw new LccError('try.later', `${path}: the engine has no complete base of ${name} yet`);
    await sync(this.#opened());
    this.close();
    noteCopied(path, state.n, this.#file);
    // A new database must not find the log of an older one, nor marks.
    for (const part of ['-wal', '-shm']) rmSync(path + part, { force: true });
    forgetMarks(path);
    syncDirectory(dirname(path));
    renameSync(this.#file, path);
    step('keep.copy.renamed');
    syncDirectory(dirname(path));
  }

  /** Notes how far it has come, and closes the file. */
  async stop(): Promise<void> {
    if (this.#fd !== undefined && this.#n !== undefined) await this.#note(true);
    this.close();
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #begin(): void {
    const { path } = this.#options;
    this.close();
    this.#n = undefined;
    this.bytes = 0;
    rmSync(noteOf(path), { force: true });
    rmSync(this.#file, { force: true });
    makeDirectoryDurably(dirname(path), 0o750);
    syncDirectory(dirname(path));
  }

  #opened(): number {
    makeFile(this.#file, MODE);
    return (this.#fd ??= openSync(this.#file, 'r+'));
  }

  #put(data: Buffer, which: string): void {
    const { pageBytes, filePages, pages } = decodePiece(data, `${this.#options.name} ${which}`);
    const fd = this.#opened();
    let run: Buffer[] = [];
    let first = 0;
    const write = () => {
      for (let at = (first - 1) * pageBytes; run.length > 0;) {
        let written = writevSync(fd, run, at);
        at += written;
        while (run[0] !== undefined && written >= run[0].length) written -= run.shift()?.length ?? 0;
        if (written > 0 && run[0] !== undefined) run[0] = run[0].subarray(written);
      }
    };
    for (const [number, page] of pages) {
      // A file may become shorter while it is read as a base.
      if (number > filePages) continue;
      if (number !== first + run.length || run.length === 0) {
        write();
        [first, run] = [number, []];
      }
      run.push(page);
    }
    write();
    ftruncateSync(fd, filePages * pageBytes);
    this.bytes += data.length;
    step('keep.copy.piece');
  }

  async #note(isNow: boolean): Promise<void> {
    const { path, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.#n === undefined || (!isNow && nowMs - this.#notedMs < NOTE_MS)) return;
    this.#notedMs = nowMs;
    await sync(this.#opened());
    noteCopied(path, this.#n);
  }
}
