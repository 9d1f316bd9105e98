/**
 * A consistent copy of an LCC, running or not (docs/design/operating.md).
 *
 *     spools ──▶ rs.db ──▶ other files ──▶ content ──▶ lcc.db, at one moment ──▶ content since ──▶ spool/fsm,
 *       sequence, sessions.db, clear.db, store.db ──▶ synced ──▶ DIR has its name
 *
 * The order is the point. A set that was accepted is in a spool or, once its entry is gone, in lcc.db: copied
 * in this order it is in one of the two, and where it is in both lcc.db knows it again. Content is linked
 * before and after lcc.db is copied: a file that a row of the copy points to was there at that moment, and a
 * deletion leaves it there for a grace period. Where such a file is gone, the backup copies lcc.db again.
 * `sequence` comes after lcc.db, so that no number that lcc.db knows is given to another set. names.db is
 * left out: who restores begins a new one, far beyond. rs.db comes before lcc.db: what it has sent and lcc.db
 * has done is sent again, and answered as before.
 */
import { execFile } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, readdirSync, readSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Home } from '../../config/home.js';
import { FsckLook } from '../../db/fsck-look.js';
import { nameOf } from '../../db/names/naming.js';
import { readStoreMark } from '../../db/names/store-mark.js';
import { copyDatabase } from '../../db/sqlite/copy.js';
import { openReadOnly, SCHEMA_VERSION } from '../../db/sqlite/open.js';
import { makeDirectoryDurably, renameDurably } from '../../lib/durable.js';
import { LccError, messageOf } from '../../lib/errors.js';
import { isLocked } from '../../lib/lock.js';
import { giveTo } from '../../lib/owner.js';
import { openRegularFile } from '../../lib/regular-file.js';
import { step } from '../../lib/steps.js';
import { readBackupFile, writeBackupFile, type BackupFacts } from './facts.js';
import { TreeCopy } from './tree.js';

const PAGE_ROWS = 1000;
/** Copies of lcc.db that are made until all of their content is there. */
const TRIES = 3;
/** Databases that are copied after lcc.db. */
const AFTER = /^(?:spool\/uns\/sessions|clear\/clear|spider\/.*store)\.db$/;

export interface BackupOptions {
  home: Home;
  /** lcc.toml in effect, wherever it is. */
  configFile: string | undefined;
  /** Is made. */
  dir: string;
  version: string;
  nowMs: () => number;
  advance: ((count: number) => void) | undefined;
}

/**
 * @returns what the copy has
 * @throws LccError `output.create` where there is something, `input.missing` where there is no LCC, as
 * storageError
 */
export async function backUp(options: BackupOptions): Promise<BackupFacts> {
  const { home, configFile, version, nowMs } = options;
  const dir = resolve(options.dir);
  if (`${dir}/`.startsWith(`${resolve(home.dir)}/`))
    throw new LccError('usage', `${dir}: below the LCC that is copied; name a folder elsewhere`);
  requireFree(dir);
  // Refuses what is no lcc.db, or not of this release.
  openReadOnly(home.db).close();
  const part = `${dir}.part`;
  clearAway(part);
  makeDirectoryDurably(part, 0o700);
  giveTo(part, statSync(home.dir));
  const runs = () => isLocked(`${home.db}.lock`);
  const facts = { version, schema: SCHEMA_VERSION, live: runs(), began: new Date(nowMs()).toISOString() };
  writeBackupFile(part, facts);
  step('backup.begun');
  const tree = new TreeCopy(home.dir, part);
  const copyAll = async (paths: readonly string[]) => {
    for (const path of paths) {
      if (isDatabase(join(home.dir, path))) await copyDatabase(join(home.dir, path), join(part, path));
      else tree.file(path, false);
    }
  };
  // Those in effect, wherever they are.
  if (configFile !== undefined) tree.file('lcc.toml', false, configFile);
  const ofSpools = tree.below(
    '',
    path => path === 'spool' || (path.startsWith('spool/') && !path.endsWith('/sequence')),
  );
  step('backup.spool.copied');
  const rest = tree.below('', path => !/^(?:(?:spool|store)(?:\/|$)|lcc\.db)/.test(path));
  await copyAll(rest.filter(path => !AFTER.test(path)));
  step('backup.files.copied');
  const content = new ContentCopy(options, part, tree);
  content.link(home.db);
  step('backup.content.linked');
  let missing = Infinity;
  for (let tries = 0; tries < TRIES && missing > 0; tries++) {
    rmSync(join(part, 'lcc.db'), { force: true });
    await copyDatabase(home.db, join(part, 'lcc.db'));
    step('backup.database.copied');
    missing = content.link(join(part, 'lcc.db'));
  }
  // Left by the look at it, which wrote nothing.
  for (const rest of ['-wal', '-shm']) rmSync(join(part, `lcc.db${rest}`), { force: true });
  await copyAll([...ofSpools, ...rest].filter(path => AFTER.test(path)));
  tree.below('spool/fsm');
  tree.below('spool/uns', path => !path.endsWith('/new') && !path.endsWith('/bad'));
  tree.below('spider');
  await syncDisk(part);
  const whole = {
    ...facts,
    live: facts.live || runs(),
    ended: new Date(nowMs()).toISOString(),
    pages: content.pages,
    missing,
  };
  writeBackupFile(part, whole);
  step('backup.whole');
  renameDurably(part, dir);
  step('backup.named');
  return whole;
}

