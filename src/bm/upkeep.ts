/**
 * Looking after what is stored. Files are not synced one by one: now and then all of the store is, and the
 * source notes up to which row that reaches. What came after it may not have survived the machine, and is
 * read again, row by row, when this Bot Manager has connected (docs/design/durability.md).
 *
 * syncfs(2) is called by sync(1): Node has no call for it. One fork in some seconds; fsync(2) of every file
 * that was stored since costs a flush of the disk each.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { nameOf } from '../db/names/naming.js';
import { errnoOf, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { step } from '../lib/steps.js';
import type { AdoptRequest, CheckRequest, UpkeepRequest, UpkeepResult } from '../wire/upkeep.js';

type Status = UpkeepResult['status'];

const CHECK_READ_BYTES = 256 * 1024;
/** Errors for a file that is not there, or is none. */
export const NO_FILE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP']);
/** Errors of the disk for content that it has lost. */
const LOST: ReadonlySet<string | undefined> = new Set(['EIO', 'EBADMSG', 'EUCLEAN']);

export class StoreUpkeep {
  readonly #dir: string;
  readonly #log: Log;
  #hasSynced = false;
  #lastSync: Promise<unknown> = Promise.resolve();

  constructor(dir: string, log: Log) {
    this.#dir = dir;
    this.#log = log;
  }

  async answer(request: Exclude<UpkeepRequest, AdoptRequest>): Promise<Status> {
    if (request.kind === 'check') return this.check(request);
    const done = this.#lastSync.then(() => this.#sync());
    this.#lastSync = done;
    return done;
  }

  /** True content, as `ok`. */
  async check({ fileId, md5, len }: Pick<CheckRequest, 'fileId' | 'md5' | 'len'>): Promise<Status> {
    if (nameOf(fileId) === undefined) return 'bad';
    let file: FileHandle | undefined;
    try {
      file = await open(join(this.#dir, fileId), 'r');
      return (await file.stat()).size === len && (await md5Of(file)) === md5 ? 'ok' : 'bad';
    } catch (error) {
      const errno = errnoOf(error);
      if (NO_FILE.has(errno)) return 'bad';
      this.#log.error('cannot read a file of the store', { fileid: fileId, error: messageOf(error) });
      return LOST.has(errno) ? 'bad' : 'unable';
    } finally {
      await file?.close();
    }
  }

  /** A failed sync means that writes are lost, and the system reports that once. A failure of the first one
   * means that no sync(1) here can do it; a failure to start it (no memory, no descriptors) means nothing. */
  async #sync(): Promise<Status> {
    const { problem, isRun } = await new Promise<{ problem?: string; isRun: boolean }>(resolve => {
      execFile('sync', ['-f', this.#dir], (error, _stdout, stderr) =>
        resolve(
          error === null
            ? { isRun: true }
            : { problem: stderr.trim() || messageOf(error), isRun: errnoOf(error) === undefined },
        ),
      );
    });
    if (problem === undefined) {
      this.#hasSynced = true;
      step('bm.store.synced');
      return 'ok';
    }
    this.#log.error('cannot sync the store', { store: this.#dir, error: problem });
    return this.#hasSynced && isRun ? 'bad' : 'unable';
  }
}

async function md5Of(file: FileHandle): Promise<string> {
  const md5 = createHash('md5');
  const buffer = Buffer.allocUnsafe(CHECK_READ_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(buffer);
    if (bytesRead === 0) return md5.digest('hex');
    md5.update(buffer.subarray(0, bytesRead));
  }
}
