/** PIDB, the provider information database: what lccpidb reads and writes. What the UNS reads of it:
 * pidb-reader.ts. */
import { LccError } from '../../lib/errors.js';
import { NO_PASSWORD } from '../../lib/password.js';
import type { Db } from '../sqlite/open.js';
import { Sql } from '../sqlite/sql-store.js';
import { isInteger, isIntegerOrNull, isText, isTextOrNull, rowReader } from '../sqlite/row-checks.js';
import { SiteLogins } from './site-logins.js';

export { removeProvider } from './removal.js';

/** Terms that an operator gives a provider. */
export interface ProviderTerms {
  enabled: boolean;
  filesmax: number;
  /** Bytes. */
  spacemax: number;
  /** Unsolicited full sets within qm.full_set_period_ms. */
  fullsetsallowed: number;
  /** Bytes per second, 0 = unlimited. */
  bandwidth: number;
  /** 24 or 168 characters 0/1, '' = always. */
  timeofday: string;
  /** 0 to 2; 2 first. */
  priority: number;
  /** Urls fetched at a time. */
  parallel: number;
  /** Announced md5 and len must be met. */
  enforce: boolean;
  /** The mass-delete fuse: share and number of urls; null = qm.fuse_percent, qm.fuse_urls. */
  fusepercent: number | null;
  fuseurls: number | null;
  /** Limits of one fetch, where tighter than the robot's own: bytes, milliseconds; null =
   * bot.max_content_bytes, bot.total_timeout_ms. */
  maxlen: number | null;
  fetchtimeout: number | null;
  /** User-Agent that its site receives; null = bot.user_agent. */
  useragent: string | null;
  /** Milliseconds between the end of one fetch and the beginning of the next; null = qm.pace_ms. */
  pacems: number | null;
  /** True if urls that its pages link to are fetched, too. */
  spider: boolean;
  /** Providers of one name share qm.group_lanes; null = none. */
  groupname: string | null;
  /** True if its pages are asked for again now and then; null = as spider. */
  scan: boolean | null;
  /** Urls a day that a scan may ask for; null = links.scan_per_day, links.scan_percent_per_day. */
  scanperday: number | null;
  /** The doors by which something may be pushed, as a list with commas; '' = none. */
  push: string;
}

/** Counters of the QM. */
interface ProviderCounters {
  filesused: number;
  spaceused: number;
  nurlerrs: number;
  nurlproc: number;
  lastconnseq: number;
  lastconnip: string;
  /** The reason, null when none is wanted. */
  fullsetwanted: string | null;
  fullsetsused: number;
  /** Seconds since 1970. */
  fullsetssince: number;
  /** When its last set was absorbed, when its CP last connected; 0 = never. */
  lastset: number;
  lastconntime: number;
  /** 1: the operator stopped fetching from it. */
  paused: number;
  /** Failures of its site as a whole, one after the other, and the time before which it is left alone. */
  backoffs: number;
  backoffuntil: number;
  /** No fetch before this time, for its bandwidth: milliseconds since 1970. */
  dueat: number;
  /** Time at which the content of a provider that leaves is removed; null = it stays. */
  leaveat: number | null;
}

export interface Provider extends ProviderTerms, ProviderCounters {
  pid: number;
  /** rs: it registered by itself. */
  origin: 'operator' | 'rs';
  /** Generation of its password: one more with each that replaces another. */
  generation: number;
  /** sha256:SALT:HASH. */
  password: string;
  roots: string[];
}

/** Full sets a provider may send now. */
export interface FullSetRation {
  /** Unasked ones. */
  allowed: number;
  /** Why the LCC wants one, which costs nothing. */
  wanted: string | undefined;
}

/** The rest of a provider's ration when `waiting` full sets are accepted and not yet absorbed: the first of
 * them will fulfil a wish for one, each other costs one (`ProviderStore.noteSet` counts them so). */
