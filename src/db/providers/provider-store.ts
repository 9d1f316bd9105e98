/** Reads of the Queue Manager about its providers, and its writes besides the counters. */
import { LccError } from '../../lib/errors.js';
import { NO_PASSWORD } from '../../lib/password.js';
import { strictRootCheck } from '../../wire/roots.js';
import { isInteger, isIntegerOrNull, isText, isTextOrNull, rowReader } from '../sqlite/row-checks.js';
import { SqlStore } from '../sqlite/sql-store.js';
import { NOTE_RHYTHM } from './silence.js';
import { SiteLogins } from './site-logins.js';

export interface ScheduledProvider {
  pid: number;
  enabled: number;
  paused: number;
  priority: 0 | 1 | 2;
  parallel: number;
  /** Bytes per second, 0 = unlimited. */
  bandwidth: number;
  /** 24 or 168 characters 0/1, '' = always. */
  timeofday: string;
  enforce: number;
  /** Failures of the site as a whole, one after the other, and the time (seconds) before which it is left
   * alone. */
  backoffs: number;
  backoffuntil: number;
  /** When its bandwidth permits the next fetch (milliseconds). */
  dueat: number;
  /** Terms of one fetch: bytes, milliseconds, User-Agent, `user:password`; null = the robot's own, none. */
  maxlen: number | null;
  fetchtimeout: number | null;
  useragent: string | null;
  /** Milliseconds between two fetches; null = as configured. */
  pacems: number | null;
  /** 1: what its pages link to is fetched, too. */
  spider: number;
  /** Providers of one name share lanes; null = none. */
  groupname: string | null;
  login: string | null;
}

/** Why a provider is asked for all it has. */
export type FullSetReason =
  | 'old files'
  | 'expired files'
  | 'cache crash'
  | 'restored from a backup'
  | 'order'
  | 'operator'
  | 'silent changes'
  | 'root proven again';

/** The last set of a provider that was absorbed, and what is known of its acceptance. */
export interface LatestSet {
  psetid: number;
  uns: string;
  /** As SetHead has them (wire/uns-qm.ts). */
  numbering: string;
  newest: number;
}

const COLUMNS: Record<keyof ScheduledProvider, (value: unknown) => boolean> = {
  pid: isInteger,
  enabled: isInteger,
  paused: isInteger,
  priority: isInteger,
  parallel: isInteger,
  bandwidth: isInteger,
  timeofday: isText,
  enforce: isInteger,
  backoffs: isInteger,
  backoffuntil: isInteger,
  dueat: isInteger,
  maxlen: isIntegerOrNull,
  fetchtimeout: isIntegerOrNull,
  pacems: isIntegerOrNull,
  useragent: isTextOrNull,
  login: isTextOrNull,
  spider: isInteger,
  groupname: isTextOrNull,
};

const providerOf = rowReader<ScheduledProvider>(
  COLUMNS,
  ([pid]) => `provider ${String(pid)} has a value of another type`,
);

/** Who may be asked for a full set. */
const MAY_WISH = `fullsetwanted IS NULL AND password <> '${NO_PASSWORD}'`;

