/**
 * The ledger in MariaDB. Every transaction that writes begins with the fence, an update of row `file` that
 * finds it for the owner of one epoch only (docs/design/keeping.md).
 */
import type { LedgerName } from '../../config/kept.js';
import { step } from '../../lib/steps.js';
import { Lagging, type Engine, type EngineLane, type Work } from './engine.js';
import type { FileState, Ledger, Shipment, Shipped } from './ledger.js';
import type { EngineSession, SqlValue } from './session.js';

/** Pieces in one transaction, at most. */
const MAX_TRANSACTION_BYTES = 16 * 1024 * 1024;
/** Rows that are read or removed at a time: of up to a MiB each. */
const SLICE = 32;

const OF_FILE = 'shard = ? AND name = ?';

/** Pieces that go in one transaction; the number of the first. */
interface Group {
  k: number;
  pieces: Buffer[];
  bytes: number;
}

export class EngineLedger implements Ledger {
  readonly #engine: Engine;
  readonly #shard: number;
  /** A base does not delay a shipment, nor one database another. */
  readonly #lanes = new Map<string, EngineLane>();
  /** Databases of which the engine has no pieces but of shipments that count. */
  readonly #tidy = new Set<LedgerName>();

  constructor(engine: Engine, shard: number) {
    this.#engine = engine;
    this.#shard = shard;
  }

  state(name: LedgerName, stop: AbortSignal): Promise<FileState | undefined> {
    return this.#lane('read', name).run(session => this.#look(session, name), stop);
  }

