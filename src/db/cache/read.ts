/** The read side of the LCC DB: what is held (lccurl) and what is gone (tombstone), along the change
 * sequence, from one snapshot. Memory does not grow with the number of rows. */
import { beforeFirst } from '../../config/shards.js';
import { LccError } from '../../lib/errors.js';
import { isOutdated } from '../../lib/sqlite-read.js';
import { openReadOnly, type Db } from '../sqlite/open.js';
import { purgedOf } from '../sqlite/counters.js';
import { readStoreMark } from '../names/store-mark.js';
import { corrupt } from '../sqlite/row-checks.js';
import { COLUMNS, type ColumnName, type ColumnValue } from './fields.js';
import { Pages, Providers, typesUnder } from './pages.js';
import { inOrder, oldPathsSql, union, type Selection } from './selection.js';
import { Statements } from './statements.js';
import { StoreRegister } from './stores.js';
import { hazardSql, lineSql, piecesOf, splitHazards, type LineTemplate } from './template.js';

export type { Selection } from './selection.js';

/** Lines put together in one go: enough to make the crossing cheap, few enough for malloc(3) to reuse the
 * memory (128 KB). */
const LINES_AT_A_TIME = 250;

/**
 * One snapshot of the LCC DB: all reads of a reader see the same state, whatever is written meanwhile, until
 * `renew`. As long as a snapshot is open the write-ahead log cannot be used again and grows: a caller that
 * waits for others calls `rest` first.
 */
export class CacheReader {
  readonly #path: string;
  readonly #db: Db;
  readonly #statements: Statements;
  /** Machine whose content counts as local. */
  readonly machineId: string;
  readonly storeId: string;
  #highWater = 0;
  #purged = 0;
  /** As they are in this snapshot. */
  #providers: Providers | undefined;
  /** A connection without a snapshot, when one was needed. */
  #present: Db | undefined;

  /**
   * @param machineId machine whose content counts as local (column `localfileid`)
   * @throws LccError `input.missing`, `config`, `data.malformed` as `openReadOnly`
   */
  constructor(path: string, machineId: string) {
    this.#path = path;
    this.#db = openReadOnly(path);
    this.#statements = new Statements(this.#db);
    this.machineId = machineId;
    this.renew();
    const storeId = this.#value("SELECT value FROM meta WHERE key = 'store_id'");
    if (typeof storeId !== 'string') throw new LccError('io', `${path}: meta has no store_id`);
    this.storeId = storeId;
  }

  /** The last number of the change sequence given out. */
  get highWater(): number {
    return this.#highWater;
  }

