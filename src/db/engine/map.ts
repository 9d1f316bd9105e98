/**
 * The map of an LCC that is several homes (the documents' PMDb): which home has which provider. A number is
 * taken here before a home has the provider, and freed when the home has nothing of it any more.
 */
import type { Engine, EngineLane } from './engine.js';
import type { EngineSession } from './session.js';

export type LocatedState = 'served' | 'moving';

/** Where a provider is. */
export interface Located {
  shard: number;
  state: LocatedState;
}

/** A home, as front ends need it. */
export interface OwnedHome {
  shard: number;
  epoch: number;
  /** A machine; '' for none. */
  owner: string;
}

/** A home, as `lccmap list` shows it. */
export interface MappedHome extends OwnedHome {
  /** True if it takes new providers. */
  isOpen: boolean;
  providers: number;
  moving: number;
}

/** Rows that one statement is about, at most. */
const ROWS = 1000;

export class ProviderMap {
  readonly #lane: EngineLane;
  /** A look for owners does not wait for those for providers. */
  readonly #owners: EngineLane;

  constructor(engine: Engine) {
    this.#lane = engine.lane();
    this.#owners = engine.lane();
  }

  /** Homes and their owners, as the node that is asked has them. */
  homes(stop: AbortSignal): Promise<OwnedHome[]> {
    return this.#owners.run(
      session => session.all<OwnedHome>('SELECT shard, epoch, owner FROM home ORDER BY shard'),
      stop,
    );
  }

  /** Where providers are, as the node that is asked has it; those that no home has are missing. */
  async find(pids: readonly number[], stop: AbortSignal): Promise<Map<number, Located>> {
    const found = new Map<number, Located>();
    for (let i = 0; i < pids.length; i += ROWS) {
      const some = pids.slice(i, i + ROWS);
      for (const { pid, shard, state } of await this.#lane.run(session => rowsOf(session, some), stop))
        found.set(pid, { shard, state });
    }
    return found;
  }

  /**
   * Takes numbers for a home; one that it has already is its own.
   * @returns those that were free, and which home has each of the others
   */
  async take(
    pids: readonly number[],
    shard: number,
    stop: AbortSignal,
  ): Promise<{ taken: number[]; elsewhere: Map<number, number> }> {
    const taken: number[] = [];
    const elsewhere = new Map<number, number>();
    for (let i = 0; i < pids.length; i += ROWS) {
      const some = pids.slice(i, i + ROWS);
      const [before, after] = await this.#lane.run(async session => {
        const had = await rowsOf(session, some, 'synced');
        const free = some.filter(pid => !had.some(row => row.pid === pid));
        if (free.length === 0) return [had, had];
        const values = free.map(() => "(?, ?, 'served')").join();
        // Another home may take one in the same moment: then it has the row.
        await session.change(
          `INSERT IGNORE INTO pmdb VALUES ${values}`,
          ...free.flatMap(pid => [pid, shard]),
        );
        return [had, await rowsOf(session, some)];
      }, stop);
      for (const { pid, shard: of } of after)
        if (of !== shard) elsewhere.set(pid, of);
        else if (!before.some(row => row.pid === pid)) taken.push(pid);
    }
    return { taken, elsewhere };
  }

  /** The lowest of the numbers from `from` up to and without `end` that no home has. */
  async firstFree(from: number, end: number, count: number, stop: AbortSignal): Promise<number[]> {
    const free: number[] = [];
    for (let at = from; at < end && free.length < count; at += ROWS) {
      const some = Array.from({ length: Math.min(ROWS, end - at) }, (_, i) => at + i);
      const had = await this.find(some, stop);
      free.push(...some.filter(pid => !had.has(pid)));
    }
    return free.slice(0, count);
  }

  /** Gives back numbers that a home has nothing of any more. */
  async free(pids: readonly number[], shard: number, stop: AbortSignal): Promise<void> {
    for (let i = 0; i < pids.length; i += ROWS) {
      const some = pids.slice(i, i + ROWS);
      const sql = `DELETE FROM pmdb WHERE shard = ? AND state = 'served' AND pid IN (${marks(some)})`;
      await this.#lane.run(session => session.change(sql, shard, ...some), stop);
    }
  }

  /** Numbers that a home has, above one, in their order. */
  of(shard: number, after: number, stop: AbortSignal): Promise<number[]> {
    const sql = `SELECT pid FROM pmdb WHERE shard = ? AND pid > ? ORDER BY pid LIMIT ${ROWS}`;
    return this.#lane.run(
      async session => (await session.all<{ pid: number }>(sql, shard, after)).map(({ pid }) => pid),
      stop,
    );
  }

  /** All homes, as the whole engine has them. */
  async list(stop: AbortSignal): Promise<MappedHome[]> {
    const rows = await this.#lane.run(
      session =>
        session.allSynced<Omit<MappedHome, 'isOpen'> & { open: number }>(
          `SELECT home.shard, epoch, owner, open, count(pid) AS providers, CAST(coalesce(sum(state = 'moving'), 0) AS SIGNED) AS moving
           FROM home LEFT JOIN pmdb ON pmdb.shard = home.shard GROUP BY home.shard, epoch, owner, open ORDER BY home.shard`,
        ),
      stop,
    );
    return rows.map(({ open, ...home }) => ({ ...home, isOpen: open === 1 }));
  }

  /** Has a home take new providers, or none any more. @returns false where there is no such home */
  setOpen(shard: number, isOpen: boolean, stop: AbortSignal): Promise<boolean> {
    return this.#lane.run(async session => {
      await session.change('UPDATE home SET open = ? WHERE shard = ?', isOpen ? 1 : 0, shard);
      return (await session.all('SELECT 1 FROM home WHERE shard = ?', shard)).length > 0;
    }, stop);
  }
}

type Row = Located & { pid: number };

function rowsOf(session: EngineSession, pids: readonly number[], how?: 'synced'): Promise<Row[]> {
  const sql = `SELECT pid, shard, state FROM pmdb WHERE pid IN (${marks(pids)})`;
  return how === 'synced' ? session.allSynced<Row>(sql, ...pids) : session.all<Row>(sql, ...pids);
}

function marks(values: readonly unknown[]): string {
  return values.map(() => '?').join();
}
