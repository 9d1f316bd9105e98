/**
 * Two homes of one LCC side by side, as their Queue Managers have them, and a move between them; no engine.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { adopt } from '../../src/bm/adoption.js';
import { Store } from '../../src/bm/store.js';
import type { Move, MoveBook, MoveStage } from '../../src/db/engine/moves.js';
import { pack } from '../../src/db/moves/parcel.js';
import { QueueStore } from '../../src/db/queue/store.js';
import { raiseCounters } from '../../src/db/sqlite/counters.js';
import { openDatabase, type Db } from '../../src/db/sqlite/open.js';
import { systemClock } from '../../src/lib/clock.js';
import { DutyCycle } from '../../src/lib/duty-cycle.js';
import { silentLog, type Log } from '../../src/lib/log.js';
import { MachineErrands } from '../../src/qm/machine-errands.js';
import { Adoptions } from '../../src/qm/moves/adoptions.js';
import { Mover } from '../../src/qm/moves/mover.js';
import { Intake } from '../../src/qm/intake.js';
import type { AdoptRequest } from '../../src/wire/upkeep.js';
import { newDatabase } from './new-database.js';

/** Rows `move` and `pmdb` in a file. */
export class FileBook implements MoveBook {
  readonly #path: string;

  constructor(dir: string) {
    this.#path = join(dir, 'book.json');
  }

  read(): { move: Move | undefined; shard: number; state: string } {
    if (!existsSync(this.#path)) return { move: undefined, shard: 0, state: 'served' };
    return JSON.parse(readFileSync(this.#path, 'utf8')) as ReturnType<FileBook['read']>;
  }

  write(row: ReturnType<FileBook['read']>): void {
    writeFileSync(`${this.#path}.tmp`, JSON.stringify(row));
    renameSync(`${this.#path}.tmp`, this.#path);
  }

  ask(pid: number, dst: number): void {
    const { shard: src } = this.read();
    this.write({ move: { pid, src, dst, stage: 'asked', n: 0 }, shard: src, state: 'moving' });
  }

  of(): Promise<Move[]> {
    return Promise.resolve([this.read().move ?? []].flat());
  }

  reach(move: Move, stage: MoveStage): Promise<boolean> {
    const { move: now, shard } = this.read();
    if (now?.stage !== move.stage) return Promise.resolve(now?.stage === stage);
    if (stage === 'served') this.write({ move: undefined, shard, state: 'served' });
    else
      this.write({ move: { ...move, stage }, shard: stage === 'moved' ? move.dst : shard, state: 'moving' });
    return Promise.resolve(true);
  }
}

export interface HomeSide {
  db: Db;
  store: QueueStore;
  files: Store;
  mover: Mover;
}

export function md5Of(text: string): string {
  return createHash('md5').update(text).digest('hex');
}

interface HomeOptions {
  /** No Bot Manager of it is there. */
  isAway?: boolean;
  /** Called with what it warns of, and what it cannot do. */
  warned?: (event: string) => void;
}

/** Home N of a folder, with its Bot Manager's store. */
export function openHome(dir: string, shard: number, { isAway = false, warned }: HomeOptions = {}): HomeSide {
  const home = join(dir, String(shard));
  mkdirSync(home, { recursive: true });
  const clock = systemClock;
  const log: Log = warned === undefined ? silentLog : { ...silentLog, warn: warned, error: warned };
  const db = newDatabase(join(home, 'lcc.db'));
  raiseCounters(db, shard);
  const nowS = () => Math.floor(clock.nowMs() / 1000);
  const store = new QueueStore(db, { errorsKept: 1000, nowS });
  const fail = (error: unknown): void => {
    throw error;
  };
  const files = new Store({
    dir: join(home, 'store'),
    machineId: 'm1',
    graceMs: 60_000,
    blockNames: 16,
    minFree: { percent: 0, bytes: 0, whose: 'bm' },
    attemptMs: 60_000,
    clock,
    log,
    fail,
  });
  let lastId = 0;
  const errands = new MachineErrands(() => ++lastId);
  const adoptions = new Adoptions({ clock, log, errands, patienceMs: 100 });
  const target = {
    delete: () => undefined,
    upkeep(request: unknown): void {
      const asked = request as AdoptRequest;
      void adopt(files, asked).then(done => errands.answered(target, 'adopt', { id: asked.id, ...done }));
    },
  };
  if (!isAway) errands.setMachines(target, ['m1']);
  const failed = (error: unknown): boolean => {
    fail(error);
    return false;
  };
  const intake = new Intake({
    duty: new DutyCycle<number>(clock),
    store,
    clock,
    log,
    fuse: { percent: 100, urls: 0 },
    sliceUrls: 1000,
    fullSetPeriodMs: 1e9,
    isFetching: () => false,
    pagesWritten: () => 0,
    onSet: () => undefined,
    onCommit: () => undefined,
  });
  const book = new FileBook(dir);
  const mover = new Mover({
    book,
    shipped: () => Promise.resolve(1),
    async pack({ pid, src }, file) {
      const copy = `${file}.db`;
      const from = openDatabase(join(dir, String(src), 'lcc.db'));
      await from.backup(copy);
      from.close();
      pack(copy, file, { pid, src });
    },
    shard,
    lookMs: 5,
    dir: join(home, 'moves'),
    store,
    dispatcher: { isAtRest: () => true, reload: () => undefined },
    intake,
    adoptions,
    kept: { shipped: () => Promise.resolve() },
    clock,
    log,
    onCommit: () => undefined,
    failed,
  });
  return { db, store, files, mover };
}

export async function closeHome({ db, files, mover }: HomeSide): Promise<void> {
  await mover.stop();
  files.close();
  db.close();
}