export class ProviderStore extends SqlStore {
  readonly #logins = new SiteLogins(this.db);
  readonly #selectProvider = this.db
    .prepare<[number], unknown[]>(
      `SELECT ${Object.keys(COLUMNS).join()} FROM pidb LEFT JOIN sitelogin USING (pid) WHERE pid = ?`,
    )
    .raw();
  readonly #selectOwnRoots = this.sql.values<[pid: number], string>(
    "SELECT root FROM pidb JOIN proots USING (pid) WHERE pid = ? AND origin = 'rs'",
  );
  readonly #updatePaused = this.sql.run<[paused: number, pid: number]>(
    'UPDATE pidb SET paused = ? WHERE pid = ?',
  );
  readonly #selectToPause = this.sql.values<[values: { paused: number; pid: number | null }], number>(
    'SELECT pid FROM pidb WHERE pid = coalesce($pid, pid) AND paused <> $paused',
  );
  readonly #updateLastSet = this.sql.run<[LatestSet & { pid: number; now: number }]>(
    `UPDATE pidb SET ${NOTE_RHYTHM}, lastset = $now, latestpsetid = $psetid, latestuns = $uns, latestnumbering = $numbering,
       latestconnseq = CASE WHEN latestnumbering = $numbering THEN max(latestconnseq, $newest) ELSE $newest END
     WHERE pid = $pid`,
  );
  // As fullSetRation: also a period that began far ahead is over.
  readonly #updateFullSets = this.sql.run<
    [values: { pid: number; now: number; period: number; free: 0 | 1 }]
  >(
    `UPDATE pidb SET fullsetwanted = NULL,
       fullsetsused = CASE WHEN fullsetwanted IS NOT NULL OR $free THEN fullsetsused
                           WHEN abs($now - fullsetssince) > $period THEN 1 ELSE fullsetsused + 1 END,
       fullsetssince = CASE WHEN fullsetwanted IS NULL AND NOT $free AND abs($now - fullsetssince) > $period
                            THEN $now ELSE fullsetssince END
     WHERE pid = $pid`,
  );
  readonly #updateWish = this.sql.changes<[reason: string, pid: number]>(
    `UPDATE pidb SET fullsetwanted = ? WHERE pid = ? AND ${MAY_WISH}`,
  );
  readonly #updateAllWishes = this.sql.changes<[reason: string]>(
    `UPDATE pidb SET fullsetwanted = ? WHERE ${MAY_WISH}`,
  );
  /** True if somebody may announce for it. */
  readonly hasPassword = this.sql.has<[pid: number]>(
    `SELECT 1 FROM pidb WHERE pid = ? AND password <> '${NO_PASSWORD}'`,
  );
  readonly #countProviders = this.sql.number<[values: { pid: number | null }]>(
    'SELECT count(*) FROM pidb WHERE pid = coalesce($pid, pid)',
  );
  readonly #forgetDelays = this.sql.values<[values: { pid: number | null }], number>(
    `UPDATE pidb SET backoffs = 0, backoffuntil = 0, dueat = 0
     WHERE pid = coalesce($pid, pid) AND (backoffs > 0 OR backoffuntil > 0 OR dueat > 0) RETURNING pid`,
  );
  readonly #shortenWaits = this.sql.run<[values: { ms: bigint }]>(
    `UPDATE pidb SET backoffuntil = min(backoffuntil, ($ms + 999) / 1000), dueat = min(dueat, $ms)
     WHERE backoffuntil > ($ms + 999) / 1000 OR dueat > $ms`,
  );
  readonly #shortenWholeWait = this.sql.run<[untilMs: number]>(
    "UPDATE counter SET value = min(value, ?) WHERE name = 'dueat'",
  );
  // Seconds round up, as where they are written. A provider that has no wait keeps none.
  readonly #moveWaits = this.sql.run<[values: { ms: bigint }]>(
    `UPDATE pidb SET backoffuntil = CASE WHEN backoffuntil > 0 THEN max(0, (backoffuntil * 1000 + $ms + 999) / 1000) ELSE 0 END,
       dueat = CASE WHEN dueat > 0 THEN max(0, dueat + $ms) ELSE 0 END
     WHERE backoffuntil > 0 OR dueat > 0`,
  );
  readonly #moveWholeWait = this.sql.run<[values: { ms: bigint }]>(
    "UPDATE counter SET value = max(0, value + $ms) WHERE name = 'dueat' AND value > 0",
  );
  readonly #selectWrittenAt = this.sql.value<[], number>("SELECT value FROM counter WHERE name = 'waitsat'");
  readonly #updateWrittenAt = this.sql.run<[atMs: number]>(
    "INSERT INTO counter VALUES ('waitsat', ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
  );
  readonly #updateDue = this.sql.run<[atMs: number, pid: number]>('UPDATE pidb SET dueat = ? WHERE pid = ?');
  readonly #selectWholeDue = this.sql.number("SELECT value FROM counter WHERE name = 'dueat'");
  readonly #updateWholeDue = this.sql.run<[atMs: number]>(
    "UPDATE counter SET value = ? WHERE name = 'dueat'",
  );

  get(pid: number): ScheduledProvider | undefined {
    const raw = this.#selectProvider.get(pid);
    const provider = raw && providerOf(raw);
    if (provider === undefined || provider.login === null) this.withoutLogin.delete(pid);
    else this.#loadLogin(provider, provider.login);
    return provider;
  }

  /** Providers with a login that is lost. Nothing is fetched of them: their sites would refuse it, and all
   * would be removed. */
  readonly withoutLogin = new Set<number>();

  #loadLogin(provider: ScheduledProvider, row: string): void {
    const { pid } = provider;
    let login: string | undefined;
    try {
      login = this.#logins.of(pid, row);
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
    }
    provider.login = login ?? null;
    if (login !== undefined) this.withoutLogin.delete(pid);
    else {
      this.withoutLogin.add(pid);
      provider.paused = 1;
    }
  }

  readonly has = this.sql.has<[pid: number]>('SELECT 1 FROM pidb WHERE pid = ?');

  readonly roots = this.sql.values<[pid: number], string>('SELECT root FROM proots WHERE pid = ?');

  /**
   * True if a url lies below the roots of a provider that registered by itself: it may take roots off while
   * sets of it are on their way, and all that is outside of the others is to be gone then. Undefined: the
   * operator added it, or it has left.
   */
  insideOf(pid: number): ((url: string) => boolean) | undefined {
    const roots = this.#selectOwnRoots(pid);
    return roots.length === 0 ? undefined : strictRootCheck(roots);
  }

  /** Rows of the queue, as the providers' counters have it. */
  readonly waiting = this.sql.number('SELECT total(nurlproc) FROM pidb');

  readonly setBackoff = this.sql.run<[of: { pid: number }, backoffs: number, untilS: number]>(
    'UPDATE pidb SET backoffs = ?, backoffuntil = ? WHERE pid = $pid',
  );

  /** Nobody waits longer than until `untilMs` by the wall clock: what is written beyond it is of a clock that
   * was ahead. */
  shortenDelays(untilMs: number): void {
    const ms = BigInt(Math.round(untilMs));
    this.#shortenWaits({ ms });
    if (this.wholeDueMs > untilMs) this.#shortenWholeWait(Math.round(untilMs));
  }

  /** The wall clock was set: all that waits does so for as long as before. @param byMs how much later it is
   * by it */
  moveDelays(byMs: number): void {
    const ms = BigInt(Math.round(byMs));
    this.#moveWaits({ ms });
    this.#moveWholeWait({ ms });
  }

  /** Wall clock, in milliseconds, when a wait was written last; undefined in a database from before that was
   * noted. */
  get delaysWrittenAtMs(): number | undefined {
    return this.#selectWrittenAt();
  }

  setDelaysWrittenAt(atMs: number): void {
    this.#updateWrittenAt(Math.round(atMs));
  }

  /** Notes when the provider's bandwidth permits the next fetch, milliseconds. */
  setDue(pid: number, atMs: number): void {
    this.#updateDue(Math.round(atMs), pid);
  }

  /** When the bandwidth of all together permits the next fetch, milliseconds. */
  get wholeDueMs(): number {
    return this.#selectWholeDue();
  }

  setWholeDue(atMs: number): void {
    this.#updateWholeDue(Math.round(atMs));
  }

  /** How many providers there are, of all or with this number. */
  count(pid?: number): number {
    return this.#countProviders({ pid: pid ?? null });
  }

  /** Forgets back-off and what bandwidth is owed, of one provider or of all. @returns those that had any */
  forgetDelays(pid?: number): number[] {
    return this.#forgetDelays({ pid: pid ?? null });
  }

  /** Stops or continues fetching, of one provider or of all. @returns how many providers that changed */
  setPaused(paused: boolean, pid?: number): number {
    const value = paused ? 1 : 0;
    const pids = this.#selectToPause({ paused: value, pid: pid ?? null });
    for (const one of pids) this.#updatePaused(value, one);
    return pids.length;
  }

  /** A session of the provider took place: number, address and time, unless a later one is known. */
  readonly noteSession = this.sql.run<[session: { pid: number; seq: number; ip: string }, atS: number]>(
    `UPDATE pidb SET lastconnseq = $seq, lastconnip = $ip, lastconntime = ?
     WHERE pid = $pid AND lastconnseq <= $seq`,
  );

  /** A set has been absorbed: it is the provider's last. */
  noteSet(pid: number, nowS: number, set: LatestSet): void {
    this.#updateLastSet({ pid, now: nowS, ...set });
  }

  /** The provider's last set; undefined when there is no such provider. */
  readonly latestSet = this.sql.row<[pid: number], LatestSet>(
    `SELECT latestpsetid AS psetid, latestuns AS uns, latestnumbering AS numbering, latestconnseq AS newest
     FROM pidb WHERE pid = ?`,
  );

  /**
   * A full set has been absorbed: it fulfils a wish for it or costs one of its ration.
   * @param isRepeated the provider has paid for it already: it repeats a set that is held back
   */
  noteFullSet(pid: number, nowS: number, fullSetPeriodS: number, isRepeated: boolean): void {
    this.#updateFullSets({ pid, now: nowS, period: fullSetPeriodS, free: isRepeated ? 1 : 0 });
  }

  /**
   * Asks for a full set, of one provider or of all; an earlier reason stays, and of a provider without a
   * password, which nobody announces for, none is asked.
   * @returns how many providers that changed
   */
  wantFullSet(reason: FullSetReason, pid?: number): number {
    return pid === undefined ? this.#updateAllWishes(reason) : this.#updateWish(reason, pid);
  }
}
