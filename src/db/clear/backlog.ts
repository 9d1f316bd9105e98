/**
 * Backlog of a rail: one entry for each rail and url that it must still be sent. Entries are numbered in one
 * order with publications (`publish_seq`), and of two for one rail and url the later one counts: a clearing
 * where a page was to be put settles both. A page that is put overtakes what was to be cleared before: that
 * entry stays for lccd-hard, which may have sent it, and is marked (`body_sha` is empty) until it is settled
 * by a new publication of the page.
 */
import { JointStore } from '../sqlite/sql-store.js';
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
  /** 1 for an entry that is not tried until somebody says so. */
  dead: 0 | 1;
  error: string;
}

export interface BacklogRow extends Omit<Parked, 'error'> {
  seq: number;
  firstMs: number;
  lastError: string;
}

type Entry = Pick<BacklogRow, 'rail' | 'url' | 'seq'>;

export interface BacklogCount {
  rail: string;
  waiting: number;
  dead: number;
  /** Time of the oldest entry that waits. */
  oldestMs: number | null;
}

const COLUMNS = `rail, url, op, content_id AS contentId, body_sha AS bodySha, seq, first_ms AS firstMs, attempts,
  next_ms AS nextMs, dead, last_error AS lastError`;
/** Nothing that is sent to a rail of a lower tier, which is up, is outstanding for the same url: looked up
 * rail by rail. */
const LOWER_TIERS_DONE = `NOT EXISTS (
  SELECT 1 FROM rail AS lower
  CROSS JOIN rail_status ON rail_status.rail = lower.name AND rail_status.state = 'UP'
  CROSS JOIN rail_backlog AS other ON other.rail = lower.name AND other.url = waiting.url AND other.dead = 0
  WHERE lower.tier < (SELECT tier FROM rail WHERE name = waiting.rail))`;

export const DUE_ENTRIES = `SELECT ${COLUMNS} FROM rail_backlog AS waiting
  WHERE rail = ? AND op = ? AND dead = 0 AND next_ms BETWEEN ? AND ? AND ${LOWER_TIERS_DONE}
  ORDER BY next_ms, first_ms LIMIT ?`;

