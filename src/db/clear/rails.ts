/** Rails, and whether each is up. */
import { LccError } from '../../lib/errors.js';
import { SqlStore } from '../sqlite/sql-store.js';

export type RailStored = 'UP' | 'DOWN';

/** A rail as the administrator set it up. */
export interface RailSetup {
  name: string;
  target: string;
  /** Absolute, ends with a slash. */
  url: string;
  driver: string;
  tier: number;
  workers: number;
  host: string | null;
  authRef: string | null;
  cleanup: 'exact' | 'wildcard';
  /** JSON, for its driver. */
  opts: string;
}

export interface RailRow extends RailSetup {
  state: RailStored;
  changeTimeMs: number;
  changedBy: 'admin' | 'cachebot';
  reason: string;
}

const SELECT = `SELECT name, target, url, driver, tier, workers, host, auth_ref AS authRef, cleanup, opts,
    state, change_time_ms AS changeTimeMs, changed_by AS changedBy, reason
  FROM rail JOIN rail_status ON rail = name`;

export class RailStore extends SqlStore {
  readonly #insert = this.sql.run<[rail: RailSetup]>(
    `INSERT INTO rail VALUES ($name, $target, $url, $driver, $tier, $workers, $host, $authRef, $cleanup, $opts)`,
  );
  readonly #update = this.sql.run<[rail: RailSetup]>(
    `UPDATE rail SET target = $target, url = $url, driver = $driver, tier = $tier, workers = $workers,
       host = $host, auth_ref = $authRef, cleanup = $cleanup, opts = $opts WHERE name = $name`,
  );
  readonly #remove = this.sql.changed<[name: string]>('DELETE FROM rail WHERE name = ?');
  readonly #targetKind = this.sql.value<[target: string], string>('SELECT kind FROM target WHERE name = ?');
  readonly #holderOf = this.sql.value<[url: string, name: string], string>(
    'SELECT name FROM rail WHERE url = ? AND name <> ?',
  );
  readonly #begin = this.sql.run<[name: string, nowMs: number]>(
    "INSERT INTO rail_status VALUES (?, 'UP', ?, 'admin', '')",
  );
  readonly #byAdmin = this.sql.changed<[state: RailStored, nowMs: number, reason: string, name: string]>(
    `UPDATE rail_status SET state = ?, change_time_ms = max(?, change_time_ms + 1), changed_by = 'admin', reason = ?
     WHERE rail = ?`,
  );
  readonly #byCachebot = this.sql.changed<[atMs: number, reason: string, name: string, beforeMs: number]>(
    `UPDATE rail_status SET state = 'DOWN', change_time_ms = ?, changed_by = 'cachebot', reason = ?
     WHERE rail = ? AND change_time_ms < ?`,
  );

  readonly all = this.sql.rows<[], RailRow>(`${SELECT} ORDER BY name`);

  readonly get = this.sql.row<[name: string], RailRow>(`${SELECT} WHERE name = ?`);

  /** @throws LccError `usage` when there is none of that name */
  demand(name: string): RailRow {
    const rail = this.get(name);
    if (rail === undefined) throw missing(name);
    return rail;
  }

  /** Adds a rail, which is UP. @throws LccError `usage` when its name or url is another's, or its target is
   * not elementary */
  add(rail: RailSetup, nowMs: number): void {
    if (this.get(rail.name) !== undefined)
      throw new LccError('usage', `there is a rail ${rail.name} already; lccrail set changes it`);
    this.#check(rail);
    this.#insert(rail);
    this.#begin(rail.name, nowMs);
  }

  /** @throws LccError `usage` when there is none of that name, or as `add` */
  change(name: string, changes: Partial<Omit<RailSetup, 'name'>>): void {
    const { state: _state, changeTimeMs: _ms, changedBy: _by, reason: _reason, ...setup } = this.demand(name);
    const rail = { ...setup, ...changes };
    this.#check(rail);
    this.#update(rail);
  }

  /** Forgets a rail with its backlog. @throws LccError `usage` when there is none of that name */
  remove(name: string): void {
    if (!this.#remove(name)) throw missing(name);
  }

  /** The administrator's word, later than whatever was said before. @throws LccError `usage` when there is
   * none of that name */
  setByAdmin(name: string, state: RailStored, nowMs: number, reason = ''): void {
    if (!this.#byAdmin(state, nowMs, reason, name)) throw missing(name);
  }

  /** Notes a finding of a daemon, unless something later is there. @returns whether it was written */
  setDown(name: string, atMs: number, reason: string): boolean {
    return this.#byCachebot(atMs, reason, name, atMs);
  }

  #check({ name, target, url }: RailSetup): void {
    const kind = this.#targetKind(target);
    if (kind === undefined)
      throw new LccError('usage', `rail ${name}: there is no target ${target}; lccrail target add makes one`);
    if (kind !== 'elementary')
      throw new LccError(
        'usage',
        `rail ${name}: target ${target} is a group; name one of its elementary targets`,
      );
    const holder = this.#holderOf(url, name);
    if (holder !== undefined)
      throw new LccError(
        'usage',
        `rail ${name}: ${url} is rail ${holder} already; another site on that server needs another name or address of it in --url, and its own --host`,
      );
  }
}

function missing(name: string): LccError {
  return new LccError('usage', `there is no rail ${name}; lccrail status lists them`);
}
