/**
 * The change sequence as an index that knows pages by their browse URL must be told it. Rows and URLs are not the same:
 * a row can get another URL, and rows can share one (an HTML and an XML view of a page). So what is told of a URL does
 * not follow from the change met, but from what is shown under it in this snapshot:
 *
 *     met            shown under the URL now              told
 *     a row held     this row was changed last            upsert, of this row
 *                    another was changed later            nothing: that one is met too
 *     URL gone       a row this stream has besides        nothing: that one is met too
 *                    a row changed before this stream     upsert, of that row
 *                    nothing                              delete
 *
 * and of several deletions of one URL only the last is looked at, so that every URL is told once.
 */
import type { Db } from '../open.js';
import { CONTENT_SUM_TEXT, isSoundText } from '../sums.js';
import { COLUMNS, type ColumnName, type ColumnValue } from './columns.js';
import { Conditions, type Selection } from './selection.js';

/** What is told of the change met, not of the row. */
const OF_THE_CHANGE: ReadonlySet<ColumnName> = new Set(['seq', 'changed_time']);

/** A row shown under a URL. */
interface Shown {
  seq: number;
  /** Whether the stream has it by itself. */
  isMet: boolean;
  values: ColumnValue[];
}

export class Pages {
  readonly #columns: readonly ColumnName[];
  readonly #tellsHeld: boolean;
  readonly #tellsGone: boolean;
  readonly #seqs;
  readonly #rows;
  readonly #laterGone;
  readonly #providers: Providers;

  constructor(db: Db, machineId: string, selection: Selection, columns: readonly ColumnName[]) {
    this.#columns = columns;
    this.#tellsHeld = selection.sides.includes('held');
    this.#tellsGone = selection.sides.includes('gone');
    this.#providers = new Providers(db);
    // A part of a stream: what comes before or behind it is met as well, there or by the next stream.
    const sinceSeq = selection.streamSinceSeq ?? selection.sinceSeq;
    const conditions = new Conditions({ ...selection, sinceSeq, toSeq: undefined });
    const identity = conditions.identity();
    const isMet = conditions.change('held');
    const gone = conditions.change('gone');
    const values = { ...conditions.values, machine: machineId };
    this.#seqs = bound(db.prepare<[object], number>(shownUnder('seq', identity)).pluck(), values);
    this.#rows = bound(
      db
        .prepare<[object], ColumnValue[]>(
          `${shownUnder(
            `lccurl.seq AS seq, ${isMet} AS met, ${CONTENT_SUM_TEXT} AS sumtext, sum,
             ${columns.map((column, i) => `${COLUMNS[column].held} AS c${i}`).join(', ')}`,
            identity,
          )} ORDER BY seq DESC`,
        )
        .raw(),
      values,
    );
    this.#laterGone = bound(
      db.prepare<[object], number>(
        `SELECT 1 FROM tombstone WHERE coalesce(burl, curl) = $burl AND seq > $seq AND ${gone} AND ${identity} LIMIT 1`,
      ),
      values,
    );
  }

  /** What is told when a change of a row under `burl` is met; undefined: nothing. */
  told(isDelete: boolean, seq: number, burl: string, values: ColumnValue[]): ColumnValue[] | undefined {
    if (!isDelete) return this.#isLast(seq, burl) ? values : undefined;
    if (this.#laterGone({ burl, seq }).length > 0) return undefined;
    const shown = this.#shown(burl);
    if (shown === undefined) return this.#tellsGone ? values : undefined;
    if (shown.isMet || !this.#tellsHeld) return undefined;
    return this.#columns.map(
      (column, i) => (OF_THE_CHANGE.has(column) ? values[i] : shown.values[i]) ?? null,
    );
  }

  #isLast(seq: number, burl: string): boolean {
    const others = this.#seqs({ burl, pids: this.#providers.of(burl) });
    if (others.every(other => other <= seq)) return true;
    // Rare, and worth a second look: a damaged row is told nobody.
    return this.#shown(burl)?.seq === seq;
  }

  /** The sound row that was changed last of those shown under the URL. */
  #shown(burl: string): Shown | undefined {
    for (const [seq, isMet, text, sum, ...values] of this.#rows({ burl, pids: this.#providers.of(burl) })) {
      if (isSoundText(String(text), sum as number | null))
        return { seq: Number(seq), isMet: isMet === 1, values };
    }
    return undefined;
  }
}

/** The mimetypes of all rows that are shown under a URL, or were at some time since the stream began. */
export class TypesUnder {
  readonly #types;
  readonly #providers: Providers;

  constructor(db: Db, selection: Selection) {
    this.#providers = new Providers(db);
    const conditions = new Conditions(selection);
    const identity = conditions.identity();
    const sinceSeq = conditions.bind('sinceSeq', selection.streamSinceSeq ?? selection.sinceSeq ?? 0);
    this.#types = bound(
      db
        .prepare<[object], string>(
          `SELECT DISTINCT mimetype FROM (${shownUnder('mimetype', identity)} UNION ALL
           SELECT mimetype FROM tombstone WHERE coalesce(burl, curl) = $burl AND seq > ${sinceSeq} AND ${identity})`,
        )
        .pluck(),
      conditions.values,
    );
  }

  of(burl: string): string[] {
    return this.#types({ burl, pids: this.#providers.of(burl) });
  }
}

/** Rows under $burl. One without a browse URL of its own is found by its curl, in each provider that can have it. */
function shownUnder(what: string, identity: string): string {
  return `SELECT ${what} FROM lccurl WHERE burl = $burl AND ${identity}
    UNION ALL
    SELECT ${what} FROM (SELECT value AS provider FROM json_each($pids)) CROSS JOIN lccurl ON pid = provider
    WHERE curl = $burl AND burl IS NULL AND ${identity}`;
}

/** A statement that always gets these values besides its own. */
function bound<Row>(
  statement: { all(values: object): Row[] },
  always: Record<string, ColumnValue>,
): (values: Record<string, ColumnValue>) => Row[] {
  return values => statement.all({ ...always, ...values });
}

/** Which providers can hold a url: keys are ordered by provider and curl, so the first and last of each tell. */
class Providers {
  readonly #db: Db;
  #ranges: { pid: number; first: Buffer; last: Buffer }[] | undefined;

  constructor(db: Db) {
    this.#db = db;
  }

  /** As a JSON array. */
  of(curl: string): string {
    const bytes = Buffer.from(curl);
    this.#ranges ??= this.#read();
    const pids = this.#ranges
      .filter(({ first, last }) => Buffer.compare(first, bytes) <= 0 && Buffer.compare(bytes, last) <= 0)
      .map(({ pid }) => pid);
    return JSON.stringify(pids);
  }

  #read(): { pid: number; first: Buffer; last: Buffer }[] {
    return this.#db
      .prepare<[], { pid: number; first: Buffer; last: Buffer }>(
        `WITH RECURSIVE provider(pid) AS (
           SELECT min(pid) FROM lccurl
           UNION ALL SELECT (SELECT min(pid) FROM lccurl WHERE lccurl.pid > provider.pid) FROM provider
           WHERE provider.pid IS NOT NULL)
         SELECT pid, CAST((SELECT min(curl) FROM lccurl WHERE lccurl.pid = provider.pid) AS BLOB) AS first,
           CAST((SELECT max(curl) FROM lccurl WHERE lccurl.pid = provider.pid) AS BLOB) AS last
         FROM provider WHERE pid IS NOT NULL`,
      )
      .all();
  }
}