export class BacklogStore extends JointStore<{ numbers: NumberStore }> {
  // The time since which a rail lacks something stays that of the first entry.
  readonly #park = this.sql.changed<[values: Parked & { seq: number; nowMs: number }]>(
    `INSERT INTO rail_backlog VALUES
       ($rail, $url, $op, $contentId, $bodySha, $seq, $nowMs, $attempts, $nextMs, $dead, $error)
     ON CONFLICT DO UPDATE SET op = excluded.op, content_id = excluded.content_id, body_sha = excluded.body_sha,
       seq = excluded.seq, attempts = excluded.attempts, next_ms = excluded.next_ms, dead = excluded.dead,
       last_error = excluded.last_error
     WHERE excluded.seq > seq`,
  );
  readonly #due = this.sql.rows<
    [rail: string, op: BacklogOp, fromMs: number, toMs: number, limit: number],
    BacklogRow
  >(DUE_ENTRIES);
  readonly #isRail = this.sql.has<[rail: string]>('SELECT 1 FROM rail WHERE name = ?');
  readonly #settlePut = this.sql.run<[rail: string, url: string, seq: number]>(
    "DELETE FROM rail_backlog WHERE rail = ? AND url = ? AND seq <= ? AND (op = 'P' OR dead = 1)",
  );
  readonly #overtake = this.sql.run<[rail: string, url: string, seq: number]>(
    "UPDATE rail_backlog SET body_sha = '' WHERE rail = ? AND url = ? AND seq <= ? AND op = 'D'",
  );
  readonly #retry = this.sql.changes<[values: { rail: string | null; url: string | null }]>(
    `UPDATE rail_backlog SET dead = 0, next_ms = 0
     WHERE rail = coalesce($rail, rail) AND url = coalesce($url, url) AND (dead = 1 OR next_ms > 0)`,
  );

  /**
   * Leaves something for a rail, in the place of what was left before. Inside a transaction.
   * @param seq of the page that is to be put; left out: later than everything so far
   * @returns the number of the entry; undefined when a later one is there, or no such rail any more
   */
  park(parked: Parked, nowMs: number, seq = this.stores.numbers.next('publish_seq')): number | undefined {
    if (!this.#isRail(parked.rail)) return undefined;
    return this.#park({ ...parked, seq, nowMs }) ? seq : undefined;
  }

  /** Entries that a rail may be sent now: first those that have not been tried, the oldest first. @param most
   * wait that an entry has: a longer one was noted while the clock was ahead, and is over */
  due(rail: string, op: BacklogOp, nowMs: number, most: number, limit: number): BacklogRow[] {
    const due = this.#due(rail, op, 0, nowMs, limit);
    if (due.length === limit) return due;
    return [...due, ...this.#due(rail, op, nowMs + most + 1, Number.MAX_SAFE_INTEGER, limit - due.length)];
  }

  /** Removes an entry that was sent. Inside a transaction. @param seq later entries stay @returns whether
   * there was one */
  readonly settle = this.sql.changed<[rail: string, url: string, seq: number]>(
    'DELETE FROM rail_backlog WHERE rail = ? AND url = ? AND seq <= ?',
  );

  /**
   * A page was put. Inside a transaction. What was to be put is settled, and so is a clearing that nobody
   * sends any more; another one may be on its way to the rail, and arrive after the page: it stays,
   * overtaken.
   * @param seq later entries stay as they are
   */
  overtake(rail: string, url: string, seq: number): void {
    this.#settlePut(rail, url, seq);
    this.#overtake(rail, url, seq);
  }

  /** True if a page was put after a clearing up to that number had been left. */
  readonly isOvertaken = this.sql.has<[rail: string, url: string, seq: number]>(
    "SELECT 1 FROM rail_backlog WHERE rail = ? AND url = ? AND seq <= ? AND op = 'D' AND body_sha = ''",
  );

  /** Another try did not help. Inside a transaction. @returns whether the entry is still there */
  readonly failed = this.sql.changed<[entry: Entry, nextMs: number, error: string]>(
    `UPDATE rail_backlog SET attempts = attempts + 1, next_ms = ?, last_error = ?
     WHERE rail = $rail AND url = $url AND seq <= $seq`,
  );

  /** The entry is not tried until somebody says so. Inside a transaction. */
  readonly bury = this.sql.run<[entry: Entry, error: string]>(
    `UPDATE rail_backlog SET dead = 1, attempts = attempts + 1, last_error = ?
     WHERE rail = $rail AND url = $url AND seq <= $seq`,
  );

  /** Tries again at once what waits or is dead. @param where one rail, one url @returns how many */
  retry({ rail, url }: { rail?: string | undefined; url?: string | undefined }): number {
    return this.#retry({ rail: rail ?? null, url: url ?? null });
  }

  /** Removes an entry without doing it. @returns whether it was there */
  readonly drop = this.sql.changed<[rail: string, url: string]>(
    'DELETE FROM rail_backlog WHERE rail = ? AND url = ?',
  );

  readonly get = this.sql.row<[rail: string, url: string], BacklogRow>(
    `SELECT ${COLUMNS} FROM rail_backlog WHERE rail = ? AND url = ?`,
  );

  /** All of them by rail and url, a page at a time. */
  readonly list = this.sql.rows<[after: Pick<BacklogRow, 'rail' | 'url'>, limit: number], BacklogRow>(
    `SELECT ${COLUMNS} FROM rail_backlog WHERE (rail, url) > ($rail, $url) ORDER BY rail, url LIMIT ?`,
  );

  /** True if a rail has anything left of a kind, be it due or not. */
  readonly has = this.sql.has<[rail: string, op: BacklogOp]>(
    'SELECT 1 FROM rail_backlog WHERE rail = ? AND op = ? AND dead = 0 LIMIT 1',
  );

  /** True if a rail has anything left of any kind, be it due, dead or neither. */
  readonly hasAny = this.sql.has<[rail: string]>('SELECT 1 FROM rail_backlog WHERE rail = ? LIMIT 1');

  /** Pages that wait for a rail. */
  readonly waitingOf = this.sql.number<[rail: string]>(
    'SELECT count(*) FROM rail_backlog WHERE rail = ? AND dead = 0',
  );

  /** Counts of rails that have any entry; reads all of them. */
  readonly counts = this.sql.rows<[], BacklogCount>(
    `SELECT rail, sum(dead = 0) AS waiting, sum(dead) AS dead, min(CASE dead WHEN 0 THEN first_ms END) AS oldestMs
     FROM rail_backlog GROUP BY rail ORDER BY rail`,
  );

  /** True if an entry is to put the body of that name. */
  readonly needsBody = this.sql.has<[sha: string]>('SELECT 1 FROM rail_backlog WHERE body_sha = ? LIMIT 1');
}
