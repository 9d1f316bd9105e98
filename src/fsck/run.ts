/**
 * All checks, one after the other. What a check repairs the later ones find repaired: counters come last.
 *
 * Looking at an LCC that runs changes nothing and holds up nothing: every question is answered from one
 * snapshot, and what is suspected is looked for again, since the file may have been replaced meanwhile.
 * Repairing needs the locks of the Queue Manager and the Bot Manager.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isLeaving } from '../db/sqlite/aside.js';
import { FsckLook } from '../db/fsck-look.js';
import { forgetMarks } from '../db/sqlite/marks.js';
import { Repairs } from '../db/repairs.js';
import type { NamesDb } from '../db/names/names.js';
import { isDamage, openDatabase, START_EMPTY, type Db } from '../db/sqlite/open.js';
import { QueueStore } from '../db/queue/store.js';
import { finishSalvage, NOBODY_LEFT } from '../db/sqlite/salvage.js';
import { suspectDatabase } from '../db/sqlite/suspicion.js';
import { hasVanished, wentBack } from '../db/sqlite/restored.js';
import { readStoreMark } from '../db/names/store-mark.js';
import { TemporaryNames } from '../db/names/temporary-names.js';
import { LccError, messageOf } from '../lib/errors.js';
import { storeAlone } from './store-alone.js';
import { clearDatabase } from './clear.js';
import { content } from './content.js';
import { openChecked } from './database.js';
import { deletions, freeList } from './free-list.js';
import { openNames, whatIsWrong } from './names-database.js';
import { files } from './orphans.js';
import { spools } from './spools.js';
import { storeOf } from './lost-store.js';
import {
  remaining,
  type Check,
  type CheckContext,
  type Extent,
  type Finding,
  type FsckOptions,
} from './types.js';
import { disagreement, strayRows } from '../db/queue/sets-from-urls.js';
import { holderOf, isLocked, tryLock, type Lock } from '../lib/lock.js';
import { isOnReadOnlyDisk } from '../lib/sqlite-read.js';
import { checkSessions } from '../db/spools/sessions.js';

interface FsckTalk {
  found(finding: Finding): void;
  note(message: string): void;
  advance: ((count: number) => void) | undefined;
}

export interface FsckResult {
  found: number;
  repaired: number;
  /** Found and left, but within a repair's power. */
  repairable: number;
  extent: Extent;
  /** The store is not the one that rows point into; a finding says what to do. */
  storeIsStrange: boolean;
}

const CHECKS: readonly Check[] = [
  sets,
  sequence,
  content,
  deletions,
  files,
  freeList,
  counters,
  spools,
  spoolDatabases,
];

/**
 * @throws LccError `try.later` when a repair is asked for while the LCC runs, `input.missing` when there is
 *   none, `config` when the store is another machine's
 */
export async function runFsck(options: FsckOptions, talk: FsckTalk): Promise<FsckResult> {
  const result: FsckResult = {
    found: 0,
    repaired: 0,
    repairable: 0,
    extent: { rows: 0, elsewhere: 0, files: 0, bytes: 0, leaving: 0 },
    storeIsStrange: false,
  };
  const report = (finding: Finding) => {
    result.found++;
    if (finding.repaired) result.repaired++;
    else if (finding.remains !== true) result.repairable++;
    talk.found(finding);
  };
  for (const finding of clearDatabase({ ...options, note: message => talk.note(message) })) report(finding);
  if (options.repair && isLeaving(options.dbPath)) {
    const lock = lockQueue(options.dbPath);
    finishSalvage(options.dbPath);
    lock.release();
  }
  const vanished = hasVanished(options.dbPath);
  if (vanished !== undefined) {
    const repaired = options.repair && options.startEmpty;
    report({ ...remaining('database', options.dbPath, `${vanished}; ${START_EMPTY}`), repaired });
    if (!repaired) return result;
    forgetMarks(options.dbPath);
    openDatabase(options.dbPath).close();
    talk.note(NOBODY_LEFT);
  }
  if (!existsSync(options.dbPath)) {
    const isStore = readStoreMark(options.storeDir) !== undefined;
    if (!isStore && existsSync(join(options.clearDir, 'clear.db'))) return result;
    if (!isStore) throw new LccError('input.missing', `${options.dbPath}: there is none; lccd creates it`);
    talk.note('there is no lcc.db here: the store is checked by itself');
    for (const finding of storeAlone(options.storeDir, options.repair, result.extent)) report(finding);
    return result;
  }
  const known = new TemporaryNames();
  const lock = options.repair ? lockQueue(options.dbPath) : undefined;
  let names: NamesDb | undefined;
  let db: Db | undefined;
  try {
    db = openChecked(options, talk, report);
    if (db === undefined) return result;
    const old = wentBack(db, options.dbPath);
    if (old !== undefined)
      report({ ...remaining('database', options.dbPath, old), repaired: options.restored });
    // Files unknown to an older copy are not without an owner: the newer copy may be put back yet.
    if (old !== undefined && !options.restored) return result;
    const repairs = options.repair ? repairsOf(db, options) : undefined;
    if (options.recheck) repairs?.recheck();
    if (options.restored) repairs?.beginAnew();
    if (options.restored)
      talk.note('every provider is asked for a full set, every content user begins again');
    const { store, strange } = storeOf(options, db, repairs, { ...talk, report });
    result.storeIsStrange = strange !== undefined;
    const live = !options.repair && isServed(options.dbPath);
    names = store === undefined ? undefined : openNames(options, live, { ...talk, report });
    const context: CheckContext = {
      ...options,
      db,
      look: new FsckLook(db),
      repairs,
      live,
      machineId: store,
      strangeMachineId: strange,
      names,
      known,
      extent: result.extent,
      advance: talk.advance,
    };
    for (const check of CHECKS) for await (const finding of check(context)) report(finding);
    return result;
  } catch (error) {
    if (!isDamage(error)) throw error;
    const what = `damaged (${messageOf(error)}): not everything could be looked at`;
    report({ kind: 'database', where: options.dbPath, what, repaired: false });
    if (options.repair) suspectDatabase(options.dbPath);
    return result;
  } finally {
    known.close();
    names?.close();
    db?.close();
    lock?.release();
  }
}

