/** How a url stands at a provider, from all tables that know urls: point looks, one a table. */
import { opensAtMs, hoursOfSlots, type Slots } from '../../config/hours.js';
import { rootsAround, strictRootCheck } from '../../wire/roots.js';
import { canonicalUrl } from '../../wire/canonical-url.js';
import type { UrlDoor, UrlLife, UrlLifeRow } from '../../wire/url-life.js';
import { SqlStore } from '../sqlite/sql-store.js';
import { AS_SERVED } from '../../wire/url.js';
import { placesOf } from './folders.js';
import { CLASS_OF_ROW } from './row.js';
import { UrlStandings } from './url-standings.js';

/** Rows of one url at a provider. */
const MOST_TYPES = 16;
/** Providers that share a root are few. */
const MOST_PROVIDERS = 16;
const DOORS: readonly UrlDoor[] = ['owner', 'push', 'links', 'scan', 'audit', 'push'];

interface Waiting {
  mimetype: string;
  tries: number;
  slot: number;
  psetid: number;
  class: number;
  since: number | null;
}

interface Failed {
  mimetype: string;
  psetid: number;
  code: number;
  text: string;
  at: number;
}

type Known = Omit<UrlLife, 'state'>;

export class UrlLives extends SqlStore {
  readonly #standings = new UrlStandings(this.db, MOST_TYPES);
  readonly #withRoots = this.sql.values<[roots: string], number>(
    'SELECT DISTINCT pid FROM proots WHERE root IN (SELECT value FROM json_each(?)) ORDER BY pid',
  );
  readonly #roots = this.sql.values<[pid: number], string>('SELECT root FROM proots WHERE pid = ?');
  readonly #waiting = this.sql.rows<[pid: number, curl: string], Waiting>(
    `SELECT mimetype, tries, slot, coalesce(named, psetid) AS psetid, ${CLASS_OF_ROW} AS class,
       (SELECT absorbedat FROM qpsdb WHERE qpsdb.psetid = qdb.psetid LIMIT 1) AS since
     FROM qdb WHERE pos IN ${placesOf()} AND op = 1 LIMIT ${MOST_TYPES}`,
  );
  readonly #held = this.sql.rows<
    [pid: number, curl: string],
    { mimetype: string; seq: number; bytes: number; since: number; psetid: number; hops: number | null }
  >(
    `SELECT mimetype, seq, len AS bytes, fetched_time AS since, psetid, hops FROM lccurl WHERE pid = ? AND curl = ?
     LIMIT ${MOST_TYPES}`,
  );
  readonly #failed = this.sql.rows<[pid: number, curl: string], Failed>(
    `SELECT mimetype, psetid, code, text, at FROM failure WHERE pid = ? AND curl = ? LIMIT ${MOST_TYPES}`,
  );
  readonly #absent = this.sql.row<[pid: number, curl: string], NonNullable<UrlLifeRow['absent']>>(
    'SELECT code, asked, until FROM known WHERE pid = ? AND curl = ?',
  );
  readonly #set = this.sql.row<[psetid: number], { at: number; uns: string; full: number }>(
    'SELECT at, uns, isfull AS full FROM absorbed WHERE psetid = ?',
  );

  /** The life of a url at a provider, or at each with a root around it, ascending. An unknown url is looked
   * for in its canonical form, too. @param pid 0: of each @param stateOf state of a provider, for people */
  all(
    pid: number,
    url: string,
    at: { nowMs: number; slots: Slots },
    stateOf: (pid: number) => string,
  ): UrlLife[] {
    const found = (pid > 0 ? [pid] : this.#providersOf(url)).map(one => ({
      ...this.#of(one, url, at),
      pid: one,
    }));
    const curl = canonicalUrl(url)?.curl ?? url;
    if (curl !== url && found.every(({ rows }) => rows.length === 0)) return this.all(pid, curl, at, stateOf);
    return found.map(each => ({ ...each, state: stateOf(each.pid) }));
  }

  /** Providers with a root around a url, ascending. */
  #providersOf(url: string): number[] {
    return this.#withRoots(JSON.stringify(rootsAround(url)))
      .filter(pid => this.#rootOf(pid, url) !== null)
      .slice(0, MOST_PROVIDERS);
  }

  /** @param slots of the period, as the Queue Manager has it */
  #of(pid: number, curl: string, { nowMs, slots }: { nowMs: number; slots: Slots }): Known {
    const rows = new Map<string, UrlLifeRow>();
    const rowOf = (mimetype: string): UrlLifeRow => {
      let row = rows.get(mimetype);
      if (row === undefined) rows.set(mimetype, (row = emptyRow(mimetype)));
      return row;
    };
    for (const { mimetype, seq, bytes, since, psetid, hops } of this.#held(pid, curl)) {
      const row = rowOf(mimetype);
      row.held = { seq, bytes, since };
      row.announced = this.#announced(psetid, hops === null ? 'owner' : hops === 0 ? 'entry' : 'links');
    }
    for (const failed of this.#failed(pid, curl)) {
      const { mimetype, psetid, code, text, at } = failed;
      const row = rowOf(mimetype);
      row.failure = { code, text, at, received: true };
      if (psetid > 0) row.announced = this.#announced(psetid, 'owner');
    }
    for (const waiting of this.#waiting(pid, curl)) {
      const { mimetype, tries, slot, psetid, since } = waiting;
      const row = rowOf(mimetype);
      const opens = slot < 0 ? undefined : opensAtMs(hoursOfSlots([slot], slots), nowMs, slots);
      row.waiting = { tries, since, opens: opens === undefined ? null : Math.floor(opens / 1000) };
      row.announced = this.#announced(psetid, DOORS[waiting.class] ?? 'owner');
      // The CP hears of the last try alone.
      if (tries > 0 && row.failure !== null) row.failure.received = false;
    }
    for (const { mimetype, code, text } of this.#standings.unreceived(pid, curl).toReversed()) {
      const row = rowOf(mimetype);
      // An audit's finding of a change is no failure; failures from before they were remembered have no time.
      row.failure =
        row.failure === null
          ? { code, text, at: null, received: false }
          : { ...row.failure, received: row.failure.received && row.failure.code !== code };
    }
    for (const { mimetype, seq, at } of this.#standings.gone(pid, curl)) rowOf(mimetype).gone = { seq, at };
    const absent = this.#absent(pid, curl);
    if (absent !== undefined) rowOf([...rows.keys()][0] ?? AS_SERVED).absent = absent;
    return { pid, root: this.#rootOf(pid, curl), rows: [...rows.values()] };
  }

  #announced(psetid: number, door: UrlDoor): UrlLifeRow['announced'] {
    const set = this.#set(psetid);
    if (set === undefined) return { psetid, at: null, door, uns: null, full: false };
    return { psetid, at: set.at === 0 ? null : set.at, door, uns: set.uns, full: set.full === 1 };
  }

  /** The root that a url lies below. */
  #rootOf(pid: number, url: string): string | null {
    return this.#roots(pid).find(root => strictRootCheck([root])(url)) ?? null;
  }
}

function emptyRow(mimetype: string): UrlLifeRow {
  return { mimetype, announced: null, waiting: null, held: null, failure: null, gone: null, absent: null };
}
