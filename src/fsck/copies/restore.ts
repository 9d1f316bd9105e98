/**
 * A backup put where there is no LCC yet.
 *
 *     a mark that nothing is served here ──▶ all files ──▶ content ──▶ names.db, far beyond ──▶ synced
 *       ──▶ lcc.db
 *
 * Killed anywhere, lccd refuses the home, and a restore of the same backup goes on with it. The caller has
 * the database begin again then (lccfsck --repair --restored), which takes the mark away.
 */
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Home } from '../../config/home.js';
import { NamesDb } from '../../db/names/names.js';
import { forgetMarks, markRestoring, restoringOf } from '../../db/sqlite/marks.js';
import { SCHEMA_VERSION } from '../../db/sqlite/open.js';
import { makeDirectory, makeDirectoryDurably, syncDirectory } from '../../lib/durable.js';
import { LccError } from '../../lib/errors.js';
import { giveTo, makeFile, type Owner } from '../../lib/owner.js';
import { step } from '../../lib/steps.js';
import { OWN_FILES } from '../leftovers.js';
import { syncDisk } from './backup.js';
import { BACKUP_FILE, readBackupFile, type BackupFacts } from './facts.js';
import { TreeCopy } from './tree.js';

export interface RestoreOptions {
  /** The backup. */
  dir: string;
  home: Home;
  /** The LCC was stopped before it was copied, and does not run any more: cursors and sites go on. */
  moved: boolean;
}

/** Entries that a home may have before: settings for this machine, sockets. */
const MAY_BE_THERE = ['lcc.toml', 'run'];

/**
 * @returns what the backup has
 * @throws LccError `data.malformed` for what is no whole backup, `config` for one of a newer LCC,
 * `output.create` where an LCC or anything else is
 */
export async function restore({ dir, home, moved }: RestoreOptions): Promise<BackupFacts> {
  const facts = checkedFacts(dir, moved);
  if (!existsSync(home.dir)) {
    makeDirectoryDurably(home.dir, 0o750);
    giveTo(home.dir, statSync(dir));
  }
  const owner = ownerOf(home.dir, dir);
  if (makeDirectory(home.store, 0o750) !== undefined) giveTo(home.store, statSync(home.dir));
  const which = Date.parse(facts.began);
  if (restoringOf(home.db) !== which) {
    requireEmpty(
      home.dir,
      name => MAY_BE_THERE.includes(name) || resolve(home.dir, name) === resolve(home.store),
    );
    requireEmpty(home.store);
    markRestoring(home.db, which);
  }
  forgetNames(home.store);
  step('restore.begun');
  const tree = new TreeCopy(dir, home.dir, owner);
  const rest = tree.below('', path => !/^(?:store$|lcc\.db$)/.test(path) && path !== BACKUP_FILE);
  for (const path of rest) tree.file(path, false);
  step('restore.files.copied');
  if (existsSync(join(dir, 'store'))) {
    new TreeCopy(join(dir, 'store'), home.store, owner).below('', undefined, true);
    const names = join(home.store, 'names.db');
    makeFile(names, 0o640);
    new NamesDb(names).close();
  }
  await syncDisk(home.store);
  await syncDisk(home.dir);
  step('restore.content.copied');
  const draft = `${home.db}.restoring`;
  tree.file('lcc.db', false, undefined, draft);
  await syncDisk(home.dir);
  // An earlier try may have got further.
  for (const part of ['-wal', '-shm']) rmSync(home.db + part, { force: true });
  renameSync(draft, home.db);
  syncDirectory(home.dir);
  step('restore.database.named');
  if (moved) forgetMarks(home.db);
  return facts;
}

function checkedFacts(dir: string, moved: boolean): BackupFacts {
  const facts = readBackupFile(dir);
  if (facts === undefined)
    throw new LccError('data.malformed', `${dir}: no backup of an LCC; give what lccctl backup has made`);
  if (facts.ended === undefined)
    throw new LccError('data.malformed', `${dir}: a backup that was interrupted; take another one`);
  if (facts.schema > SCHEMA_VERSION)
    throw new LccError(
      'config',
      `${dir}: a backup of the newer LCC ${facts.version}; restore it with that one`,
    );
  if (moved && facts.live)
    throw new LccError(
      'config',
      `${dir}: made while the LCC ran, and lacks what came since; leave out --moved, or stop lccd and take another one`,
    );
  return facts;
}

/** The user of this home, where another one than in the backup: as on another machine. */
function ownerOf(home: string, dir: string): Owner | undefined {
  const [here, there] = [statSync(home), statSync(dir)];
  return here.uid === there.uid ? undefined : here;
}

/** A Bot Manager that was started between two tries has made a store of its own here. @throws LccError
 * `try.later` while it runs */
function forgetNames(store: string): void {
  const names = join(store, 'names.db');
  if (existsSync(names)) new NamesDb(names).close();
  for (const name of readdirSync(store)) if (OWN_FILES.test(name)) rmSync(join(store, name));
}

function requireEmpty(dir: string, mayBeThere: (name: string) => boolean = () => false): void {
  const found = readdirSync(dir).find(name => !mayBeThere(name));
  if (found !== undefined)
    throw new LccError(
      'output.create',
      `${join(dir, found)}: something is there; name an empty LCC_HOME, and an empty lccd.store where it has one`,
    );
}
