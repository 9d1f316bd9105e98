/**
 * Audits (table audit): an even sample of what a provider announced, each url on its way from the draw to
 * what it says of the provider. All methods run inside the caller's transaction, but `watches`.
 *
 *     drawn ──same──▶ true                  drawn ──not to be had, not asked──▶ failed (another is drawn)
 *       ╰──changed, gone──▶ unsettled ──notice──▶ late
 *                             │  ╰──an hour──▶ silent, or dead where it is gone
 *                             ├──other bytes again, minutes later──▶ failed, and noisy
 *                             ╰──no second look within NEAR_S of the first──▶ failed: it may have a clock
 */
import { STAYS } from '../moves/moving.js';
import { placesOf } from '../queue/folders.js';
import { JointStore } from '../sqlite/sql-store.js';
import type { TruthDays } from './days.js';
import type { VisitStore } from './visits.js';

/** `audit.state`. */
const AUDIT_STATE = {
  drawn: 0,
  unsettled: 1,
  true: 2,
  late: 3,
  silent: 4,
  dead: 5,
  failed: 6,
} as const;
const { drawn, unsettled, late, silent, dead, failed } = AUDIT_STATE;

/** The outcome of a look at a url. `missing`: 404 for the first time. */
export type AuditLook = 'same' | 'changed' | 'gone' | 'missing' | 'failed';

/** A url of an audit, to be asked for again. */
interface AuditedUrl {
  pid: number;
  began: number;
  id: number;
}

export interface SettledUrl extends AuditedUrl {
  curl: string;
  mimetype: string;
  isDead: 0 | 1;
}

/** How far the audit of a provider is. */
interface AuditProgress {
  pid: number;
  /** Number of held urls that their owner announced, where nothing of its audit is open; 20 000 at most. */
  held: number;
  settled: number;
  silent: number;
  failed: number;
  open: number;
}

/** Outcomes of urls of audits, and of audits, since the start. */
type AuditTotals = Record<'true' | 'late' | 'silent' | 'dead' | 'failed' | 'clean' | 'silentAudits', number>;

const NO_TOTALS: AuditTotals = { true: 0, late: 0, silent: 0, dead: 0, failed: 0, clean: 0, silentAudits: 0 };
const TOTAL_OF: Readonly<Record<number, keyof AuditTotals>> = {
  [AUDIT_STATE.true]: 'true',
  [silent]: 'silent',
  [dead]: 'dead',
  [failed]: 'failed',
};

const HOUR_S = 3600;
/** The longest between two audits of a provider. */
export const MOST_BETWEEN_AUDITS_S = 28 * 86_400;
/** Between the first look at what has changed and the second. */
const SECOND_LOOK_S = 300;
const SECOND_LOOK_SPREAD_S = 300;
/**
 * A second look later than this after the first says nothing: the LCC was stopped, or the provider paused.
 */
const NEAR_S = 1800;
/** For how long a page that differs at every fetch counts nowhere. */
export const NOISY_S = 30 * 86_400;
/** A sample is hardly larger of more. */
const MOST_COUNTED = 20_000;
/** Rows in a step of the upkeep. */
const PAGE_ROWS = 200;