  /**
   * The state from which the owner goes on. No shipment of a keeper before it, whatever became of that one,
   * counts after it: its transaction has locked the row, or is refused. A row that an older `lcckeep init`
   * did not know of is made.
   */
  async take(name: LedgerName, epoch: number, stop: AbortSignal): Promise<FileState | undefined> {
    const fence = () => this.#fenced(this.#lane('ship', name), name, epoch, async () => undefined, stop);
    if ((await fence()) === 'lost') {
      // Fenced by the row of the home's first database: a claim raises the epoch of those that it finds.
      const add: Work<unknown> = session =>
        session.change("INSERT IGNORE INTO file VALUES (?, ?, ?, 0, 0, '', 0)", this.#shard, name, epoch);
      if ((await this.state(name, stop)) === undefined)
        await this.#fenced(this.#lane('ship', 'lcc'), 'lcc', epoch, add, stop);
      // The row is there now, made here or by another that takes it at this moment.
      if ((await fence()) === 'lost') return undefined;
    }
    return this.state(name, stop);
  }

  /** Bytes that a copy has yet to read: of shipments after `n`; of a base and its log where it has none. */
  async bytesAfter(
    name: LedgerName,
    base: number,
    n: number | undefined,
    stop: AbortSignal,
  ): Promise<number> {
    const sum = (table: string, which: string) =>
      `(SELECT COALESCE(SUM(LENGTH(data)), 0) FROM ${table} WHERE ${OF_FILE} AND ${which})`;
    const sql = `SELECT ${sum('log', 'n > ?')} + ${sum('base', 'base = ?')} AS bytes`;
    const of = [this.#shard, name];
    // No base has number 0.
    const values = [...of, n ?? base, ...of, n === undefined ? base : 0];
    const rows = await this.#lane('read', name).run(
      session => session.all<{ bytes: number }>(sql, ...values),
      stop,
    );
    return rows[0]?.bytes ?? 0;
  }

  async ship({ name, n, pos, pieces }: Shipment, epoch: number, stop: AbortSignal): Promise<Shipped> {
    const lane = this.#lane('ship', name);
    const put = async (session: EngineSession, { k, pieces: some }: Group) => {
      for (const [i, data] of some.entries())
        await session.change('REPLACE INTO log VALUES (?, ?, ?, ?, ?)', this.#shard, name, n, k + i, data);
    };
    if (!this.#tidy.delete(name) && (await this.#remove('log', 'n >= ?', n, name, epoch, stop)) === 'lost')
      return 'lost';
    let group: Group = { k: 0, pieces: [], bytes: 0 };
    for await (const piece of pieces) {
      if (group.bytes > 0 && group.bytes + piece.length > MAX_TRANSACTION_BYTES) {
        const full = group;
        if ((await this.#fenced(lane, name, epoch, session => put(session, full), stop)) === 'lost')
          return 'lost';
        group = { k: full.k + full.pieces.length, pieces: [], bytes: 0 };
      }
      group.pieces.push(piece);
      group.bytes += piece.length;
    }
    const shipped = await lane.run<Shipped>(async session => {
      const move = `UPDATE file SET n = ?, pos = ?, part = 0 WHERE ${OF_FILE} AND epoch = ? AND n = ?`;
      if ((await session.change(move, n, pos, this.#shard, name, epoch, n - 1)) > 0) {
        await put(session, group);
        return 'done';
      }
      const there = await this.#lookAgain(session, name);
      if (there?.epoch !== epoch) return 'lost';
      // Only the answer was lost.
      if (there.n === n && there.pos === pos) return 'done';
      if (there.n >= n) return 'lost';
      throw new Lagging(`${name}: shipment ${n} after ${there.n}`);
    }, stop);
    if (shipped === 'done') this.#tidy.add(name);
    return shipped;
  }

  async putBlock(
    name: LedgerName,
    base: number,
    i: number,
    data: Buffer,
    epoch: number,
    stop: AbortSignal,
  ): Promise<Shipped> {
    // Blocks of one that was begun under this number, and never counted.
    if (i === 0 && (await this.#remove('base', 'base = ?', base, name, epoch, stop)) === 'lost')
      return 'lost';
    const put: Work<unknown> = session =>
      session.change('REPLACE INTO base VALUES (?, ?, ?, ?, ?)', this.#shard, name, base, i, data);
    return this.#fenced(this.#lane('base', name), name, epoch, put, stop);
  }

  async completeBase(name: LedgerName, base: number, epoch: number, stop: AbortSignal): Promise<Shipped> {
    const note: Work<unknown> = session =>
      session.change(`UPDATE file SET base = ? WHERE ${OF_FILE}`, base, this.#shard, name);
    if ((await this.#fenced(this.#lane('base', name), name, epoch, note, stop)) === 'lost') return 'lost';
    step('keep.base.noted');
    if ((await this.#remove('base', 'base <> ?', base, name, epoch, stop)) === 'lost') return 'lost';
    if ((await this.#remove('log', 'n <= ?', base, name, epoch, stop)) === 'lost') return 'lost';
    step('keep.base.old-removed');
    return 'done';
  }

  async *base(name: LedgerName, base: number, stop: AbortSignal): AsyncIterable<{ i: number; data: Buffer }> {
    const which = `SELECT i, data FROM base WHERE ${OF_FILE} AND base = ? AND i >= ? ORDER BY i`;
    let rows: { i: number; data: Buffer }[] = [];
    do {
      const next = (rows.at(-1)?.i ?? -1) + 1;
      rows = await this.#slice(which, name, [base, next], stop);
      yield* rows;
    } while (rows.length > 0);
  }

  async *log(
    name: LedgerName,
    after: number,
    last: number,
    stop: AbortSignal,
  ): AsyncIterable<{ n: number; k: number; data: Buffer }> {
    const which = `SELECT n, k, data FROM log
      WHERE ${OF_FILE} AND n <= ? AND ((n = ? AND k > ?) OR n > ?) ORDER BY n, k`;
    let rows: { n: number; k: number; data: Buffer }[] = [];
    let [n, k] = [after, Number.MAX_SAFE_INTEGER];
    do {
      rows = await this.#slice(which, name, [last, n, k, n], stop);
      yield* rows;
      ({ n, k } = rows.at(-1) ?? { n, k });
    } while (rows.length > 0);
  }

  #slice<T>(sql: string, name: LedgerName, values: readonly SqlValue[], stop: AbortSignal): Promise<T[]> {
    const limited = `${sql} LIMIT ${SLICE}`;
    return this.#lane('read', name).run(
      session => session.allSynced<T>(limited, this.#shard, name, ...values),
      stop,
    );
  }

  /** First in its transaction: with all that any node has committed. */
  async #look(session: EngineSession, name: LedgerName): Promise<FileState | undefined> {
    const sql = `SELECT epoch, n, pos, base FROM file WHERE ${OF_FILE}`;
    return (await session.allSynced<FileState>(sql, this.#shard, name))[0];
  }

  async #lookAgain(session: EngineSession, name: LedgerName): Promise<FileState | undefined> {
    await session.change('ROLLBACK');
    return this.#look(session, name);
  }

  /** A transaction that does not move n. */
  #fenced(
    lane: EngineLane,
    name: LedgerName,
    epoch: number,
    work: Work<unknown>,
    stop: AbortSignal,
  ): Promise<Shipped> {
    return lane.run<Shipped>(async session => {
      const fence = `UPDATE file SET part = part + 1 WHERE ${OF_FILE} AND epoch = ?`;
      if ((await session.change(fence, this.#shard, name, epoch)) > 0) {
        await work(session);
        return 'done';
      }
      if ((await this.#lookAgain(session, name))?.epoch !== epoch) return 'lost';
      throw new Lagging(`${name}: an older epoch`);
    }, stop);
  }

  /** Removes rows of a database in slices, each a transaction of its own. */
  async #remove(
    table: 'base' | 'log',
    which: string,
    value: number,
    name: LedgerName,
    epoch: number,
    stop: AbortSignal,
  ): Promise<Shipped> {
    const order = table === 'log' ? 'n, k' : 'base, i';
    const sql = `DELETE FROM ${table} WHERE ${OF_FILE} AND ${which} ORDER BY ${order} LIMIT ${SLICE}`;
    for (;;) {
      let removed = 0;
      const work = async (session: EngineSession) => {
        removed = await session.change(sql, this.#shard, name, value);
      };
      if ((await this.#fenced(this.#lane('base', name), name, epoch, work, stop)) === 'lost') return 'lost';
      if (removed === 0) return 'done';
    }
  }

  #lane(what: 'ship' | 'base' | 'read', name: LedgerName): EngineLane {
    const key = `${what} ${name}`;
    const lane = this.#lanes.get(key) ?? this.#engine.lane();
    this.#lanes.set(key, lane);
    return lane;
  }
}
