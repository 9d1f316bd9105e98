/**
 * Pages that are replaced instead of deleted: the rules that say which, their publications, and the names with a timestamp
 * that they were generated under. A publication is a number, never a time: a page is due while its last publication is
 * higher than the one that is on all rails.
 */
import type { Db } from '../../lib/sqlite.js';
import type { NumberStore } from './numbers.js';

export interface SoftRule {
  url: string;
  target: string;
  isPattern: 0 | 1;
  enabled: 0 | 1;
  minIntervalMs: number;
}

export interface PageKey {
  url: string;
  target: string;
}

export interface PublishedPage extends PageKey {
  /** '' where that is not known. */
  contentId: string;
  publishSeq: number;
  publishedMs: number;
  doneSeq: number;
  doneMs: number;
  attempts: number;
  nextTryMs: number;
  lastError: string | null;
}

export interface GeneratedPage extends PageKey {
  tsUrl: string;
}

const PAGE = `url, target, content_id AS contentId, publish_seq AS publishSeq, published_ms AS publishedMs, done_seq AS doneSeq, done_ms AS doneMs,
  attempts, next_try_ms AS nextTryMs, last_error AS lastError`;

export const DUE_PAGES = `SELECT ${PAGE} FROM page_publish_info
  WHERE publish_seq > done_seq AND next_try_ms <= ? AND (next_try_ms, publish_seq) > (?, ?)
  ORDER BY next_try_ms, publish_seq LIMIT ?`;

export class SoftStore {
  readonly #numbers: NumberStore;
  readonly #statements;