export class AuditSamples extends JointStore<{ days: TruthDays; visits: VisitStore }> {
  readonly #began = this.sql.row<[pid: number], { auditdue: number; began: number | null }>(
    `SELECT auditdue, (SELECT max(began) FROM audit WHERE audit.pid = pidb.pid) AS began FROM pidb WHERE pid = ?`,
  );
  readonly #dropOthers = this.sql.run<[pid: number, began: number]>(
    'DELETE FROM audit WHERE pid = ? AND began <> ?',
  );
  readonly #draw = this.sql.run<[pid: number, began: number, id: number, curl: string, mimetype: string]>(
    'INSERT OR IGNORE INTO audit(pid, began, id, curl, mimetype) VALUES (?, ?, ?, ?, ?)',
  );
  readonly #open = this.sql.row<
    [pid: number, id: number],
    AuditedUrl & { state: number; asked: number | null }
  >(
    `SELECT pid, began, id, state, asked FROM audit WHERE pid = ? AND id = ? AND state IN (${drawn}, ${unsettled})
     ORDER BY began DESC LIMIT 1`,
  );
  readonly #write = this.sql.run<
    [values: AuditedUrl & { state: number; again: number | null; now: number; gone: 0 | 1 }]
  >(
    `UPDATE audit SET state = $state, again = $again, gone = max(gone, $gone),
       asked = iif($state = ${unsettled}, $now, coalesce(asked, $now))
     WHERE pid = $pid AND began = $began AND id = $id`,
  );
  readonly #second = this.sql.run<[nowS: number, pid: number, began: number, id: number]>(
    'UPDATE audit SET second = ? WHERE pid = ? AND began = ? AND id = ?',
  );
  readonly #notice = this.sql.changes<[pid: number, curl: string]>(
    `UPDATE audit SET state = ${late}, again = NULL WHERE pid = ? AND state = ${unsettled} AND curl = ?`,
  );
  readonly #unsettled = this.sql.values<[], number>(
    `SELECT DISTINCT pid FROM audit WHERE state = ${unsettled}`,
  );
  // A question in the future was asked while the clock was ahead, and says nothing.
  readonly #settle = this.sql.rows<[values: { nowS: number; limit: number }], SettledUrl & { isSure: 0 | 1 }>(
    `SELECT pid, began, id, curl, mimetype, gone AS isDead,
       asked <= $nowS AND (gone = 1 OR ifnull(second BETWEEN asked AND asked + ${NEAR_S}, 0)) AS isSure
     FROM audit INDEXED BY audit_unsettled WHERE state = ${unsettled}
       AND (asked <= $nowS - ${HOUR_S} OR asked > $nowS) AND ${STAYS} LIMIT $limit`,
  );
  readonly #again = this.sql.rows<[values: { nowS: number; limit: number }], AuditedUrl>(
    `SELECT pid, began, id FROM audit INDEXED BY audit_again
     WHERE (again <= $nowS OR again > $nowS + ${HOUR_S}) AND ${STAYS} LIMIT $limit`,
  );
  readonly #asking = this.sql.run<[pid: number, began: number, id: number]>(
    'UPDATE audit SET again = NULL WHERE pid = ? AND began = ? AND id = ?',
  );
  // Urls that their owner took over, or of which nothing was left to ask for.
  readonly #lost = this.sql.rows<[values: { nowS: number; limit: number }], AuditedUrl>(
    `SELECT pid, began, id FROM audit INDEXED BY audit_drawn WHERE state = ${drawn} AND again IS NULL
       AND (began < $nowS - ${HOUR_S} OR began > $nowS) AND ${STAYS}
       AND NOT EXISTS ${placesOf('audit.pid', 'audit.curl')} LIMIT $limit`,
  );
  readonly #progress = this.sql.rows<[], Omit<AuditProgress, 'held'>>(
    `SELECT audit.pid, coalesce(sum(state BETWEEN 2 AND 5), 0) AS settled, coalesce(sum(state IN (4, 5)), 0) AS silent,
       coalesce(sum(state = ${failed}), 0) AS failed, coalesce(sum(state < 2), 0) AS open
     FROM audit JOIN pidb USING (pid) WHERE began > auditdue AND ${STAYS} GROUP BY audit.pid`,
  );
  readonly #held = this.sql.number<[pid: number]>(
    `SELECT count(*) FROM (SELECT 1 FROM lccurl WHERE pid = ? AND hops IS NULL LIMIT ${MOST_COUNTED})`,
  );
  readonly #due = this.sql.run<[dueS: number, pid: number]>('UPDATE pidb SET auditdue = ? WHERE pid = ?');
  /** Providers with urls that are not settled; may have some without. */
  readonly #watched = new Set(this.#unsettled());
  #totals = { ...NO_TOTALS };
  /** As they are when the transaction that runs is committed. */
  #next = { ...NO_TOTALS };

  /** A url has been drawn, and waits. The first of an audit lets go of the audit before. */
  drawn(pid: number, held: { id: number; curl: string; mimetype: string }, nowS: number): void {
    const last = this.#began(pid);
    if (last === undefined) return;
    const { auditdue, began: before } = last;
    // A time further ahead was noted while the clock was ahead.
    const dueS = auditdue > nowS + MOST_BETWEEN_AUDITS_S ? nowS - 1 : auditdue;
    if (dueS !== auditdue) this.#due(dueS, pid);
    const began = before !== null && before > dueS && before <= nowS ? before : Math.max(nowS, dueS + 1);
    if (began !== before) this.#dropOthers(pid, began);
    this.#draw(pid, began, held.id, held.curl, held.mimetype);
  }

  /** A look at a url that waited for an audit. @param spread 0 to 1: when within its minutes the second look
   * is */
  looked(pid: number, id: number, look: AuditLook, nowS: number, isNoisy: boolean, spread: number): void {
    const url = this.#open(pid, id);
    if (url === undefined) return;
    if (url.state === unsettled) {
      const sinceS = nowS - (url.asked ?? 0);
      const isNear = sinceS >= 0 && sinceS <= NEAR_S;
      if (look !== 'changed') return this.#second(nowS, pid, url.began, id);
      this.#move(url, failed, nowS);
      if (!isNear) return;
      this.stores.visits.noisy(id, nowS + NOISY_S);
      this.stores.days.count(pid, nowS, 'noisy');
    } else if (look === 'failed' || isNoisy) {
      this.#move(url, failed, nowS);
    } else if (look === 'same') {
      this.#move(url, AUDIT_STATE.true, nowS);
      this.stores.days.count(pid, nowS, 'audited');
    } else if (look === 'missing') {
      this.#move(url, drawn, nowS, nowS + HOUR_S);
    } else {
      this.#watched.add(pid);
      const againS = nowS + SECOND_LOOK_S + Math.floor(spread * SECOND_LOOK_SPREAD_S);
      // Which of the two it was is said by this look, whatever the second one finds.
      if (look === 'changed') this.#move(url, unsettled, nowS, againS);
      else this.#move(url, unsettled, nowS, null, 1);
    }
  }

  /** Totals of what is committed. */
  get totals(): Readonly<AuditTotals> {
    return this.#totals;
  }

  committed(): void {
    this.#totals = { ...this.#next };
  }

  /** The transaction was rolled back. */
  reset(): void {
    this.#next = { ...this.#totals };
  }

  /** True if there is anything of any audit. */
  readonly hasAny = this.sql.has('SELECT 1 FROM audit LIMIT 1');

  /** True if notices of a provider are to be told. */
  watches(pid: number): boolean {
    return this.#watched.has(pid);
  }

  /** A provider came from another home, or stays: memory of it is of before. */
  moved(pid: number): void {
    this.#watched.add(pid);
  }

  /** A provider has announced a url, or its end. */
  noticed(pid: number, curl: string, nowS: number): void {
    const changes = this.#notice(pid, curl);
    this.#next.late += changes;
    for (let i = 0; i < changes; i++) this.stores.days.count(pid, nowS, 'audited', 'late');
  }

  /** Settles what waited for a notice for an hour, and gives up what nothing will come of. */
  settle(nowS: number): SettledUrl[] {
    for (const url of this.#lost({ nowS, limit: PAGE_ROWS })) this.#move(url, failed, nowS);
    const settled = this.#settle({ nowS, limit: PAGE_ROWS });
    for (const url of settled) {
      if (!url.isSure) {
        this.#move(url, failed, nowS);
        continue;
      }
      this.#move(url, url.isDead ? dead : silent, nowS);
      this.stores.days.count(url.pid, nowS, 'audited', 'silent', ...(url.isDead ? (['dead'] as const) : []));
    }
    if (settled.length > 0) {
      this.#watched.clear();
      for (const pid of this.#unsettled()) this.#watched.add(pid);
    }
    return settled.filter(({ isSure }) => isSure === 1);
  }

  /** Urls that must be asked for again now; from here on they are. */
  toAskAgain(nowS: number): AuditedUrl[] {
    const urls = this.#again({ nowS, limit: PAGE_ROWS });
    for (const { pid, began, id } of urls) this.#asking(pid, began, id);
    return urls;
  }

  /** Progress of all audits that go on. */
  progress(): AuditProgress[] {
    return this.#progress().map(one => ({ ...one, held: one.open > 0 ? 0 : this.#held(one.pid) }));
  }

  /** The audit of a provider is over. @param dueS when the next one is @param found urls of it that were
   * silent */
  over(pid: number, dueS: number, found: number): void {
    this.#next[found > 0 ? 'silentAudits' : 'clean']++;
    this.#due(dueS, pid);
  }

  #move(
    { pid, began, id }: AuditedUrl,
    state: number,
    nowS: number,
    again: number | null = null,
    gone: 0 | 1 = 0,
  ): void {
    const total = TOTAL_OF[state];
    if (total !== undefined) this.#next[total]++;
    this.#write({ pid, began, id, state, again, now: nowS, gone });
  }
}
