/**
 * Pages that are replaced instead of deleted: the rules that say which, their publications, and the names
 * with a timestamp that they were generated under. A publication is a number, never a time: a page is due
 * while its last publication is higher than the one that is on all rails.
 */
import { JointStore } from '../sqlite/sql-store.js';
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

/** Where a page is in the order in which they are due. */
type Due = Pick<PublishedPage, 'nextTryMs' | 'publishSeq'>;

export interface GeneratedPage extends PageKey {
  tsUrl: string;
}

const PAGE = `url, target, content_id AS contentId, publish_seq AS publishSeq, published_ms AS publishedMs, done_seq AS doneSeq, done_ms AS doneMs,
  attempts, next_try_ms AS nextTryMs, last_error AS lastError`;

export const DUE_PAGES = `SELECT ${PAGE} FROM page_publish_info
  WHERE publish_seq > done_seq AND next_try_ms <= ? AND (next_try_ms, publish_seq) > ($nextTryMs, $publishSeq)
  ORDER BY next_try_ms, publish_seq LIMIT ?`;

export class SoftStore extends JointStore<{ numbers: NumberStore }> {
  readonly #publish = this.sql.run<[page: PageKey, seq: number, nowMs: number, contentId: string]>(
    `INSERT INTO page_publish_info(url, target, publish_seq, published_ms, content_id)
     SELECT $url, $target, ?, ?, ? WHERE EXISTS (SELECT 1 FROM target WHERE name = $target)
     ON CONFLICT DO UPDATE SET publish_seq = excluded.publish_seq, published_ms = excluded.published_ms,
       content_id = CASE excluded.content_id WHEN '' THEN content_id ELSE excluded.content_id END,
       attempts = 0, next_try_ms = 0`,
  );
  readonly #due = this.sql.rows<[nowMs: number, after: Due, limit: number], PublishedPage>(DUE_PAGES);
  readonly #waiting = this.sql.number<[most: number]>(
    'SELECT count(*) FROM (SELECT 1 FROM page_publish_info WHERE publish_seq > done_seq LIMIT ?)',
  );
  readonly #generated = this.sql.rows<[tsUrl: string, target: string, untilMs: number], GeneratedPage>(
    `SELECT ts_url AS tsUrl, target, url FROM generated_page WHERE (ts_url, target) > (?, ?) AND made_ms <= ?
     ORDER BY 1, 2 LIMIT 1000`,
  );

  readonly rules = this.sql.rows<[], SoftRule>(
    `SELECT url, target, is_pattern AS isPattern, enabled, min_interval_ms AS minIntervalMs FROM soft_clear_cache
     ORDER BY target, url`,
  );

  readonly putRule = this.sql.run<[rule: SoftRule]>(
    `INSERT INTO soft_clear_cache VALUES ($url, $target, $isPattern, $enabled, $minIntervalMs)
     ON CONFLICT DO UPDATE SET is_pattern = excluded.is_pattern, enabled = excluded.enabled,
       min_interval_ms = excluded.min_interval_ms`,
  );

  /** @returns whether it was there */
  readonly removeRule = this.sql.changed<[rule: PageKey]>(
    'DELETE FROM soft_clear_cache WHERE url = $url AND target = $target',
  );

  /** The page has changed; passed over when its target was removed. Inside a transaction. @returns the number
   * of its publication */
  publish(page: PageKey & { contentId?: string }, nowMs: number): number {
    const seq = this.stores.numbers.next('publish_seq');
    this.#publish(page, seq, nowMs, page.contentId ?? '');
    return seq;
  }

  /**
   * Something was done to the page that was to be done before its last publication: that is made again, if it
   * is later than a number. Inside a transaction.
   * @returns whether it was
   */
  publishAgain(page: PageKey, afterSeq: number, nowMs: number): boolean {
    const last = this.get(page);
    if (last === undefined || last.publishSeq <= afterSeq) return false;
    this.publish(page, nowMs);
    return true;
  }

  /** True if its last publication is not on all rails, or in their backlogs, yet, or is not older than a
   * time. */
  isUnderWaySince(page: PageKey, sinceMs: number): boolean {
    const last = this.get(page);
    return last !== undefined && (last.publishSeq > last.doneSeq || last.publishedMs >= sinceMs);
  }

  /** Pages that are to be generated, those that failed last. @param after from there on */
  due(nowMs: number, limit: number, after: Due = { nextTryMs: 0, publishSeq: 0 }): PublishedPage[] {
    return this.#due(nowMs, after, limit);
  }

  readonly get = this.sql.row<[page: PageKey], PublishedPage>(
    `SELECT ${PAGE} FROM page_publish_info WHERE url = $url AND target = $target`,
  );

  /** The publication could not be brought to the rails. Inside a transaction; a later one is due at once all
   * the same. */
  readonly failed = this.sql.run<[page: PublishedPage, nextTryMs: number, error: string]>(
    `UPDATE page_publish_info SET attempts = attempts + 1, next_try_ms = ?, last_error = ?
     WHERE url = $url AND target = $target AND publish_seq = $publishSeq`,
  );

  /** The publication is not to be brought to the rails before a time. Inside a transaction; a later one is
   * due at once. */
  readonly postpone = this.sql.run<[page: PublishedPage, untilMs: number]>(
    `UPDATE page_publish_info SET next_try_ms = ?
     WHERE url = $url AND target = $target AND publish_seq = $publishSeq`,
  );

  /** The publication is on all rails, or in their backlogs. Inside a transaction. The failures of a later one
   * stay. */
  readonly done = this.sql.run<[page: PublishedPage, nowMs: number]>(
    `UPDATE page_publish_info SET done_seq = $publishSeq, done_ms = ?, attempts = iif(publish_seq > $publishSeq, attempts, 0),
       next_try_ms = iif(publish_seq > $publishSeq, next_try_ms, 0),
       last_error = iif(publish_seq > $publishSeq, last_error, NULL)
     WHERE url = $url AND target = $target AND done_seq < $publishSeq`,
  );

  /** Pages that are not everywhere as they were published last, counted up to `most`. */
  waitingCount(most = Number.MAX_SAFE_INTEGER): number {
    return this.#waiting(most);
  }

  /** The same of one target. @param lastSeq pages published later are left out */
  readonly waitingCountOf = this.sql.number<[target: string, lastSeq: number]>(
    'SELECT count(*) FROM page_publish_info WHERE publish_seq > done_seq AND target = ? AND publish_seq <= ?',
  );

  /** Notes a name, before it is asked for, unless the target has been removed. Inside a transaction. @param
   * madeMs the timestamp in it */
  readonly noteGenerated = this.sql.run<[page: GeneratedPage, madeMs: number]>(
    `INSERT INTO generated_page SELECT $tsUrl, $target, $url, ?
     WHERE EXISTS (SELECT 1 FROM target WHERE name = $target)`,
  );

  /** Names that may still be on rails, a page at a time. @param untilMs those with later timestamps are left
   * out */
  generated(
    after: Pick<GeneratedPage, 'tsUrl' | 'target'> = { tsUrl: '', target: '' },
    untilMs = Number.MAX_SAFE_INTEGER,
  ): GeneratedPage[] {
    return this.#generated(after.tsUrl, after.target, untilMs);
  }

  /** The same of one page, the oldest first. */
  readonly namesOf = this.sql.values<[page: PageKey, limit: number], string>(
    'SELECT ts_url FROM generated_page WHERE url = $url AND target = $target ORDER BY made_ms LIMIT ?',
  );

  /** The name is on no rail any more. Inside a transaction. */
  readonly forgetGenerated = this.sql.run<[name: Pick<GeneratedPage, 'tsUrl' | 'target'>]>(
    'DELETE FROM generated_page WHERE ts_url = $tsUrl AND target = $target',
  );
}
