/**
 * What a rail has still to be sent: one entry for each rail and url. Entries are numbered in one order with publications
 * (`publish_seq`), and of two for one rail and url the later one counts: a clearing where a page was to be put settles both.
 * A page that is put overtakes what was to be cleared before: that entry stays for lccd-hard, which may have sent it, and is
 * marked (`body_sha` is empty) until it is settled by a new publication of the page.
 */
import type { Db } from '../../lib/sqlite.js';
import type { NumberStore } from './numbers.js';

/** Clear, or put a page. */
export type BacklogOp = 'D' | 'P';

export interface Parked {
  rail: string;
  url: string;
  op: BacklogOp;
  contentId: string;
  /** Name of the body in the spool; of a clearing null, or '' where it was overtaken. */
  bodySha: string | null;
  attempts: number;
  /** Not tried before; 0 at once. */
  nextMs: number;
  /** It is not tried any more until somebody says so. */
  dead: 0 | 1;
  error: string;
}

export interface BacklogRow extends Omit<Parked, 'error'> {
  seq: number;
  firstMs: number;
  lastError: string;
}

export interface BacklogCount {
  rail: string;
  waiting: number;
  dead: number;
  /** Of those that wait. */
  oldestMs: number | null;
}

const COLUMNS = `rail, url, op, content_id AS contentId, body_sha AS bodySha, seq, first_ms AS firstMs, attempts,
  next_ms AS nextMs, dead, last_error AS lastError`;
/** Nothing that is sent to a rail of a lower tier, which is up, is outstanding for the same url: looked up rail by rail. */
const LOWER_TIERS_DONE = `NOT EXISTS (
  SELECT 1 FROM rail AS lower
  CROSS JOIN rail_status ON rail_status.rail = lower.name AND rail_status.state = 'UP'
  CROSS JOIN rail_backlog AS other ON other.rail = lower.name AND other.url = waiting.url AND other.dead = 0
  WHERE lower.tier < (SELECT tier FROM rail WHERE name = waiting.rail))`;

export const DUE_ENTRIES = `SELECT ${COLUMNS} FROM rail_backlog AS waiting
  WHERE rail = ? AND op = ? AND dead = 0 AND next_ms <= ? AND ${LOWER_TIERS_DONE}
  ORDER BY next_ms, first_ms LIMIT ?`;

export class BacklogStore {
  readonly #numbers: NumberStore;
  readonly #statements;