export function fullSetRation(
  provider: Pick<Provider, 'fullsetsallowed' | 'fullsetsused' | 'fullsetssince' | 'fullsetwanted'>,
  waiting: number,
  nowMs: number,
  periodMs: number,
): FullSetRation {
  const wish = provider.fullsetwanted ?? undefined;
  const unasked = wish === undefined ? waiting : Math.max(0, waiting - 1);
  const used = fullSetsUsed(provider, nowMs, periodMs);
  return {
    allowed: Math.max(0, provider.fullsetsallowed - used - unasked),
    wanted: waiting === 0 ? wish : undefined,
  };
}

/** Unasked full sets absorbed in the period that is running, if one is. */
export function fullSetsUsed(
  provider: Pick<Provider, 'fullsetsused' | 'fullsetssince'>,
  nowMs: number,
  periodMs: number,
): number {
  const [nowS, periodS] = [Math.floor(nowMs / 1000), Math.floor(periodMs / 1000)];
  // One that began further ahead than it is long was begun by a clock that has been set back since.
  const isOver = Math.abs(nowS - provider.fullsetssince) > periodS;
  return isOver ? 0 : provider.fullsetsused;
}

/** Columns of what an operator decides, each with what its values are. */
const TERMS = {
  enabled: isInteger,
  filesmax: isInteger,
  spacemax: isInteger,
  fullsetsallowed: isInteger,
  bandwidth: isInteger,
  timeofday: isText,
  priority: isInteger,
  parallel: isInteger,
  enforce: isInteger,
  fusepercent: isIntegerOrNull,
  fuseurls: isIntegerOrNull,
  maxlen: isIntegerOrNull,
  fetchtimeout: isIntegerOrNull,
  useragent: isTextOrNull,
  pacems: isIntegerOrNull,
  spider: isInteger,
  groupname: isTextOrNull,
  scan: isIntegerOrNull,
  scanperday: isIntegerOrNull,
  push: isText,
} satisfies Record<keyof ProviderTerms, unknown>;

const COLUMNS: Record<keyof Provider, (value: unknown) => boolean> = {
  pid: isInteger,
  password: isText,
  ...TERMS,
  paused: isInteger,
  filesused: isInteger,
  spaceused: isInteger,
  nurlerrs: isInteger,
  nurlproc: isInteger,
  lastconnseq: isInteger,
  lastconnip: isText,
  fullsetwanted: isTextOrNull,
  fullsetsused: isInteger,
  fullsetssince: isInteger,
  lastset: isInteger,
  lastconntime: isInteger,
  backoffs: isInteger,
  backoffuntil: isInteger,
  dueat: isInteger,
  leaveat: isIntegerOrNull,
  origin: isText,
  generation: isInteger,
  roots: isText,
};

const ROOTS = `(SELECT json_group_array(CAST(root AS TEXT)) FROM
  (SELECT root FROM proots WHERE proots.pid = pidb.pid ORDER BY root)) AS roots`;
const PROVIDERS = `SELECT ${Object.keys(COLUMNS)
  .join(', ')
  .replace(/roots$/, ROOTS)} FROM pidb`;
/** A statement of one provider; its rows, raw, are for `providerOf`. */
export const PROVIDER = `${PROVIDERS} WHERE pid = ?`;

const fieldsOf = rowReader<Record<keyof Provider, unknown>>(
  COLUMNS,
  ([pid], column) => `provider ${String(pid)}: ${column} is of another type`,
);

/** One provider with its roots. */
export function readProvider(db: Db, pid: number): Provider | undefined {
  const row = db.prepare<[number], unknown[]>(PROVIDER).raw().get(pid);
  return row && providerOf(row);
}

/** Errors of a provider that are kept for it, by code, the most frequent first. */
export function readErrorCodes(db: Db, pid: number): { code: number; errors: number }[] {
  const sql = 'SELECT code, count(*) AS errors FROM pierr WHERE pid = ? GROUP BY code ORDER BY 2 DESC, 1';
  return db.prepare<[number], { code: number; errors: number }>(sql).all(pid);
}