function repairsOf(db: Db, { nowMs, shard }: FsckOptions): Repairs {
  const nowS = () => Math.floor(nowMs() / 1000);
  const store = new QueueStore(db, { nowS });
  return new Repairs(db, store, nowS, shard);
}

/** Counters of providers against what they count. */
function* counters({ look, repairs }: CheckContext): Generator<Finding> {
  const wrong = look.wrongCounts();
  repairs?.setCounts(wrong);
  for (const { pid, column, is, should } of wrong) {
    const what = `${column} is ${is}, the tables say ${should}`;
    yield { kind: 'counter', where: `provider ${pid}`, what, repaired: repairs !== undefined };
  }
}

/** Numbers of the change sequence that were not given out, or stand twice. */
export function* sequence({ look, live, repairs }: CheckContext): Generator<Finding> {
  let wrong = false;
  for (const { where, what } of live ? look.surely(() => look.wrongNumbers()) : look.wrongNumbers()) {
    wrong = true;
    yield { kind: 'sequence', where, what, repaired: repairs !== undefined };
  }
  if (wrong) repairs?.mendNumbers();
}

/** The sets of the queue (QPSDB) against its urls (QDB). */
export function* sets({ db, look, live, repairs }: CheckContext): Generator<Finding> {
  const wrong = () => wrongSets(db, repairs !== undefined);
  yield* live ? look.surely(wrong) : wrong();
  repairs?.rebuildSets();
}

function* wrongSets(db: Db, repaired: boolean): Generator<Finding> {
  for (const { pos, psetid, range } of strayRows(db)) {
    const what = `says it is of set ${psetid}, at a place of ${range === null ? 'no set' : `set ${range}`}`;
    yield { kind: 'set', where: `qdb ${pos}`, what, repaired };
  }
  // A set without urls is no fault: those of one that waits may have gone otherwise than by being fetched.
  const other = disagreement(db);
  if (other !== undefined) yield { kind: 'set', where: 'qpsdb', what: other, repaired };
}

/**
 * The lock against a start of the LCC: a repair holds it, and is refused while the LCC runs.
 * @throws LccError `try.later` when something has the database open
 */
function lockQueue(dbPath: string): Lock {
  const lock = tryLock(`${dbPath}.lock`);
  if (lock === undefined) {
    const holder = holderOf(`${dbPath}.lock`);
    const what = holder.startsWith('lccd') ? 'lccd' : 'that';
    throw new LccError('try.later', `${dbPath}: ${holder} has it open; stop ${what} before a repair`);
  }
  return lock;
}

/** True if the Queue Manager runs. */
function isServed(dbPath: string): boolean {
  // Nobody can take a lock on a disk that is read-only from here, nor ask for it.
  return !isOnReadOnlyDisk(dbPath) && isLocked(`${dbPath}.lock`);
}

/** The small database of the UNSes, below their spools: whether SQLite finds it sound. */
function* spoolDatabases({ unsSpoolDir }: CheckContext): Generator<Finding> {
  const path = join(unsSpoolDir, 'sessions.db');
  try {
    checkSessions(path);
  } catch (error) {
    if (!(error instanceof LccError) || error.code !== 'data.malformed') throw error;
    yield remaining('spool', 'spool/uns/sessions.db', whatIsWrong(path, error));
  }
}
