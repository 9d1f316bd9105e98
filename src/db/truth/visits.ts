/**
 * How often held content changes (table visit): what a scan is chosen by, and how it is noticed that a page
 * is gone. A row for each page that was fetched again; it goes with the content. All methods run inside the
 * caller's transaction.
 */
import { SqlStore } from '../sqlite/sql-store.js';
import { GONE, verdictOf, type Gone, type PageFailures } from './gone.js';

/** Visits of a page. Times are seconds since 1970. */
interface PageVisits extends PageFailures {
  n: number;
  x: number;
  t: number;
  scored: number | null;
  noisyuntil: number | null;
}

/** The row of lccurl, and when its content was fetched. */
export interface VisitedPage {
  id: number;
  fetched_time: number;
}

/** Visits of a page at which all counts are halved, so that what it was long ago counts less and less. */
const MOST_VISITS = 16;

export class VisitStore extends SqlStore {
  readonly #select = this.sql.row<[id: number], PageVisits>(
    'SELECT checked, n, x, t, fails, failcode, failsince, scored, noisyuntil FROM visit WHERE id = ?',
  );
  readonly #upsert = this.sql.run<[PageVisits & { id: number }]>(
    `INSERT INTO visit(id, checked, n, x, t, fails, failcode, failsince, scored, noisyuntil)
     VALUES ($id, $checked, $n, $x, $t, $fails, $failcode, $failsince, $scored, $noisyuntil)
     ON CONFLICT(id) DO UPDATE SET checked = $checked, n = $n, x = $x, t = $t, fails = $fails, failcode = $failcode,
       failsince = $failsince, scored = $scored, noisyuntil = $noisyuntil`,
  );
  readonly #updateNoisy = this.sql.run<[untilS: number, id: number]>(
    'UPDATE visit SET noisyuntil = ? WHERE id = ?',
  );

  /** Visits of a page; of one that was not fetched again since it came: nothing but when. */
  of({ id, fetched_time }: VisitedPage): PageVisits {
    return (
      this.#select(id) ?? {
        checked: fetched_time,
        n: 0,
        x: 0,
        t: 0,
        fails: 0,
        failcode: null,
        failsince: null,
        scored: null,
        noisyuntil: null,
      }
    );
  }

  /** A page was fetched, or confirmed. @param scored day on which that counts for its provider, if it does */
  seen(id: number, before: PageVisits, isChanged: boolean, nowS: number, scored: number | null): void {
    const halves = before.n + 1 >= MOST_VISITS ? 2 : 1;
    const n = Math.floor((before.n + 1) / halves);
    this.#write(id, {
      ...before,
      checked: nowS,
      n,
      x: Math.min(n, Math.floor((before.x + (isChanged ? 1 : 0)) / halves)),
      t: Math.floor((before.t + sinceLast(before, nowS)) / halves),
      fails: 0,
      failcode: null,
      failsince: null,
      scored,
    });
  }

  /**
   * A page could not be had, and its content stays for now. The time since the last visit counts for the next
   * one.
   * @param code status, or code of lcc-codes(7) @param isElsewhere it has moved for good, or is what others
   * are by now
   * @returns how it is gone (gone.ts); undefined: it is not
   */
  failed(page: VisitedPage, code: number, nowS: number, isElsewhere: boolean): Gone | undefined {
    const before = this.of(page);
    const verdict = verdictOf(before, code, nowS, isElsewhere);
    if (verdict === 'said' || verdict === 'missed') return verdict;
    // Looked at again too soon it is as it was: an hour after the first time it is asked for again.
    const waits = verdict === 'too-soon';
    this.#write(page.id, {
      ...before,
      checked: waits ? before.checked : nowS,
      t: before.t + (waits ? 0 : sinceLast(before, nowS)),
      fails: before.fails + 1,
      failcode: code,
      failsince: before.failsince ?? nowS,
    });
    return undefined;
  }

  /** Gone, and not removed for the time being. */
  keptBack(page: VisitedPage, nowS: number): void {
    const before = this.of(page);
    const failsince = before.failsince ?? nowS;
    const t = before.t + sinceLast(before, nowS);
    this.#write(page.id, { ...before, checked: nowS, t, fails: before.fails + 1, failcode: GONE, failsince });
  }

  /** The bytes of a page differ at every fetch: until then it counts nowhere. */
  noisy(id: number, untilS: number): void {
    this.#updateNoisy(untilS, id);
  }

  /** The content is gone. */
  readonly forget = this.sql.run<[id: number]>('DELETE FROM visit WHERE id = ?');

  #write(id: number, visit: PageVisits): void {
    this.#upsert({ ...visit, id });
  }
}

/** Seconds; none with a clock that was set back. */
function sinceLast({ checked }: PageVisits, nowS: number): number {
  return Math.max(0, nowS - checked);
}
