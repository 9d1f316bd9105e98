/**
 * Checksums of what providers are served by: password, terms, roots and login, one sum for all of it. A provider that does
 * not agree with its sum is not served until its operator has looked (`lccpidb set --confirm`): nobody else knows which of
 * it is wrong.
 *
 * A provider without a sum is believed: it was written with SQL (triggers take the sum away), or by an older LCC. It gets
 * one from the next Queue Manager that looks.
 */
import { crc32 } from 'node:zlib';
import type { Db } from './open.js';
import { pagesByNumber } from './paging.js';

/** Of pidb, in the order in which they are summed: sums that are stored keep it as it is. */
export const SUMMED = [
  'password',
  'enabled',
  'filesmax',
  'spacemax',
  'fullsetsallowed',
  'bandwidth',
  'timeofday',
  'priority',
  'parallel',
  'enforce',
  'paused',
  'fusepercent',
  'fuseurls',
  'maxlen',
  'fetchtimeout',
  'useragent',
] as const;

/** A provider, its sum, and what is summed. quote() tells a text from a blob, which a damaged root may be. */
const COLUMNS = [
  'pidb.pid',
  'sum',
  ...SUMMED.map(column => `pidb.${column}`),
  '(SELECT group_concat(quote(root)) FROM (SELECT root FROM proots WHERE proots.pid = pidb.pid ORDER BY root))',
  'login',
];

/**
 * A statement that reads providers, for `stateOf`, and other columns of them behind that: one statement, for every
 * snapshot of a database that is being written has its price.
 */
export function selectTerms(more: readonly string[] = []): string {
  return `SELECT ${[...COLUMNS, ...more].join(', ')}
    FROM pidb LEFT JOIN sitelogin USING (pid) LEFT JOIN pidbsum USING (pid)`;
}
const ALL = selectTerms();

/** A row of `selectTerms`, raw. */
export type TermsRow = [pid: number, sum: number | null, ...terms: unknown[]];

/** What the columns of a `TermsRow` are called; undefined for those that are only summed. What was added follows. */
export const TERMS_ROW: readonly (string | undefined)[] = ['pid', undefined, ...SUMMED, undefined, undefined];

/** Where each of them is in a row. */
const PLACES: Record<string, number> = Object.fromEntries(SUMMED.map((name, i) => [name, i + 2]));

/** `unsummed`: believed. `damaged`: also where there is a sum and no provider. */
export type TermsState = 'sound' | 'unsummed' | 'damaged';

/** Providers looked at in one page. */
const PAGE_ROWS = 200;

const sumOf = (row: TermsRow) => crc32(JSON.stringify([row[0], ...row.slice(2, COLUMNS.length)])) | 0;

/** What a row is, its sum says. */
export function stateOf(row: TermsRow): TermsState {
  if (row[1] === null) return 'unsummed';
  return row[1] === sumOf(row) ? 'sound' : 'damaged';
}

export class Terms {
  readonly #one;
  readonly #page;
  readonly #hasSum;
  readonly #write;
  readonly #lost;
  /** As they were found, and not damaged. */
  readonly #known = new Map<number, TermsRow>();

  constructor(db: Db) {
    this.#one = db.prepare<[number], TermsRow>(`${ALL} WHERE pidb.pid = ?`).raw();
    this.#page = db
      .prepare<[number, number], TermsRow>(`${ALL} WHERE pidb.pid > ? ORDER BY pidb.pid LIMIT ?`)
      .raw();
    this.#hasSum = db.prepare<[number], number>('SELECT 1 FROM pidbsum WHERE pid = ?').pluck();
    this.#write = db.prepare<[number, number]>('INSERT OR REPLACE INTO pidbsum VALUES (?, ?)');
    this.#lost = db
      .prepare<[], number>('SELECT pid FROM pidbsum WHERE pid NOT IN (SELECT pid FROM pidb) ORDER BY pid')
      .pluck();
  }

  /** Undefined where there is nothing of the provider. */
  state(pid: number): TermsState | undefined {
    const row = this.#one.get(pid);
    if (row !== undefined) {
      const state = stateOf(row);
      if (state !== 'damaged') this.#known.set(pid, row);
      return state;
    }
    return this.#hasSum.get(pid) === undefined ? undefined : 'damaged';
  }

  /**
   * Whether terms that were read by themselves can be believed: the provider is looked at whole only when they are others
   * than last time.
   */
  believes(pid: number, read: Partial<Record<(typeof SUMMED)[number], unknown>>): boolean {
    const known = this.#known.get(pid);
    if (
      known !== undefined &&
      Object.entries(read).every(([name, value]) => known[PLACES[name] ?? 0] === value)
    )
      return true;
    return this.state(pid) !== 'damaged';
  }

  /** Providers whose state is not `sound`, a page at a time: one may have none. */
  *remarkable(): Generator<{ pid: number; state: TermsState }[], void> {
    yield this.#lost.all().map(pid => ({ pid, state: 'damaged' }));
    const pages = pagesByNumber(
      after => this.#page.all(after, PAGE_ROWS),
      ([pid]) => pid,
    );
    for (const rows of pages)
      yield rows.map(row => ({ pid: row[0], state: stateOf(row) })).filter(({ state }) => state !== 'sound');
  }

  /** What is there now is right. Inside a transaction. */
  confirm(pid: number): void {
    const row = this.#one.get(pid);
    if (row !== undefined) this.#write.run(pid, sumOf(row));
  }

  /** Changes a provider. One that was damaged stays so: what else of it is wrong, nobody has said. Inside a transaction. */
  change(pid: number, change: () => void): void {
    const wasDamaged = this.state(pid) === 'damaged';
    change();
    const row = this.#one.get(pid);
    if (row !== undefined) this.#write.run(pid, wasDamaged ? ~sumOf(row) : sumOf(row));
  }
}

/** What whoever is told that a provider is damaged may do. */
export function adviceOn(pid: number): string {
  return `what is kept of provider ${pid} does not agree with its checksum, so it is not served; look at lccpidb show --pid=${pid}, put right what is wrong, then lccpidb set --pid=${pid} --confirm`;
}
