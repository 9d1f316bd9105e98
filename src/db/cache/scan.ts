/** Looks of a scan at lcc.db: whose pages are asked for again, how often they changed, and what waits
 * already. */
import { ROBOTS_FORBID, UNPERMITTED } from '../../wire/codes.js';
import { placesOf } from '../queue/folders.js';
import { MOST_BETWEEN_AUDITS_S } from '../truth/audits.js';
import { LccReader } from '../sqlite/lcc-reader.js';

export interface ScanProvider {
  pid: number;
  /** Rows held. */
  held: number;
  /** Urls a day; null: as configured. */
  perDay: number | null;
}

/** A provider whose announcements are audited, and how far its audit is. */
interface AuditProvider {
  pid: number;
  held: number;
  /** Urls of its audit that were asked for and have been settled, … */
  settled: number;
  /** … among them those that had changed, or were gone, without a word, … */
  silent: number;
  /** … those that are not settled yet, … */
  open: number;
  /** … and those that were asked for within a day. */
  today: number;
}

/** A row's id, provider, what is known of its visits, and, after a failure that left the content, when it is
 * asked for again. */
type RawVisited = [
  id: number,
  pid: number,
  checkedS: number,
  n: number,
  x: number,
  t: number,
  retryS: number | null,
  isSecondLook: 0 | 1,
];

/** A page that was not found is looked for once more before it is taken for gone; what fails otherwise is
 * given a day. */
const RETRY = `CASE WHEN coalesce(fails, 0) = 0 THEN NULL WHEN failcode = 404 THEN checked + 3600 ELSE checked + 86400 END`;

interface ScanUrl {
  pid: number;
  curl: string;
  mimetype: string;
  furl: string | null;
  served: 0 | 1;
  /** Null: its owner announced it. Of any other robots.txt says whether it may be asked for. */
  hops: number | null;
}

interface KnownUrl {
  curl: string;
  hops: number;
}

/** Condition on a row of pidb. */
const IS_SCANNED = 'coalesce(scan, spider) = 1 AND enabled = 1';
/** Later than audits are apart, a time was noted while the clock was ahead. */
const IS_AUDIT_DUE = `(auditdue <= $nowS OR auditdue > $nowS + ${MOST_BETWEEN_AUDITS_S}) AND enabled = 1`;

export class ScanReader extends LccReader {
  readonly hasProvider = this.guarded(this.sql.has<[pid: number]>('SELECT 1 FROM pidb WHERE pid = ?'));

  readonly isScanned = this.guarded(
    this.sql.has<[pid: number]>(`SELECT 1 FROM pidb WHERE pid = ? AND ${IS_SCANNED}`),
  );

  readonly isAuditDue = this.guarded(
    this.sql.has<[values: { pid: number; nowS: number }]>(
      `SELECT 1 FROM pidb WHERE pid = $pid AND ${IS_AUDIT_DUE}`,
    ),
  );

  /** Providers that are scanned, in the order of their numbers. */
  readonly providers = this.guarded(
    this.sql.rows<[], ScanProvider>(
      `SELECT pid, filesused AS held, scanperday AS perDay FROM pidb
       WHERE ${IS_SCANNED} ORDER BY pid`,
    ),
  );

  /** Providers whose audit is due, or goes on, in the order of their numbers. */
  readonly auditProviders = this.guarded(
    this.sql.rows<[{ nowS: number }], AuditProvider>(
      `SELECT p.pid, (SELECT count(*) FROM lccurl WHERE lccurl.pid = p.pid AND hops IS NULL) AS held,
         coalesce(sum(state BETWEEN 2 AND 5), 0) AS settled, coalesce(sum(state IN (4, 5)), 0) AS silent,
         coalesce(sum(state < 2), 0) AS open, coalesce(sum(state = 0 OR asked > $nowS - 86400), 0) AS today
       FROM pidb p LEFT JOIN audit a ON a.pid = p.pid AND a.began > p.auditdue
       WHERE ${IS_AUDIT_DUE} GROUP BY p.pid ORDER BY p.pid`,
    ),
  );

  /** Rows that their owners announced, those of an audit that goes on left out: id, provider, when it was
   * asked for last. */
  *announced(): Generator<[id: number, pid: number, checkedS: number]> {
    yield* this.#each<[number, number, number]>(
      `SELECT lccurl.id, lccurl.pid, coalesce(checked, fetched_time) FROM lccurl LEFT JOIN visit ON visit.id = lccurl.id
       WHERE hops IS NULL AND NOT EXISTS (SELECT 1 FROM audit JOIN pidb USING (pid) WHERE audit.pid = lccurl.pid
         AND audit.began > auditdue AND audit.id = lccurl.id)`,
    );
  }

  /** All that is held, of whomever. */
  *visited(): Generator<RawVisited> {
    yield* this.#each<RawVisited>(
      `SELECT lccurl.id, pid, coalesce(checked, fetched_time), coalesce(n, 0), coalesce(x, 0), coalesce(t, 0), ${RETRY},
         coalesce(fails > 0 AND failcode = 404, 0)
       FROM lccurl LEFT JOIN visit ON visit.id = lccurl.id`,
    );
  }

  readonly url = this.guarded(
    this.sql.row<[id: number], ScanUrl>(
      'SELECT pid, curl, mimetype, givenfurl AS furl, served, hops FROM lccurl WHERE id = ?',
    ),
  );

  /** True if something of that url waits. */
  readonly isWaiting = this.guarded(
    this.sql.has<[pid: number, curl: string]>(`SELECT 1 WHERE EXISTS ${placesOf()}`),
  );

  /** True if robots.txt forbade it when its turn came last. */
  readonly isForbidden = this.guarded(
    this.sql.has<[pid: number, curl: string]>(
      `SELECT 1 FROM known WHERE pid = ? AND curl = ? AND code = ${ROBOTS_FORBID}`,
    ),
  );

  /** Urls that robots.txt forbade, and that must be judged again, longest first. */
  readonly forbidden = this.#knownOf(`code = ${ROBOTS_FORBID}`);

  /** Urls that were asked for in vain, and may be asked for again, longest first. */
  readonly known = this.#knownOf(`code NOT IN (${ROBOTS_FORBID}, ${UNPERMITTED})`);

  #knownOf(which: string) {
    return this.guarded(
      this.sql.rows<[pid: number, nowS: number, most: number], KnownUrl>(
        `SELECT curl, hops FROM known INDEXED BY known_until WHERE pid = ? AND until <= ? AND hops IS NOT NULL
         AND ${which} AND NOT EXISTS
           ${placesOf('known.pid', 'known.curl')} ORDER BY until LIMIT ?`,
      ),
    );
  }

  *#each<T>(sql: string): Generator<T> {
    const rows = this.guard(() => this.db.prepare<[], T>(sql).raw().iterate());
    for (;;) {
      const next = this.guard(() => rows.next());
      if (next.done === true) return;
      yield next.value;
    }
  }
}
