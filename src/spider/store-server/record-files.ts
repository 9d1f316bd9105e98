/**
 * The files of a store: each is a stream of whole records as they were received (wire/spider-record.ts), or
 * of them compressed. `docs/000012/000012345.rec` has the number 12345; a higher number is a later file. What
 * is being written is in `tmp/`.
 */
import {
  closeSync,
  constants,
  existsSync,
  fsync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import type { DocumentFile, HeldDocument } from '../../db/spider/documents.js';
import { makeDirectoryDurably, openDirectory, syncDirectoryAside } from '../../lib/durable.js';
import { errnoOf, LccError } from '../../lib/errors.js';

const sync = promisify(fsync);
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
const FILES_IN_FOLDER = 1000;
const FILE_NAME = /^(\d{9,15})\.rec(\.gz)?$/;

const folderOf = (id: number) => String(Math.floor(id / FILES_IN_FOLDER)).padStart(6, '0');
const nameOf = (id: number) => String(id).padStart(9, '0');

/** A file being written, or one that was and is not committed. */
export interface Draft {
  path: string;
  /** Undefined: closed. */
  fd: number | undefined;
  isSynced: boolean;
  /** True once the sync of the file has failed. */
  isLost: boolean;
}

export class RecordFiles {
  readonly #docs: string;
  readonly #tmp: string;
  #drafts = 0;

  /** @param dir of the store */
  constructor(dir: string) {
    this.#docs = join(dir, 'docs');
    this.#tmp = join(dir, 'tmp');
  }

  pathOf({ id, isCompressed }: Omit<DocumentFile, 'bytes'>): string {
    return join(this.#docs, folderOf(id), `${nameOf(id)}.rec${isCompressed === 1 ? '.gz' : ''}`);
  }

  /** Makes the folders, and removes drafts, which were never acknowledged. */
  tidy(): void {
    makeDirectoryDurably(this.#docs, 0o750);
    makeDirectoryDurably(this.#tmp, 0o750);
    for (const name of readdirSync(this.#tmp)) rmSync(join(this.#tmp, name), { force: true });
  }

  /** Files that are there and have higher numbers, in their order. */
  *after(last: number): Generator<Omit<DocumentFile, 'bytes'>, void> {
    const folders = readdirSync(this.#docs).filter(name => name >= folderOf(last + 1));
    for (const folder of folders.toSorted())
      for (const name of readdirSync(join(this.#docs, folder)).toSorted()) {
        const [, id, end] = FILE_NAME.exec(name) ?? [];
        if (id === undefined || Number(id) <= last) continue;
        yield { id: Number(id), isCompressed: end === undefined ? 0 : 1 };
      }
  }

  has(file: Omit<DocumentFile, 'bytes'>): boolean {
    return existsSync(this.pathOf(file));
  }

  /** @throws system errors of the disk */
  begin(): Draft {
    const path = join(this.#tmp, String(++this.#drafts));
    return { path, fd: openSync(path, CREATE, 0o640), isSynced: false, isLost: false };
  }

  /** Removes one, under whatever name. */
  discard(draft: Draft): void {
    close(draft);
    rmSync(draft.path, { force: true });
  }

  /** Resolves when the content of a draft is on disk; it is named next. @throws system errors of the disk */
  async finish(draft: Draft): Promise<void> {
    if (draft.isSynced || draft.fd === undefined) return;
    await sync(draft.fd);
    draft.isSynced = true;
  }

  /** Gives drafts that are on disk their names; resolves when these are on disk, too. @throws system errors
   * of the disk */
  async name(drafts: ReadonlyMap<Omit<DocumentFile, 'bytes'>, Draft>): Promise<void> {
    const folders = new Set([...drafts.keys()].map(({ id }) => join(this.#docs, folderOf(id))));
    for (const folder of folders) makeDirectoryDurably(folder, 0o750);
    for (const [file, draft] of drafts) {
      close(draft);
      const path = this.pathOf(file);
      renameSync(draft.path, path);
      draft.path = path;
    }
    await Promise.all([...folders].map(syncFolder));
  }

  /** Removes one that no row refers to. One that is gone is none. */
  remove(file: Omit<DocumentFile, 'bytes'>): void {
    rmSync(this.pathOf(file), { force: true });
  }

  /** Resolves when the names of files that were removed are so on disk. */
  async removed(ids: readonly number[]): Promise<void> {
    await Promise.all([...new Set(ids.map(folderOf))].map(folder => syncFolder(join(this.#docs, folder))));
  }

  /**
   * The record of a document, as it was received.
   * @throws LccError `data.malformed` when the file is shorter than it was; system errors of the disk:
   *   ENOENT also where the document was replaced since its row was read
   */
  recordOf(file: Omit<DocumentFile, 'bytes'>, held: HeldDocument): Buffer {
    const path = this.pathOf(file);
    const stored = readPart(path, held.position, held.storedBytes);
    return file.isCompressed === 1 ? gunzipSync(stored) : stored;
  }
}

function close(draft: Draft): void {
  if (draft.fd !== undefined) closeSync(draft.fd);
  draft.fd = undefined;
}

async function syncFolder(path: string): Promise<void> {
  const fd = openDirectory(path);
  try {
    await syncDirectoryAside(fd);
  } finally {
    closeSync(fd);
  }
}

function readPart(path: string, position: number, size: number): Buffer {
  const fd = openSync(path, 'r');
  try {
    const bytes = Buffer.allocUnsafeSlow(size);
    for (let done = 0; done < size;) {
      const read = readSync(fd, bytes, done, size - done, position + done);
      if (read === 0)
        throw new LccError(
          'data.malformed',
          `${path}: ends at byte ${position + done}, and had ${position + size}`,
        );
      done += read;
    }
    return bytes;
  } finally {
    closeSync(fd);
  }
}

/** True if a file was not there. */
export function isGone(error: unknown): boolean {
  return errnoOf(error) === 'ENOENT';
}