/** Pages of a crawl that were not to be had when they were asked for last. */
export interface AbsentPages {
  /** By code, the most frequent first. */
  codes: { code: number; errors: number }[];
  /** The one that was asked for last. */
  last: { curl: string; code: number } | undefined;
  /** Not all were counted. */
  isCut: boolean;
}

/** Rows of `known` that are counted. */
const MAX_ABSENT = 100_000;

/** @returns undefined where there is none */
export function readAbsentPages(db: Db, pid: number): AbsentPages | undefined {
  const rows = `FROM (SELECT * FROM known WHERE pid = ? AND NOT (code BETWEEN 300 AND 399 AND code <> 303) LIMIT ${MAX_ABSENT})`;
  const sql = new Sql(db);
  const codes = sql.rows<[pid: number], { code: number; errors: number }>(
    `SELECT code, count(*) AS errors ${rows} GROUP BY code ORDER BY 2 DESC, 1`,
  )(pid);
  if (codes.length === 0) return undefined;
  const last = sql.row<[pid: number], { curl: string; code: number }>(
    `SELECT curl, code ${rows} ORDER BY asked DESC, curl LIMIT 1`,
  )(pid);
  return { codes, last, isCut: codes.reduce((sum, { errors }) => sum + errors, 0) >= MAX_ABSENT };
}

/** All providers, ascending. */
export function readProviders(db: Db): Provider[] {
  return db.prepare<[], unknown[]>(`${PROVIDERS} ORDER BY pid`).raw().all().map(providerOf);
}

/** @throws as SQLite for damage, for a row whose values are not of their columns' types */
export function providerOf(row: unknown[]): Provider {
  const fields = fieldsOf(row);
  // SQLite has neither booleans nor lists.
  fields.enabled = fields.enabled !== 0;
  fields.enforce = fields.enforce !== 0;
  fields.spider = fields.spider !== 0;
  fields.scan = fields.scan === null ? null : fields.scan !== 0;
  fields.roots = JSON.parse(fields.roots as string);
  return fields as unknown as Provider;
}

// Administration

/** One that was lost has what is left of it. @throws LccError `usage` when the pid is taken */
export function addProvider(
  db: Db,
  pid: number,
  password: string,
  terms: Partial<ProviderTerms>,
  roots: readonly string[],
): void {
  db.transaction(() => {
    if (exists(db, pid)) throw new LccError('usage', `provider ${pid} exists; change it with lccpidb set`);
    db.prepare('INSERT INTO pidb(pid, password) VALUES (?, ?)').run(pid, password);
    changeTerms(db, pid, terms);
    for (const root of roots) insertRoot(db, pid, root);
    db.prepare(COUNT_ANEW).run({ pid });
  }).immediate();
}

const COUNT_ANEW = `UPDATE pidb SET
  (filesused, spaceused) = (SELECT count(*), CAST(total(len) AS INTEGER) FROM lccurl WHERE pid = $pid),
  nurlproc = (SELECT count(*) FROM queued WHERE pid = $pid), nurlerrs = (SELECT count(*) FROM pierr WHERE pid = $pid)
  WHERE pid = $pid`;

/** Changes what is given. @throws LccError `usage` for an unknown pid */
export function changeProvider(db: Db, pid: number, terms: Partial<ProviderTerms>): void {
  change(db, pid, () => changeTerms(db, pid, terms));
}

/** @throws LccError `usage` for an unknown pid */
export function changePassword(db: Db, pid: number, password: string): void {
  change(db, pid, () =>
    db.prepare('UPDATE pidb SET password = ?, generation = generation + 1 WHERE pid = ?').run(password, pid),
  );
}

/** @throws LccError `usage` for an unknown pid */
export function addRoots(db: Db, pid: number, roots: readonly string[]): void {
  change(db, pid, () => {
    for (const root of roots) insertRoot(db, pid, root);
  });
}

