/**
 * The change sequence as an index that knows pages by their browse URL must be told it. Rows and URLs are not
 * the same: a row can get another URL, and rows can share one (an HTML and an XML view of a page). So what is
 * told of a URL does not follow from the change met, but from what is shown under it in this snapshot:
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
import { COLUMNS, type ColumnName, type ColumnValue } from './fields.js';
import { Conditions, type Selection } from './selection.js';
import type { Statements } from './statements.js';

/** Columns that tell of the change met, not of the row. */
const OF_THE_CHANGE: ReadonlySet<ColumnName> = new Set(['seq', 'changed_time']);

/** A row shown under a URL. */
interface Shown {
  /** True if the stream has it by itself. */
  isMet: boolean;
  values: ColumnValue[];
}

export class Pages {
  readonly #columns: readonly ColumnName[];
  readonly #tellsHeld: boolean;
  readonly #tellsGone: boolean;
  readonly #later;
  /** Values that #later looks for: one object for all, because it is asked once a row. */
  readonly #looked: Record<string, ColumnValue>;
  readonly #rows;
  readonly #laterGone;
  readonly #providers: Providers;

  constructor(
    statements: Statements,
    machineId: string,
    selection: Selection,
    columns: readonly ColumnName[],
    providers: Providers,
  ) {
    this.#columns = columns;
    this.#tellsHeld = selection.sides.includes('held');
    this.#tellsGone = selection.sides.includes('gone');
    this.#providers = providers;
    // A part of a stream: what comes before or after it is met as well, there or by the next stream.
    const sinceSeq = selection.streamSinceSeq ?? selection.sinceSeq;
    const conditions = new Conditions({ ...selection, sinceSeq, toSeq: undefined });
    const identity = conditions.identity();
    const isMet = conditions.change('held');
    const gone = conditions.change('gone');
    const values = { ...conditions.values, machine: machineId };
    this.#later = statements
      .prepare<[object], number>(
        `SELECT 1 FROM (SELECT seq FROM lccurl WHERE burl = $burl AND ${identity}
         UNION ALL SELECT seq FROM lccurl WHERE pid = $provider AND curl = $burl AND burl IS NULL AND ${identity})
         WHERE seq > $seq LIMIT 1`,
      )
      .pluck();
    this.#looked = { ...values, burl: '', provider: null, seq: 0 };
    this.#rows = bound(
      statements
        .prepare<[object], ColumnValue[]>(
          `${shownUnder(
            `lccurl.seq AS seq, ${isMet} AS met, ${columns.map((column, i) => `${COLUMNS[column].held} AS c${i}`).join(', ')}`,
            identity,
          )} ORDER BY seq DESC LIMIT 1`,
        )
        .raw(),
      values,
    );
    this.#laterGone = bound(
      statements.prepare<[object], number>(
        `SELECT 1 FROM tombstone WHERE coalesce(burl, curl) = $burl AND seq > $seq AND ${gone} AND ${identity} LIMIT 1`,
      ),
      values,
    );
  }

  /** The values to be told when a change of a row under `burl` is met; undefined: nothing. */
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
    const pids = this.#providers.of(burl);
    return (
      !this.#isLater(seq, burl, pids[0] ?? null) && !pids.slice(1).some(pid => this.#isLater(seq, burl, pid))
    );
  }

  /** True if a row that was changed later is shown under the URL: one with that browse URL, or the provider's
   * of that curl. */
  #isLater(seq: number, burl: string, provider: number | null): boolean {
    const looked = this.#looked;
    looked['burl'] = burl;
    looked['provider'] = provider;
    looked['seq'] = seq;
    return this.#later.get(looked) !== undefined;
  }

  /** The row that was changed last of those shown under the URL. */
  #shown(burl: string): Shown | undefined {
    const [row] = this.#rows({ burl, pids: JSON.stringify(this.#providers.of(burl)) });
    if (row === undefined) return undefined;
    const [, isMet, ...values] = row;
    return { isMet: isMet === 1, values };
  }
}

/** The mimetypes of all rows that are shown under a URL, or were at some time since the stream began. */
export function typesUnder(
  statements: Statements,
  selection: Selection,
  providers: Providers,
  burl: string,
): string[] {
  const conditions = new Conditions(selection);
  const identity = conditions.identity();
  const sinceSeq = conditions.bind('sinceSeq', selection.streamSinceSeq ?? selection.sinceSeq ?? 0);
  const sql = `SELECT DISTINCT mimetype FROM (${shownUnder('mimetype', identity)} UNION ALL
    SELECT mimetype FROM tombstone WHERE coalesce(burl, curl) = $burl AND seq > ${sinceSeq} AND ${identity})`;
  const values = { ...conditions.values, burl, pids: JSON.stringify(providers.of(burl)) };
  return statements.prepare<[object], string>(sql).pluck().all(values);
}

/** Rows under $burl. One without a browse URL of its own is found by its curl, in each provider that can have
 * it. */
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

/**
 * Which providers can hold a url: keys are ordered by provider and curl, so the first and last of each tell.
 */
export class Providers {
  readonly #statements: Statements;
  /** By their first url. */
  #ranges: ProviderRange[] | undefined;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  of(curl: string): number[] {
    const bytes = Buffer.from(curl);
    const ranges = (this.#ranges ??= this.#read());
    let below = 0;
    for (let above = ranges.length; below < above;) {
      const middle = (below + above) >> 1;
      if (Buffer.compare((ranges[middle] as ProviderRange).first, bytes) <= 0) below = middle + 1;
      else above = middle;
    }
    const pids: number[] = [];
    for (let i = below - 1; i >= 0; i--) {
      const { pid, last, lastUpTo } = ranges[i] as ProviderRange;
      if (Buffer.compare(lastUpTo, bytes) < 0) break;
      if (Buffer.compare(bytes, last) <= 0) pids.push(pid);
    }
    return pids;
  }

  #read(): ProviderRange[] {
    const ranges = this.#statements
      .prepare<[], Omit<ProviderRange, 'lastUpTo'>>(
        `WITH RECURSIVE provider(pid) AS (
           SELECT min(pid) FROM lccurl
           UNION ALL SELECT (SELECT min(pid) FROM lccurl WHERE lccurl.pid > provider.pid) FROM provider
           WHERE provider.pid IS NOT NULL)
         SELECT pid, CAST((SELECT min(curl) FROM lccurl WHERE lccurl.pid = provider.pid) AS BLOB) AS first,
           CAST((SELECT max(curl) FROM lccurl WHERE lccurl.pid = provider.pid) AS BLOB) AS last
         FROM provider WHERE pid IS NOT NULL`,
      )
      .all()
      .sort((a, b) => Buffer.compare(a.first, b.first));
    let lastUpTo: Buffer = Buffer.alloc(0);
    return ranges.map(range => {
      if (Buffer.compare(lastUpTo, range.last) < 0) lastUpTo = range.last;
      return { ...range, lastUpTo };
    });
  }
}

interface ProviderRange {
  pid: number;
  first: Buffer;
  last: Buffer;
  /** The last url of this one and of all before it: where that is before a url, none of them can hold it. */
  lastUpTo: Buffer;
}
