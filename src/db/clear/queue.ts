/**
 * Requests for clearing. One that is there is not done; it leaves in the transaction that notes what became
 * of it.
 *
 * Requests with one key (content id, type, target) are one piece of work. Which of them a piece of work
 * covers says its mark: the highest id that the key had before anything was sent. Later ones are another
 * piece of work.
 */
import { SqlStore } from '../sqlite/sql-store.js';

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

/** Requests that one piece of work covers. */
interface Covered {
  mark: number;
  force: boolean;
}

const COLUMNS = `id, content_id AS contentId, content_type AS contentType, target, force, enqueued_ms AS enqueuedMs`;
const KEY = 'content_id = $contentId AND content_type = $contentType AND target = $target';

export class RequestStore extends SqlStore {
  readonly #add = this.sql.insert<[request: Omit<NewRequest, 'force'>, force: number, nowMs: number]>(
    `INSERT INTO clear_cache_queue(content_id, content_type, target, force, source, enqueued_ms)
     VALUES ($contentId, $contentType, $target, ?, $source, ?)`,
  );
  readonly #covered = this.sql.row<[key: RequestKey], { mark: number | null; force: number | null }>(
    `SELECT max(id) AS mark, max(force) AS force FROM clear_cache_queue WHERE ${KEY}`,
  );
  readonly #rejected = this.sql.run<[request: RequestRow, error: string, nowMs: number]>(
    'INSERT OR REPLACE INTO clear_rejected VALUES ($id, $contentId, $contentType, $target, ?, ?)',
  );
  readonly #count = this.sql.number<[afterId: number, most: number]>(
    'SELECT count(*) FROM (SELECT 1 FROM clear_cache_queue WHERE id > ? LIMIT ?)',
  );

  /** Queues a request. Inside a transaction. @returns its id, higher than any before */
  add(request: NewRequest, nowMs: number): number {
    return this.#add(request, request.force ? 1 : 0, nowMs);
  }

  /** Requests in the order of coming. */
  readonly after = this.sql.rows<[id: number, limit: number], RequestRow>(
    `SELECT ${COLUMNS} FROM clear_cache_queue WHERE id > ? ORDER BY id LIMIT ?`,
  );

  /** The mark of a key, and whether one of its requests is forced; undefined when it has none. */
  covered(key: RequestKey): Covered | undefined {
    const found = this.#covered(key);
    if (found === undefined || found.mark === null) return undefined;
    return { mark: found.mark, force: found.force === 1 };
  }

  /** The oldest request of a key. */
  readonly first = this.sql.row<[key: RequestKey], RequestRow>(
    `SELECT ${COLUMNS} FROM clear_cache_queue WHERE ${KEY} ORDER BY id LIMIT 1`,
  );

  /** Removes what a piece of work covers; `Infinity`: all of the key. Inside a transaction. @returns how many
   * there were */
  readonly done = this.sql.changes<[key: RequestKey, mark: number]>(
    `DELETE FROM clear_cache_queue WHERE ${KEY} AND id <= ?`,
  );

  /** Moves a request among those rejected. Inside a transaction. @returns whether it was there */
  reject(id: number, error: string, nowMs: number): boolean {
    const row = this.drop(id);
    if (row === undefined) return false;
    this.#rejected(row, error, nowMs);
    return true;
  }

  /** Removes a request without doing it. @returns it, if it was there */
  readonly drop = this.sql.row<[id: number], RequestRow>(
    `DELETE FROM clear_cache_queue WHERE id = ? RETURNING ${COLUMNS}`,
  );

  readonly rejections = this.sql.rows<[afterId: number, limit: number], RejectedRow>(
    `SELECT id, content_id AS contentId, content_type AS contentType, target, error, at_ms AS atMs
     FROM clear_rejected WHERE id > ? ORDER BY id LIMIT ?`,
  );

  readonly rejectedCount = this.sql.number('SELECT count(*) FROM clear_rejected');

  /** @returns it, if it was there */
  readonly dropRejected = this.sql.row<[id: number], RejectedRow>(
    `DELETE FROM clear_rejected WHERE id = ?
     RETURNING id, content_id AS contentId, content_type AS contentType, target, error, at_ms AS atMs`,
  );

  /** @returns how many there were */
  readonly forgetRejectedBefore = this.sql.changes<[atMs: number]>(
    'DELETE FROM clear_rejected WHERE at_ms < ?',
  );

  /** Requests after an id, counted up to `most`. */
  count(most: number, afterId = 0): number {
    return this.#count(afterId, most);
  }

  /** Requests with ids from one to another, both included. */
  readonly countBetween = this.sql.number<[first: number, last: number]>(
    'SELECT count(*) FROM clear_cache_queue WHERE id BETWEEN ? AND ?',
  );

  /** True if a request names a target; reads all of them where none does. */
  readonly hasTarget = this.sql.has<[target: string]>(
    'SELECT 1 FROM clear_cache_queue WHERE target = ? LIMIT 1',
  );

  /** Id of the oldest request; undefined when there is none. */
  readonly firstId = this.sql.value<[], number>('SELECT id FROM clear_cache_queue ORDER BY id LIMIT 1');

  /** Id of the latest request; 0 when there is none. */
  readonly lastId = this.sql.number('SELECT id FROM clear_cache_queue ORDER BY id DESC LIMIT 1');

  /** When the oldest came; undefined when there is none. */
  readonly oldestMs = this.sql.value<[], number>(
    'SELECT enqueued_ms FROM clear_cache_queue ORDER BY id LIMIT 1',
  );
}
