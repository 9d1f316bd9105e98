/** What was cleared lately, for a rail that has lost it again. Bounded by age and number of its rows. */
import type { Db } from '../../lib/sqlite.js';
import type { BacklogOp } from './backlog.js';

export interface Cleared {
  target: string;
  url: string;
  op: BacklogOp;
  contentId: string;
}

export interface JournalRow extends Cleared {
  id: number;
  atMs: number;
}

const PRUNED_ROWS = 5000;

export class JournalStore {
  readonly #statements;

  constructor(db: Db) {
    this.#statements = {
      add: db.prepare<[number, string, string, BacklogOp, string]>(
        'INSERT INTO clear_journal(at_ms, target, url, op, content_id) VALUES (?, ?, ?, ?, ?)',
      ),
      since: db.prepare<[number, number, string, number], JournalRow>(
        `SELECT id, at_ms AS atMs, target, url, op, content_id AS contentId FROM clear_journal
         WHERE id > ? AND at_ms >= ? AND target = ? ORDER BY id LIMIT ?`,
      ),
      first: db.prepare<[], number | null>('SELECT min(id) FROM clear_journal').pluck(),
      last: db.prepare<[], number | null>('SELECT max(id) FROM clear_journal').pluck(),
      firstSince: db
        .prepare<[number], number>('SELECT id FROM clear_journal WHERE at_ms >= ? ORDER BY id LIMIT 1')
        .pluck(),
      removeBelow: db.prepare<[number]>('DELETE FROM clear_journal WHERE id < ?'),
    };
  }

  /** Inside a transaction. */
  add({ target, url, op, contentId }: Cleared, nowMs: number): void {
    this.#statements.add.run(nowMs, target, url, op, contentId);
  }

  /** What was cleared on a target since a time, in its order, a page at a time. */
  since(target: string, sinceMs: number, afterId: number, limit: number): JournalRow[] {
    return this.#statements.since.all(afterId, sinceMs, target, limit);
  }

  /** Forgets what is older, or beyond the last `maxRows`; some thousand rows at a time. @returns whether there may be more */
  prune(beforeMs: number, maxRows: number): boolean {
    const first = this.#statements.first.get() ?? 0;
    const end = (this.#statements.last.get() ?? 0) + 1;
    const below = Math.max(this.#statements.firstSince.get(beforeMs) ?? end, end - maxRows);
    if (below <= first) return false;
    this.#statements.removeBelow.run(Math.min(below, first + PRUNED_ROWS));
    return below > first + PRUNED_ROWS;
  }
}
