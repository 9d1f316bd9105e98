/** Pages that were cleared lately, for a rail that has lost them again. Bounded by age and number of its
 * rows. */
import { SqlStore } from '../sqlite/sql-store.js';
import type { BacklogOp } from './backlog.js';

interface Cleared {
  target: string;
  url: string;
  op: BacklogOp;
  contentId: string;
}

interface JournalRow extends Cleared {
  id: number;
  atMs: number;
}

const PRUNED_ROWS = 5000;

export class JournalStore extends SqlStore {
  readonly #first = this.sql.number('SELECT min(id) FROM clear_journal');
  readonly #last = this.sql.number('SELECT max(id) FROM clear_journal');
  readonly #firstSince = this.sql.value<[beforeMs: number], number>(
    'SELECT id FROM clear_journal WHERE at_ms >= ? ORDER BY id LIMIT 1',
  );
  readonly #removeBelow = this.sql.run<[id: number]>('DELETE FROM clear_journal WHERE id < ?');

  /** Inside a transaction. */
  readonly add = this.sql.run<[cleared: Cleared, nowMs: number]>(
    'INSERT INTO clear_journal(at_ms, target, url, op, content_id) VALUES (?, $target, $url, $op, $contentId)',
  );

  /** Pages cleared on a target since a time, in their order, a page at a time. */
  readonly since = this.sql.rows<
    [target: string, sinceMs: number, afterId: number, limit: number],
    JournalRow
  >(
    `SELECT id, at_ms AS atMs, target, url, op, content_id AS contentId FROM clear_journal
     WHERE target = ? AND at_ms >= ? AND id > ? ORDER BY id LIMIT ?`,
  );

  /** Forgets what is older, or beyond the last `maxRows`; some thousand rows at a time. @returns whether
   * there may be more */
  prune(beforeMs: number, maxRows: number): boolean {
    const first = this.#first();
    const end = this.#last() + 1;
    const below = Math.max(this.#firstSince(beforeMs) ?? end, end - maxRows);
    if (below <= first) return false;
    this.#removeBelow(Math.min(below, first + PRUNED_ROWS));
    return below > first + PRUNED_ROWS;
  }
}