  /** The place from which a reading of the change sequence begins: a home's numbers may begin far above 0. */
  startOf({ sinceSeq = 0 }: Pick<Selection, 'sinceSeq'>): number {
    return Math.max(sinceSeq, beforeFirst(this.#highWater));
  }

  /** The number before which cursors begin again (`purgedOf`). */
  get purged(): number {
    return this.#purged;
  }

  /** Looks at the database as it is now. @throws LccError `try.later` when it is outdated */
  renew(): void {
    if (this.isOutdated)
      throw new LccError(
        'try.later',
        `${this.#path}: the database is in use again since this copy was made; run again`,
      );
    this.rest();
    this.#providers = undefined;
    this.#db.exec('BEGIN');
    this.#highWater = Number(this.#value("SELECT value FROM counter WHERE name = 'seq'"));
    this.#purged = Math.min(purgedOf(this.#db), this.#highWater);
  }

  /** The same for its numbers alone: no snapshot is held then. @returns the last number */
  look(): number {
    this.renew();
    this.rest();
    return this.#highWater;
  }

  /** True if it reads what was on a read-only disk before somebody else, for whom it is not, wrote to it. */
  get isOutdated(): boolean {
    return isOutdated(this.#db);
  }

  /** Lets the snapshot go; nothing may be read before `renew`. */
  rest(): void {
    if (this.#db.inTransaction) this.#db.exec('COMMIT');
  }

  /** Changes with every commit of others; asked for between `rest` and `renew`. */
  dataVersion(): number {
    return this.isOutdated ? -1 : Number(this.#db.pragma('data_version', { simple: true }));
  }

  /** True if the store there can be the one that rows point into; of one that bears no id, or rows that know
   * none, nobody can tell. */
  canPointInto(storeDir: string): boolean {
    const mark = readStoreMark(storeDir);
    if (mark !== undefined && mark.storeId === undefined) return true;
    return new StoreRegister(this.#db).fits(this.machineId, mark?.storeId ?? '');
  }

  /** True if a row points to a file of a machine, by default of this one, at this moment, whatever the
   * snapshot says: what was replaced or deleted since may be gone. */
  isHeldNow(fileId: string, machineId = this.machineId): boolean {
    this.#present ??= openReadOnly(this.#path);
    const sql = 'SELECT 1 FROM lccurl WHERE fetched_fileid = ? AND fetched_machineid = ?';
    return this.#present.prepare(sql).get(fileId, machineId) !== undefined;
  }

  close(): void {
    this.#db.close();
    this.#present?.close();
  }

  #value(sql: string, ...values: unknown[]): unknown {
    return this.#statements
      .prepare(sql)
      .pluck()
      .get(...values);
  }

  count(selection: Selection): number {
    const { sql, values } = union(selection, () => '1');
    return Number(this.#value(`SELECT count(*) FROM (${sql})`, this.#bound(values)));
  }

  /** The values of `columns` of each row, in the order of the change sequence. @throws what SQLite says of
   * damage */
  *rows(selection: Selection, columns: readonly ColumnName[]): Generator<ColumnValue[], void> {
    const { sql, values } = inOrder(this.#planned(selection), side =>
      columns.map(column => COLUMNS[column][side]).join(', '),
    );
    const statement = this.#statements.prepare(sql).raw();
    for (const row of statement.iterate(this.#bound(values)) as IterableIterator<ColumnValue[]>) {
      // The sequence number that only the order needs goes.
      row.length = columns.length;
      yield whole(row);
    }
  }

  /**
   * The same for an index that knows pages by their browse URL, each at most once: as `upsert` with the
   * values of the row that was changed last of all those selected that are shown under the URL, as `delete`
   * when none is any more. `seq` is the change that made it be told; rows that are not browsable are left
   * out.
   */
  *pages(selection: Selection, columns: readonly ColumnName[]): Generator<ColumnValue[], void> {
    const changes = { ...selection, browsable: true, moved: true };
    const pages = new Pages(this.#statements, this.machineId, changes, columns, this.#knownProviders());
    for (const row of this.rows(changes, ['op', 'seq', 'burl', ...columns])) {
      const told = pages.told(row[0] === 'delete', Number(row[1]), String(row[2]), row.slice(3));
      if (told !== undefined) yield whole(told);
    }
  }

  /** Mimetypes of all rows that are shown under a browse URL, or were at some time since the stream began. */
  typesUnder(selection: Selection, burl: string): string[] {
    return typesUnder(this.#statements, selection, this.#knownProviders(), burl);
  }

  /**
   * `seq` and the fileid of each file of this machine that was let go of, whatever `columns` are asked for.
   */
  *oldPaths(selection: Selection): Generator<ColumnValue[], void> {
    const { sql, values } = oldPathsSql(selection);
    const rows = this.#statements.prepare(sql).raw().iterate(this.#bound(values));
    for (const row of rows as IterableIterator<ColumnValue[]>) yield whole(row);
  }

  /** The lines of all rows in the order of the change sequence, some at a time, as UTF-8. */
  *lines(selection: Selection, template: LineTemplate, limit = Infinity): Generator<LineBlock> {
    const sides = selection.sides.filter(side => piecesOf(template, side) !== undefined);
    if (sides.length === 0) return;
    // Escapes that have been met in this run are replaced from then on; the rest is looked for. Most runs
    // replace nothing or `&`.
    let active: LineTemplate['escapes'] = [];
    let block = this.#blocks({ ...selection, sides }, template, active);
    let after = selection.sinceSeq ?? 0;
    for (let left = limit; left > 0;) {
      const found = block(after, Math.min(left, LINES_AT_A_TIME));
      if (found === undefined) return;
      if (found.met.length > 0) {
        const met = new Set([...active.map(([character]) => character), ...found.met]);
        active = template.escapes.filter(([character]) => met.has(character));
        block = this.#blocks({ ...selection, sides }, template, active);
        continue;
      }
      yield found;
      after = found.lastSeq;
      left -= found.count;
    }
  }

  /** Puts together up to `max` lines after a number of the sequence, replacing what is in `active`. `met`:
   * characters in the values that should have been replaced too. */
  #blocks(
    selection: Selection,
    template: LineTemplate,
    active: LineTemplate['escapes'],
  ): (after: number, max: number) => (LineBlock & { met: string[] }) | undefined {
    const { inValues, inText, countsEnds } = splitHazards(template, active);
    const { sql, values } = inOrder(this.#planned(selection), side => {
      const pieces = piecesOf(template, side) ?? [];
      return `${lineSql(pieces, side, active)} AS line, ${hazardSql(pieces, side, inValues)} AS hazard`;
    });
    const statement = this.#statements
      .prepare(
        `SELECT count(*), max(seq), max(hazard), CAST(group_concat(line, $end) || $end AS BLOB)
         FROM (${sql} LIMIT $max)`,
      )
      .raw();
    return (after, max) => {
      const found = statement.get(this.#bound({ ...values, sinceSeq: after, end: template.end, max }));
      const [count, lastSeq, hazard, bytes] = found as [number, number, number, Buffer];
      if (count === 0) return undefined;
      const met = [
        ...(hazard === 0 ? [] : inValues),
        ...inText.filter(c => bytes.includes(c)),
        ...(countsEnds && occurrences(bytes, template.end) !== count ? [template.end] : []),
      ];
      return { count, lastSeq, bytes, met };
    };
  }

  /** Finding and sorting n rows of a provider, for each block of lines, costs n² / 32 looks along the change
   * sequence. */
  #planned(selection: Selection): Selection {
    const { pid, toSeq = this.#highWater } = selection;
    if (pid === undefined) return selection;
    const most = Math.floor(Math.sqrt(32 * Math.max(0, toSeq - this.startOf(selection))));
    const sql = 'SELECT count(*) FROM (SELECT 1 FROM lccurl WHERE pid = ? LIMIT ?)';
    return { ...selection, fewOfPid: Number(this.#value(sql, pid, most + 1)) <= most };
  }

  #knownProviders(): Providers {
    return (this.#providers ??= new Providers(this.#statements));
  }

  #bound(values: Record<string, ColumnValue>): Record<string, ColumnValue> {
    return { machine: this.machineId, ...values };
  }
}

/** @throws as SQLite for damage, for a row with a value of another type than its column's */
function whole(row: ColumnValue[]): ColumnValue[] {
  for (const value of row)
    if (typeof value === 'object' && value !== null) throw corrupt('a row has a blob in it');
  return row;
}

function occurrences(bytes: Buffer, character: string): number {
  const code = character.charCodeAt(0);
  let count = 0;
  for (let at = bytes.indexOf(code); at >= 0; at = bytes.indexOf(code, at + 1)) count++;
  return count;
}

export interface LineBlock {
  count: number;
  /** The change sequence number of its last line. */
  lastSeq: number;
  bytes: Buffer;
}