  constructor(db: Db, numbers: NumberStore) {
    this.#numbers = numbers;
    this.#statements = {
      rules: db.prepare<[], SoftRule>(
        `SELECT url, target, is_pattern AS isPattern, enabled, min_interval_ms AS minIntervalMs FROM soft_clear_cache
         ORDER BY target, url`,
      ),
      putRule: db.prepare<SoftRule>(
        `INSERT INTO soft_clear_cache VALUES ($url, $target, $isPattern, $enabled, $minIntervalMs)
         ON CONFLICT DO UPDATE SET is_pattern = excluded.is_pattern, enabled = excluded.enabled,
           min_interval_ms = excluded.min_interval_ms`,
      ),
      removeRule: db.prepare<[string, string]>('DELETE FROM soft_clear_cache WHERE url = ? AND target = ?'),
      publish: db.prepare<[string, string, number, number, string, string]>(
        `INSERT INTO page_publish_info(url, target, publish_seq, published_ms, content_id)
         SELECT ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM target WHERE name = ?)
         ON CONFLICT DO UPDATE SET publish_seq = excluded.publish_seq, published_ms = excluded.published_ms,
           content_id = CASE excluded.content_id WHEN '' THEN content_id ELSE excluded.content_id END,
           attempts = 0, next_try_ms = 0`,
      ),
      due: db.prepare<[number, number, number, number], PublishedPage>(DUE_PAGES),
      get: db.prepare<[string, string], PublishedPage>(
        `SELECT ${PAGE} FROM page_publish_info WHERE url = ? AND target = ?`,
      ),
      failed: db.prepare<[number, string, string, string, number]>(
        `UPDATE page_publish_info SET attempts = attempts + 1, next_try_ms = ?, last_error = ?
         WHERE url = ? AND target = ? AND publish_seq = ?`,
      ),
      postpone: db.prepare<[number, string, string, number]>(
        'UPDATE page_publish_info SET next_try_ms = ? WHERE url = ? AND target = ? AND publish_seq = ?',
      ),
      // What failed of a later one stays.
      done: db.prepare<PageKey & { seq: number; nowMs: number }>(
        `UPDATE page_publish_info SET done_seq = $seq, done_ms = $nowMs, attempts = iif(publish_seq > $seq, attempts, 0),
           next_try_ms = iif(publish_seq > $seq, next_try_ms, 0), last_error = iif(publish_seq > $seq, last_error, NULL)
         WHERE url = $url AND target = $target AND done_seq < $seq`,
      ),
      waiting: db
        .prepare<[number], number>(
          'SELECT count(*) FROM (SELECT 1 FROM page_publish_info WHERE publish_seq > done_seq LIMIT ?)',
        )
        .pluck(),
      waitingOf: db
        .prepare<[string, number], number>(
          'SELECT count(*) FROM page_publish_info WHERE publish_seq > done_seq AND target = ? AND publish_seq <= ?',
        )
        .pluck(),
      // Its target may have been removed.
      note: db.prepare<GeneratedPage & { madeMs: number }>(
        `INSERT INTO generated_page SELECT $tsUrl, $target, $url, $madeMs
         WHERE EXISTS (SELECT 1 FROM target WHERE name = $target)`,
      ),
      generated: db.prepare<[string, string, number], GeneratedPage>(
        `SELECT ts_url AS tsUrl, target, url FROM generated_page WHERE (ts_url, target) > (?, ?) AND made_ms <= ?
         ORDER BY 1, 2 LIMIT 1000`,
      ),
      namesOf: db
        .prepare<[string, string, number], string>(
          'SELECT ts_url FROM generated_page WHERE url = ? AND target = ? ORDER BY made_ms LIMIT ?',
        )
        .pluck(),
      forget: db.prepare<[string, string]>('DELETE FROM generated_page WHERE ts_url = ? AND target = ?'),
    };
  }

  rules(): SoftRule[] {
    return this.#statements.rules.all();
  }

  putRule(rule: SoftRule): void {
    this.#statements.putRule.run(rule);
  }

  /** @returns whether it was there */
  removeRule({ url, target }: PageKey): boolean {
    return this.#statements.removeRule.run(url, target).changes > 0;
  }

  /** The page has changed; passed over when its target was removed. Inside a transaction. @returns the number of its publication */
  publish({ url, target, contentId = '' }: PageKey & { contentId?: string }, nowMs: number): number {
    const seq = this.#numbers.next('publish_seq');
    this.#statements.publish.run(url, target, seq, nowMs, contentId, target);
    return seq;
  }

  /**
   * Something was done to the page that was to be done before its last publication: that is made again, if it is later than
   * a number. Inside a transaction.
   * @returns whether it was
   */
  publishAgain(page: PageKey, afterSeq: number, nowMs: number): boolean {
    const last = this.get(page);
    if (last === undefined || last.publishSeq <= afterSeq) return false;
    this.publish(page, nowMs);
    return true;
  }

  /** Whether its last publication is not on all rails, or in their backlogs, yet, or is not older than a time. */
  isUnderWaySince(page: PageKey, sinceMs: number): boolean {
    const last = this.get(page);
    return last !== undefined && (last.publishSeq > last.doneSeq || last.publishedMs >= sinceMs);
  }

  /** Pages that are to be generated, those that failed last. @param after from there on */
  due(
    nowMs: number,
    limit: number,
    after: Pick<PublishedPage, 'nextTryMs' | 'publishSeq'> = { nextTryMs: 0, publishSeq: 0 },
  ): PublishedPage[] {
    return this.#statements.due.all(nowMs, after.nextTryMs, after.publishSeq, limit);
  }

  get({ url, target }: PageKey): PublishedPage | undefined {
    return this.#statements.get.get(url, target);
  }

  /** The publication could not be brought to the rails. Inside a transaction; a later one is due at once all the same. */
  failed({ url, target, publishSeq }: PublishedPage, nextTryMs: number, error: string): void {
    this.#statements.failed.run(nextTryMs, error, url, target, publishSeq);
  }

  /** The publication is not to be brought to the rails before a time. Inside a transaction; a later one is due at once. */
  postpone({ url, target, publishSeq }: PublishedPage, untilMs: number): void {
    this.#statements.postpone.run(untilMs, url, target, publishSeq);
  }

  /** The publication is on all rails, or in their backlogs. Inside a transaction. */
  done({ url, target, publishSeq }: PublishedPage, nowMs: number): void {
    this.#statements.done.run({ url, target, seq: publishSeq, nowMs });
  }

  /** Pages that are not everywhere as they were published last, counted up to `most`. */
  waitingCount(most = Number.MAX_SAFE_INTEGER): number {
    return this.#statements.waiting.get(most) ?? 0;
  }

  /** The same of one target. @param lastSeq pages published later are left out */
  waitingCountOf(target: string, lastSeq: number): number {
    return this.#statements.waitingOf.get(target, lastSeq) ?? 0;
  }

  /** Notes a name, before it is asked for. Inside a transaction. @param madeMs the timestamp in it */
  noteGenerated({ tsUrl, target, url }: GeneratedPage, madeMs: number): void {
    this.#statements.note.run({ tsUrl, target, url, madeMs });
  }

  /** Names that may still be on rails, a page at a time. @param untilMs those with later timestamps are left out */
  generated(
    after: Pick<GeneratedPage, 'tsUrl' | 'target'> = { tsUrl: '', target: '' },
    untilMs = Number.MAX_SAFE_INTEGER,
  ): GeneratedPage[] {
    return this.#statements.generated.all(after.tsUrl, after.target, untilMs);
  }

  /** The same of one page, the oldest first. */
  namesOf({ url, target }: PageKey, limit: number): string[] {
    return this.#statements.namesOf.all(url, target, limit);
  }

  /** It is on no rail any more. Inside a transaction. */
  forgetGenerated({ tsUrl, target }: Pick<GeneratedPage, 'tsUrl' | 'target'>): void {
    this.#statements.forget.run(tsUrl, target);
  }
}