/** @throws LccError `usage` for an unknown pid or a root it does not have */
export function removeRoots(db: Db, pid: number, roots: readonly string[]): void {
  const remove = new Sql(db).changed<[pid: number, root: string]>(
    'DELETE FROM proots WHERE pid = ? AND root = ?',
  );
  change(db, pid, () => {
    for (const root of roots) {
      if (!remove(pid, root))
        throw new LccError('usage', `provider ${pid} has no root ${root}; see lccpidb show`);
    }
  });
}

/**
 * Sets the user and password that the provider's site gets when it asks; undefined: none.
 * @param login `user:password`
 * @throws LccError `usage` for an unknown pid
 */
export function changeLogin(db: Db, pid: number, login: string | undefined): void {
  change(db, pid, () => {
    const row = new SiteLogins(db).set(pid, login);
    if (login === undefined) db.prepare('DELETE FROM sitelogin WHERE pid = ?').run(pid);
    else db.prepare('INSERT OR REPLACE INTO sitelogin VALUES (?, ?)').run(pid, row);
  });
}

/** The user of its login; undefined when it has none, null when it is not for this user to read, or lost. */
export function readLoginUser(db: Db, pid: number): string | null | undefined {
  const row = new Sql(db).value<[pid: number], string>('SELECT login FROM sitelogin WHERE pid = ?')(pid);
  if (row === undefined) return undefined;
  try {
    return new SiteLogins(db).of(pid, row)?.split(':', 1)[0] ?? null;
  } catch (error) {
    if (error instanceof LccError) return null;
    throw error;
  }
}

function change(db: Db, pid: number, then: () => void): void {
  db.transaction(() => {
    demand(db, pid);
    then();
  }).immediate();
}

function changeTerms(db: Db, pid: number, terms: Partial<ProviderTerms>): void {
  for (const name of Object.keys(TERMS) as (keyof ProviderTerms)[]) {
    const value = terms[name];
    if (value === undefined) continue;
    const stored = typeof value === 'boolean' ? Number(value) : value;
    db.prepare(`UPDATE pidb SET ${name} = ? WHERE pid = ?`).run(stored, pid);
  }
  if (terms.enabled !== undefined) {
    // The operator's word: it stays, or is not let in again by itself.
    db.prepare(
      'UPDATE pidb SET leaveat = iif($enabled, NULL, leaveat), leaveenabled = $enabled, enabled = $enabled WHERE pid = $pid AND leaveat IS NOT NULL',
    ).run({ enabled: Number(terms.enabled), pid });
    // This counts from now on, whether or not the Registration Server had disabled it.
    db.prepare('UPDATE pidb SET rsdisabled = 0 WHERE pid = ?').run(pid);
  }
  // Time owed to another limit is no measure of this one.
  if (terms.bandwidth !== undefined) db.prepare('UPDATE pidb SET dueat = 0 WHERE pid = ?').run(pid);
}

/** Where a root is, is around, or is below one that was given up. */
const WANT_WHAT_CAME_BACK = `UPDATE pidb SET fullsetwanted = 'root proven again'
  WHERE pid = $pid AND fullsetwanted IS NULL AND password <> '${NO_PASSWORD}'
    AND EXISTS (SELECT 1 FROM givenroot WHERE pid = $pid
      AND (substr($root, 1, length(root)) = root OR substr(root, 1, length($root)) = $root))`;

function insertRoot(db: Db, pid: number, root: string): void {
  db.prepare('INSERT OR IGNORE INTO proots(pid, root) VALUES (?, ?)').run(pid, root);
  // What waited there, and what was announced since it was given up, is not known any more.
  db.prepare(WANT_WHAT_CAME_BACK).run({ pid, root });
  // One that was given up has come back, with what is held of it.
  db.prepare('DELETE FROM givenroot WHERE pid = ? AND root = ?').run(pid, root);
}

function exists(db: Db, pid: number): boolean {
  return new Sql(db).has<[pid: number]>('SELECT 1 FROM pidb WHERE pid = ?')(pid);
}

function demand(db: Db, pid: number): void {
  if (!exists(db, pid)) throw new LccError('usage', `no provider ${pid}; see lccpidb list`);
}