  constructor(db: Db, numbers: NumberStore) {
    this.#numbers = numbers;
    this.#statements = {
      // The time since which a rail lacks something stays that of the first entry.
      park: db.prepare<Parked & { seq: number; nowMs: number }>(
        `INSERT INTO rail_backlog VALUES
           ($rail, $url, $op, $contentId, $bodySha, $seq, $nowMs, $attempts, $nextMs, $dead, $error)
         ON CONFLICT DO UPDATE SET op = excluded.op, content_id = excluded.content_id, body_sha = excluded.body_sha,
           seq = excluded.seq, attempts = excluded.attempts, next_ms = excluded.next_ms, dead = excluded.dead,
           last_error = excluded.last_error
         WHERE excluded.seq > seq`,
      ),
      isRail: db.prepare<[string], 1>('SELECT 1 FROM rail WHERE name = ?').pluck(),
      due: db.prepare<[string, BacklogOp, number, number], BacklogRow>(DUE_ENTRIES),
      settle: db.prepare<[string, string, number]>(
        'DELETE FROM rail_backlog WHERE rail = ? AND url = ? AND seq <= ?',
      ),
      settlePut: db.prepare<[string, string, number]>(
        "DELETE FROM rail_backlog WHERE rail = ? AND url = ? AND seq <= ? AND (op = 'P' OR dead = 1)",
      ),
      overtake: db.prepare<[string, string, number]>(
        "UPDATE rail_backlog SET body_sha = '' WHERE rail = ? AND url = ? AND seq <= ? AND op = 'D'",
      ),
      isOvertaken: db
        .prepare<[string, string, number], 1>(
          "SELECT 1 FROM rail_backlog WHERE rail = ? AND url = ? AND seq <= ? AND op = 'D' AND body_sha = ''",
        )
        .pluck(),
      failed: db.prepare<[number, string, string, string, number]>(
        `UPDATE rail_backlog SET attempts = attempts + 1, next_ms = ?, last_error = ?
         WHERE rail = ? AND url = ? AND seq <= ?`,
      ),
      bury: db.prepare<[string, string, string, number]>(
        'UPDATE rail_backlog SET dead = 1, attempts = attempts + 1, last_error = ? WHERE rail = ? AND url = ? AND seq <= ?',
      ),
      retry: db.prepare<{ rail: string | null; url: string | null }>(
        `UPDATE rail_backlog SET dead = 0, next_ms = 0
         WHERE rail = coalesce($rail, rail) AND url = coalesce($url, url) AND (dead = 1 OR next_ms > 0)`,
      ),
      drop: db.prepare<[string, string]>('DELETE FROM rail_backlog WHERE rail = ? AND url = ?'),
      get: db.prepare<[string, string], BacklogRow>(
        `SELECT ${COLUMNS} FROM rail_backlog WHERE rail = ? AND url = ?`,
      ),
      list: db.prepare<[string, string, number], BacklogRow>(
        `SELECT ${COLUMNS} FROM rail_backlog WHERE (rail, url) > (?, ?) ORDER BY rail, url LIMIT ?`,
      ),
      has: db
        .prepare<[string, BacklogOp], 1>(
          'SELECT 1 FROM rail_backlog WHERE rail = ? AND op = ? AND dead = 0 LIMIT 1',
        )
        .pluck(),
      waitingOf: db
        .prepare<[string], number>('SELECT count(*) FROM rail_backlog WHERE rail = ? AND dead = 0')
        .pluck(),
      hasAny: db.prepare<[string], 1>('SELECT 1 FROM rail_backlog WHERE rail = ? LIMIT 1').pluck(),
      counts: db.prepare<[], BacklogCount>(
        `SELECT rail, sum(dead = 0) AS waiting, sum(dead) AS dead, min(CASE dead WHEN 0 THEN first_ms END) AS oldestMs
         FROM rail_backlog GROUP BY rail ORDER BY rail`,
      ),
      needsBody: db.prepare<[string], 1>('SELECT 1 FROM rail_backlog WHERE body_sha = ? LIMIT 1').pluck(),
    };
  }

  /**
   * Leaves something for a rail, in the place of what was left before. Inside a transaction.
   * @param seq of the page that is to be put; left out: later than everything so far
   * @returns the number of the entry; undefined when a later one is there, or no such rail any more
   */
  park(parked: Parked, nowMs: number, seq = this.#numbers.next('publish_seq')): number | undefined {
    if (this.#statements.isRail.get(parked.rail) === undefined) return undefined;
    return this.#statements.park.run({ ...parked, seq, nowMs }).changes > 0 ? seq : undefined;
  }

  /** What a rail may be sent now: first what has not been tried, the oldest first. */
  due(rail: string, op: BacklogOp, nowMs: number, limit: number): BacklogRow[] {
    return this.#statements.due.all(rail, op, nowMs, limit);
  }

  /** It was sent. Inside a transaction. @param seq later entries stay @returns whether there was one */
  settle(rail: string, url: string, seq: number): boolean {
    return this.#statements.settle.run(rail, url, seq).changes > 0;
  }

  /**
   * A page was put. Inside a transaction. What was to be put is settled, and so is a clearing that nobody sends any more; another
   * one may be on its way to the rail, and arrive after the page: it stays, overtaken.
   * @param seq later entries stay as they are
   */
  overtake(rail: string, url: string, seq: number): void {
    this.#statements.settlePut.run(rail, url, seq);
    this.#statements.overtake.run(rail, url, seq);
  }

  /** Whether a page was put after a clearing up to that number had been left. */
  isOvertaken(rail: string, url: string, seq: number): boolean {
    return this.#statements.isOvertaken.get(rail, url, seq) !== undefined;
  }

  /** Another try did not help. Inside a transaction. @returns whether the entry is still there */
  failed(
    { rail, url, seq }: Pick<BacklogRow, 'rail' | 'url' | 'seq'>,
    nextMs: number,
    error: string,
  ): boolean {
    return this.#statements.failed.run(nextMs, error, rail, url, seq).changes > 0;
  }

  /** It is not tried any more until somebody says so. Inside a transaction. */
  bury({ rail, url, seq }: Pick<BacklogRow, 'rail' | 'url' | 'seq'>, error: string): void {
    this.#statements.bury.run(error, rail, url, seq);
  }

  /** Tries again at once what waits or is dead. @param where one rail, one url @returns how many */
  retry({ rail, url }: { rail?: string | undefined; url?: string | undefined }): number {
    return this.#statements.retry.run({ rail: rail ?? null, url: url ?? null }).changes;
  }

  /** Removes an entry without doing it. @returns whether it was there */
  drop(rail: string, url: string): boolean {
    return this.#statements.drop.run(rail, url).changes > 0;
  }

  get(rail: string, url: string): BacklogRow | undefined {
    return this.#statements.get.get(rail, url);
  }

  /** All of them by rail and url, a page at a time. */
  list(after: Pick<BacklogRow, 'rail' | 'url'>, limit: number): BacklogRow[] {
    return this.#statements.list.all(after.rail, after.url, limit);
  }

  /** Whether a rail has anything left of a kind, be it due or not. */
  has(rail: string, op: BacklogOp): boolean {
    return this.#statements.has.get(rail, op) !== undefined;
  }

  /** Whether a rail has anything left of any kind, be it due, dead or neither. */
  hasAny(rail: string): boolean {
    return this.#statements.hasAny.get(rail) !== undefined;
  }

  /** Pages that wait for a rail. */
  waitingOf(rail: string): number {
    return this.#statements.waitingOf.get(rail) ?? 0;
  }

  /** Of rails that have any; reads all of them. */
  counts(): BacklogCount[] {
    return this.#statements.counts.all();
  }

  /** Whether an entry is to put the body of that name. */
  needsBody(sha: string): boolean {
    return this.#statements.needsBody.get(sha) !== undefined;
  }
}