const SQLITE = 'SQLite format 3\0';

/** People keep files of their own beside ours, under any name. */
function isDatabase(path: string): boolean {
  const head = Buffer.alloc(SQLITE.length);
  const fd = openRegularFile(path, 'file');
  try {
    return readSync(fd, head) === head.length && head.toString('latin1') === SQLITE;
  } finally {
    closeSync(fd);
  }
}

/** An empty folder is replaced. @throws LccError `output.create` */
function requireFree(dir: string): void {
  const stats = statSync(dir, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isDirectory() || readdirSync(dir).length > 0)
    throw new LccError('output.create', `${dir}: exists; give another name`);
  if (stats.dev !== statSync(dirname(dir)).dev)
    throw new LccError('output.create', `${dir}: a disk is mounted here; name a folder in it`);
}

/**
 * Removes the rest of a backup that was killed, which has no other name than this. @throws LccError
 * `output.create` where it is something else
 */
function clearAway(part: string): void {
  if (!existsSync(part)) return;
  if (readdirSync(part).length > 0 && readBackupFile(part) === undefined)
    throw new LccError('output.create', `${part}: exists, and is no part of a backup; move it away`);
  rmSync(part, { recursive: true });
}

/** Content of this machine, by the rows that point to it. */
class ContentCopy {
  readonly #store: string;
  readonly #part: string;
  readonly #tree: TreeCopy;
  readonly #machineId: string | undefined;
  readonly #advance: BackupOptions['advance'];
  readonly #folders = new Set<string>();
  /** Rows whose content is in the copy, as of the last look. */
  pages = 0;

  constructor({ home, advance }: BackupOptions, part: string, tree: TreeCopy) {
    this.#store = home.store;
    this.#part = part;
    this.#tree = tree;
    this.#advance = advance;
    this.#machineId = readStoreMark(home.store)?.machineId;
    if (this.#machineId === undefined) return;
    this.#folder(join(part, 'store'));
    this.#take('machine-id', false);
  }

  /** Takes what the rows of a database point to. @returns how many rows point to what is not there */
  link(dbPath: string): number {
    let missing = 0;
    this.pages = 0;
    const db = openReadOnly(dbPath);
    try {
      for (const rows of new FsckLook(db).content(PAGE_ROWS)) {
        for (const { fetched_machineid: machine, fetched_fileid: file } of rows) {
          if (machine !== this.#machineId || nameOf(file) === undefined) continue;
          if (this.#take(file, true)) this.pages++;
          else missing++;
        }
        this.#advance?.(rows.length);
      }
    } finally {
      db.close();
    }
    return missing;
  }

  /** Below the copy of the store, whose the store is. */
  #folder(path: string): void {
    if (path === this.#part || this.#folders.has(path)) return;
    this.#folder(dirname(path));
    mkdirSync(path, { mode: 0o750 });
    giveTo(path, statSync(this.#store));
    this.#folders.add(path);
  }

  #take(file: string, isUnchanging: boolean): boolean {
    const to = join(this.#part, 'store', file);
    this.#folder(dirname(to));
    return this.#tree.file(file, isUnchanging, join(this.#store, file), to);
  }
}

const run = promisify(execFile);

/** All that was written is on disk: one call for the file system, where files are many. */
export async function syncDisk(dir: string): Promise<void> {
  try {
    await run('sync', ['-f', dir]);
  } catch (error) {
    throw new LccError('io', `${dir}: cannot be synced: ${messageOf(error)}`, { cause: error });
  }
}
