/**
 * Requests for clearing. One that is there is not done; it leaves in the transaction that notes what became of it.
 *
 * Requests with one key (content id, type, target) are one piece of work. Which of them a piece of work covers says its
 * mark: the highest id that the key had before anything was sent. Later ones are another piece of work.
 */
import type { Db } from '../../lib/sqlite.js';

export interface RequestKey {
  contentId: string;
  contentType: string;
  target: string;
}

export interface NewRequest extends RequestKey {
  force: boolean;
  /** Where it comes from, for people. */
  source: string;
}

export interface RequestRow extends RequestKey {
  id: number;
  force: 0 | 1;
  enqueuedMs: number;
}

export interface RejectedRow extends RequestKey {
  id: number;
  error: string;
  atMs: number;
}

/** What one piece of work covers. */
export interface Covered {
  mark: number;
  force: boolean;
}

const COLUMNS = `id, content_id AS contentId, content_type AS contentType, target, force, enqueued_ms AS enqueuedMs`;
const KEY = 'content_id = ? AND content_type = ? AND target = ?';

export class RequestStore {
  readonly #statements;

  constructor(db: Db) {
    this.#statements = {
      add: db.prepare<[string, string, string, number, string, number]>(
        `INSERT INTO clear_cache_queue(content_id, content_type, target, force, source, enqueued_ms)
         VALUES (?, ?, ?, ?, ?, ?)`,
      ),
      after: db.prepare<[number, number], RequestRow>(
        `SELECT ${COLUMNS} FROM clear_cache_queue WHERE id > ? ORDER BY id LIMIT ?`,
      ),
      covered: db.prepare<[string, string, string], { mark: number | null; force: number | null }>(
        `SELECT max(id) AS mark, max(force) AS force FROM clear_cache_queue WHERE ${KEY}`,
      ),
      first: db.prepare<[string, string, string], RequestRow>(
        `SELECT ${COLUMNS} FROM clear_cache_queue WHERE ${KEY} ORDER BY id LIMIT 1`,
      ),
      done: db.prepare<[string, string, string, number]>(
        `DELETE FROM clear_cache_queue WHERE ${KEY} AND id <= ?`,
      ),
      take: db.prepare<[number], RequestRow>(
        `DELETE FROM clear_cache_queue WHERE id = ? RETURNING ${COLUMNS}`,
      ),
      rejected: db.prepare<[number, string, string, string, string, number]>(
        'INSERT OR REPLACE INTO clear_rejected VALUES (?, ?, ?, ?, ?, ?)',
      ),
      rejections: db.prepare<[number, number], RejectedRow>(
        `SELECT id, content_id AS contentId, content_type AS contentType, target, error, at_ms AS atMs
         FROM clear_rejected WHERE id > ? ORDER BY id LIMIT ?`,
      ),
      rejectedCount: db.prepare<[], number>('SELECT count(*) FROM clear_rejected').pluck(),
      dropRejected: db.prepare<[number], RejectedRow>(
        `DELETE FROM clear_rejected WHERE id = ?
         RETURNING id, content_id AS contentId, content_type AS contentType, target, error, at_ms AS atMs`,
      ),
      forgetRejected: db.prepare<[number]>('DELETE FROM clear_rejected WHERE at_ms < ?'),
      count: db
        .prepare<[number, number], number>(
          'SELECT count(*) FROM (SELECT 1 FROM clear_cache_queue WHERE id > ? LIMIT ?)',
        )
        .pluck(),
      countBetween: db
        .prepare<[number, number], number>('SELECT count(*) FROM clear_cache_queue WHERE id BETWEEN ? AND ?')
        .pluck(),
      hasTarget: db.prepare<[string], 1>('SELECT 1 FROM clear_cache_queue WHERE target = ? LIMIT 1').pluck(),
      firstId: db.prepare<[], number>('SELECT id FROM clear_cache_queue ORDER BY id LIMIT 1').pluck(),
      lastId: db.prepare<[], number>('SELECT id FROM clear_cache_queue ORDER BY id DESC LIMIT 1').pluck(),
      oldest: db.prepare<[], number>('SELECT enqueued_ms FROM clear_cache_queue ORDER BY id LIMIT 1').pluck(),
    };
  }

  /** Queues a request. Inside a transaction. @returns its id, higher than any before */
  add({ contentId, contentType, target, force, source }: NewRequest, nowMs: number): number {
    const { add } = this.#statements;
    return Number(add.run(contentId, contentType, target, force ? 1 : 0, source, nowMs).lastInsertRowid);
  }

  /** Requests in the order of coming. */
  after(id: number, limit: number): RequestRow[] {
    return this.#statements.after.all(id, limit);
  }

  /** The mark of a key, and whether one of its requests is forced; undefined when it has none. */
  covered({ contentId, contentType, target }: RequestKey): Covered | undefined {
    const found = this.#statements.covered.get(contentId, contentType, target);
    if (found === undefined || found.mark === null) return undefined;
    return { mark: found.mark, force: found.force === 1 };
  }

  /** The oldest request of a key. */
  first({ contentId, contentType, target }: RequestKey): RequestRow | undefined {
    return this.#statements.first.get(contentId, contentType, target);
  }

  /** Removes what a piece of work covers; `Infinity`: all of the key. Inside a transaction. @returns how many there were */
  done({ contentId, contentType, target }: RequestKey, mark: number): number {
    const last = Math.min(mark, Number.MAX_SAFE_INTEGER);
    return this.#statements.done.run(contentId, contentType, target, last).changes;
  }

  /** Moves a request among those rejected. Inside a transaction. @returns whether it was there */
  reject(id: number, error: string, nowMs: number): boolean {
    const row = this.#statements.take.get(id);
    if (row === undefined) return false;
    this.#statements.rejected.run(id, row.contentId, row.contentType, row.target, error, nowMs);
    return true;
  }

  /** Removes a request without doing it. @returns it, if it was there */
  drop(id: number): RequestRow | undefined {
    return this.#statements.take.get(id);
  }

  rejections(afterId: number, limit: number): RejectedRow[] {
    return this.#statements.rejections.all(afterId, limit);
  }

  rejectedCount(): number {
    return this.#statements.rejectedCount.get() ?? 0;
  }

  /** @returns it, if it was there */
  dropRejected(id: number): RejectedRow | undefined {
    return this.#statements.dropRejected.get(id);
  }

  /** @returns how many there were */
  forgetRejectedBefore(atMs: number): number {
    return this.#statements.forgetRejected.run(atMs).changes;
  }

  /** Requests after an id, counted up to `most`. */
  count(most: number, afterId = 0): number {
    return this.#statements.count.get(afterId, most) ?? 0;
  }

  /** Requests with ids from one to another, both included. */
  countBetween(first: number, last: number): number {
    return this.#statements.countBetween.get(first, last) ?? 0;
  }

  /** Whether a request names a target; reads all of them where none does. */
  hasTarget(target: string): boolean {
    return this.#statements.hasTarget.get(target) !== undefined;
  }

  /** Of the oldest request; undefined when there is none. */
  firstId(): number | undefined {
    return this.#statements.firstId.get();
  }

  /** Of the latest request; 0 when there is none. */
  lastId(): number {
    return this.#statements.lastId.get() ?? 0;
  }

  /** When the oldest came; undefined when there is none. */
  oldestMs(): number | undefined {
    return this.#statements.oldest.get();
  }
}
