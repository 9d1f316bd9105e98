/** A home in the engine as `lcckeep` makes it, shows it and takes it away. */
import { randomUUID } from 'node:crypto';
import { LEDGER_NAMES } from '../../config/kept.js';
import { LccError } from '../../lib/errors.js';
import type { Engine, EngineLane } from './engine.js';
import { LOOK, type LeaseLook } from './lease-rows.js';
import type { FileState } from './ledger.js';
import { MAKE_TABLES } from './tables.js';

interface StandbyRow {
  machine: string;
  behind: number;
  /** Seconds since it said so. */
  age: number;
}

/** A standby that has said nothing for longer is away. */
const AWAY_S = 10;
/** Shipped meanwhile to one that has all but that: it is copied within the time of a takeover. */
const NEWS_BYTES = 1 << 20;

export function standbyState({ behind, age }: StandbyRow): 'complete' | 'partial' | 'away' {
  if (age >= AWAY_S) return 'away';
  return behind <= NEWS_BYTES ? 'complete' : 'partial';
}

/** A home in the engine; `home` is undefined where it has nothing. */
export interface HomeState {
  home: LeaseLook | undefined;
  files: readonly (FileState & { name: string })[];
  standbys: readonly StandbyRow[];
}

const ROWS = ['home', 'pulse', 'standby', 'file'] as const;
const SLICE = 16;
/** Shipments that an older engine may have had after what is known. */
const AHEAD = 1_000_000;

/** @param engine by an account that may make tables */
export async function makeTables(engine: Engine, stop: AbortSignal): Promise<void> {
  await engine.lane().run(async session => {
    for (const sql of MAKE_TABLES) await session.change(sql);
  }, stop);
}

export class HomeRows {
  readonly #lane: EngineLane;
  readonly #shard: number;

  constructor(engine: Engine, shard: number) {
    this.#lane = engine.lane();
    this.#shard = shard;
  }

  state(stop: AbortSignal): Promise<HomeState> {
    const of = (columns: string, table: string) => `SELECT ${columns} FROM ${table} WHERE shard = ?`;
    return this.#lane.run(async session => {
      const [home] = await session.allSynced<LeaseLook>(LOOK, this.#shard);
      const files = await session.all<HomeState['files'][number]>(
        of('name, epoch, n, pos, base', 'file'),
        this.#shard,
      );
      const standbys = await session.all<StandbyRow>(
        of('*, CAST(UNIX_TIMESTAMP() AS SIGNED) - CAST(at AS SIGNED) AS age', 'standby'),
        this.#shard,
      );
      // The row of a machine that has taken over is of before.
      return { home, files, standbys: standbys.filter(({ machine }) => machine !== home?.owner) };
    }, stop);
  }

  /**
   * The home of this machine becomes what the engine has, from its first base on; what was there counts no
   * more.
   * @param isAgain although there is one
   * @param seen the highest numbers that this machine has seen: what is noted or copied anywhere is less
   * than what comes now
   * @throws LccError `data.refused` when there is one
   */
  async record(
    machine: string,
    isAgain: boolean,
    seen: { epoch: number; n: number },
    stop: AbortSignal,
  ): Promise<void> {
    await this.#lane.run(async session => {
      const homes = await session.allSynced<{
        shard: number;
        lcc: string;
        epoch: number;
        owner: string;
        open: number;
      }>('SELECT shard, lcc, epoch, owner, open FROM home');
      const there = homes.find(({ shard }) => shard === this.#shard);
      if (there !== undefined && !isAgain)
        throw new LccError(
          'data.refused',
          `the engine has shard ${this.#shard} already, owned by ${there.owner || 'no machine'}; lcckeep init --again has this home take its place`,
        );
      const files = await session.all<{ n: number }>('SELECT n FROM file WHERE shard = ?', this.#shard);
      const last = Math.max(seen.n, ...files.map(({ n }) => n));
      const n = last === 0 ? 0 : last + AHEAD;
      const next = Math.max(seen.epoch, there?.epoch ?? 0) + 1;
      const lcc = homes[0]?.lcc ?? randomUUID();
      // One that is added to others takes no new providers until lccmap add-shard.
      const open = there?.open ?? (homes.length === 0 ? 1 : 0);
      await session.change('REPLACE INTO home VALUES (?, ?, ?, ?, ?)', this.#shard, lcc, next, machine, open);
      await session.change('REPLACE INTO pulse VALUES (?, ?, 1)', this.#shard, next);
      for (const name of LEDGER_NAMES)
        await session.change("REPLACE INTO file VALUES (?, ?, ?, ?, 0, '', 0)", this.#shard, name, next, n);
    }, stop);
  }

  /** Removes all that the engine has of this home; first what could be claimed. */
  async remove(stop: AbortSignal): Promise<void> {
    await this.#lane.run(async session => {
      for (const table of ROWS) await session.change(`DELETE FROM ${table} WHERE shard = ?`, this.#shard);
    }, stop);
    for (const table of ['log', 'base']) {
      const sql = `DELETE FROM ${table} WHERE shard = ? LIMIT ${SLICE}`;
      while ((await this.#lane.run(session => session.change(sql, this.#shard), stop)) > 0);
    }
  }
}
