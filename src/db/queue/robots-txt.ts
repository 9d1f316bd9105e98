/** robots.txt of origins that something unasked was to be fetched from (table `robots`), as they were when
 * they were asked for last, and for how long those origins are left alone. */
import { corrupt, isInteger, isTextOrNull } from '../sqlite/row-checks.js';
import { SqlStore } from '../sqlite/sql-store.js';

/** For how long what nobody announced is not asked of an origin: it did not answer, or asked for patience. */
export interface OriginPause {
  /** Times that it did not answer, one after the other. */
  failures: number;
  /** When it is asked again, seconds since 1970; 0: it need not be left alone. */
  again: number;
}

/** Times are seconds since 1970. */
export interface StoredRobots extends OriginPause {
  /** Status of the last answer, or a code of lcc-codes(7); 0: there was none. */
  http: number;
  /** First 512 KB of the last answer with a body; null if none had one. */
  body: string | null;
  etag: string | null;
  lastmodified: string | null;
  /** When `body` came, or was confirmed. */
  fetched: number;
  /** When it was asked for last. */
  checked: number;
}

/** Rows that a flush of all makes old; another flush those of further ones. */
const MAX_EXPIRED = 100_000;
const DAY_S = 86_400;
/** Rows forgotten with each that is written: more than come. */
const FORGOTTEN_AT_A_TIME = 4;

export class RobotsStore extends SqlStore {
  readonly #select = this.sql.row<[origin: string], StoredRobots>(
    'SELECT http, body, etag, lastmodified, fetched, checked, failures, again FROM robots WHERE origin = ?',
  );
  readonly #upsert = this.sql.run<[StoredRobots & { origin: string }]>(
    `INSERT INTO robots(origin, http, body, etag, lastmodified, fetched, checked, failures, again)
     VALUES ($origin, $http, $body, $etag, $lastmodified, $fetched, $checked, $failures, $again)
     ON CONFLICT(origin) DO UPDATE SET http = $http, body = $body, etag = $etag, lastmodified = $lastmodified,
       fetched = $fetched, checked = $checked, failures = $failures, again = $again`,
  );
  readonly #forget = this.sql.run<[oldestS: number, limit: number]>(
    'DELETE FROM robots WHERE origin IN (SELECT origin FROM robots WHERE checked < ? LIMIT ?)',
  );
  readonly #expire = this.sql.run<[values: { origin: string; atS: number }]>(
    `UPDATE robots SET checked = min(checked, $atS), failures = 0, again = 0
     WHERE origin = $origin AND (checked > $atS OR again > 0)`,
  );
  readonly #expireAll = this.sql.run<[values: { atS: number }]>(
    `UPDATE robots SET checked = min(checked, $atS), failures = 0, again = 0
     WHERE origin IN (SELECT origin FROM robots WHERE checked > $atS OR again > 0 LIMIT ${MAX_EXPIRED})`,
  );

  /** @throws as SQLite for damage, for a row whose values are not of their columns' types */
  find(origin: string): StoredRobots | undefined {
    const row = this.#select(origin);
    if (row === undefined) return undefined;
    const { http, body, etag, lastmodified, fetched, checked, failures, again } = row;
    const isWhole =
      [http, fetched, checked, failures, again].every(isInteger) &&
      [body, etag, lastmodified].every(isTextOrNull);
    if (!isWhole) throw corrupt(`the row of ${origin} in robots has a value of another type`);
    return row;
  }

  /** Inside a transaction. @param oldestS rows that were asked for before it are forgotten */
  note(origin: string, row: StoredRobots, oldestS: number): void {
    this.#upsert({ origin, ...row });
    this.#forget(oldestS, FORGOTTEN_AT_A_TIME);
  }

  /** For how long an origin is left alone, whatever its robots.txt is. Inside a transaction. */
  readonly pause = this.sql.run<[origin: string, pause: OriginPause, nowS: number]>(
    `INSERT INTO robots(origin, http, checked, failures, again) VALUES (?, 0, ?, $failures, $again)
     ON CONFLICT(origin) DO UPDATE SET failures = $failures, again = $again`,
  );

  /**
   * Ends the pauses, and has it asked for again before it counts further; copies stay. Inside a transaction.
   * @param origins undefined: all
   */
  expire(nowS: number, origins?: readonly string[]): void {
    const atS = nowS - DAY_S;
    if (origins === undefined) this.#expireAll({ atS });
    else for (const origin of origins) this.#expire({ origin, atS });
  }
}
