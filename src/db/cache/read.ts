/**
 * The read side of the LCC DB: what is held (lccurl) and what is gone (tombstone), along the change sequence, from one
 * snapshot. Memory does not grow with the number of rows.
 */
import { LccError } from '../../lib/errors.js';
import { openReadOnly, type Db, type Statement } from '../open.js';
import { CONTENT_SUM_TEXT, isSoundText } from '../sums.js';
import { COLUMNS, type ColumnName, type ColumnValue, type TableSide } from './columns.js';
import { hazardSql, lineSql, piecesOf, splitHazards, type LineTemplate } from './template.js';

/** What to read; what is undefined does not restrict. */
export interface Selection {
  /** Rows that are held, deletions, or both. */
  sides: readonly TableSide[];
  /** Changes after this number of the change sequence. */
  sinceSeq?: number | undefined;
  /** Changed (fetched, deleted) at this time or later, before that time: seconds since 1970. */
  since?: number | undefined;
  until?: number | undefined;
  pid?: number | undefined;
  /** Beginning of the conceptual URL. */
  prefix?: string | undefined;
  /** A glob(7) pattern for the mimetype. */
  mime?: string | undefined;
  /** Only what has its content on this machine. */
  local?: boolean;
  /** Only what has a browse URL. */
  browsable?: boolean;
}

/** Is told of rows that do not agree with their checksum: they are left out. */
export type Damaged = (id: number) => void;

/** What a row's checksum is looked at by: columns `sumtext` and `sum`. Deletions have none. */
const SUM_COLUMNS: Record<TableSide, string> = {
  held: `${CONTENT_SUM_TEXT} AS sumtext, sum`,
  gone: `'' AS sumtext, NULL AS sum`,
};

/** Lines put together in one go: enough to make the crossing cheap, few enough for malloc(3) to reuse the memory (128 KB). */
const LINES_AT_A_TIME = 250;

/** One snapshot of the LCC DB: all reads of a reader see the same state, whatever is written meanwhile. */
export class CacheReader {
  readonly #db: Db;
  readonly #machineId: string;
  readonly storeId: string;
  /** The last number of the change sequence given out. */
  readonly highWater: number;
  /** The highest number of a tombstone that has been forgotten. */
  readonly purged: number;

  /**
   * @param machineId whose content counts as local (column `localfileid`)
   * @throws LccError `input.missing`, `config`, `data.malformed` as `openReadOnly`
   */
  constructor(path: string, machineId: string) {
    this.#db = openReadOnly(path);
    this.#machineId = machineId;
    this.#db.exec('BEGIN');
    const text = (sql: string) => this.#db.prepare(sql).pluck().get();
    const storeId = text("SELECT value FROM meta WHERE key = 'store_id'");
    if (typeof storeId !== 'string') throw new LccError('data.malformed', `${path}: meta has no store_id`);
    this.storeId = storeId;
    this.highWater = Number(text("SELECT value FROM counter WHERE name = 'seq'"));
    this.purged = Number(text("SELECT value FROM counter WHERE name = 'purged'"));
  }

  close(): void {
    this.#db.close();
  }

  count(selection: Selection): number {
    const { sql, values } = union(selection, () => '1');
    return Number(this.#prepare(`SELECT count(*) FROM (${sql})`).pluck().get(this.#bound(values)));
  }

  /** The values of `columns` of each row, in the order of the change sequence. */
  *rows(
    selection: Selection,
    columns: readonly ColumnName[],
    damaged: Damaged,
  ): Generator<ColumnValue[], void> {
    const { sql, values } = union(
      selection,
      side => `${SUM_COLUMNS[side]}, id, ${columns.map(column => COLUMNS[column][side]).join(', ')}`,
    );
    const statement = this.#prepare(`SELECT * FROM (${sql}) ORDER BY seq`).raw();
    // The last value is the sequence number that only the order needs; whoever wants it names it.
    for (const row of statement.iterate(this.#bound(values)) as IterableIterator<ColumnValue[]>) {
      const [text, sum, id, ...wanted] = row;
      if (isSoundText(String(text), sum as number | null)) yield wanted;
      else damaged(Number(id));
    }
  }

  /** The lines of all rows in the order of the change sequence, some at a time, as UTF-8. */
  *lines(
    selection: Selection,
    template: LineTemplate,
    damaged: Damaged,
    limit = Infinity,
  ): Generator<LineBlock> {
    const sides = selection.sides.filter(side => piecesOf(template, side) !== undefined);
    if (sides.length === 0) return;
    // What has been met in this run is replaced from then on; the rest is looked for. Most runs replace nothing or `&`.
    let active: LineTemplate['escapes'] = [];
    let block = this.#blocks({ ...selection, sides }, template, active, damaged);
    let after = selection.sinceSeq ?? 0;
    for (let left = limit; left > 0;) {
      const found = block(after, Math.min(left, LINES_AT_A_TIME));
      if (found === undefined) return;
      if (found.met.length > 0) {
        const met = new Set([...active.map(([character]) => character), ...found.met]);
        active = template.escapes.filter(([character]) => met.has(character));
        block = this.#blocks({ ...selection, sides }, template, active, damaged);
        continue;
      }
      yield found;
      after = found.lastSeq;
      left -= found.count;
    }
  }

  /**
   * Puts together up to `max` lines after a number of the sequence, replacing what is in `active`. `met`: characters in
   * the values that should have been replaced too.
   */
  #blocks(
    selection: Selection,
    template: LineTemplate,
    active: LineTemplate['escapes'],
    damaged: Damaged,
  ): (after: number, max: number) => (LineBlock & { met: string[] }) | undefined {
    const { inValues, inText } = splitHazards(template, active);
    const { sql, values } = union(selection, side => {
      const pieces = piecesOf(template, side) ?? [];
      const line = `${lineSql(pieces, side, active)} AS line, ${hazardSql(pieces, side, inValues)} AS hazard`;
      return `${line}, id, ${SUM_COLUMNS[side]}`;
    });
    const some = `FROM (SELECT * FROM (${sql}) ORDER BY seq LIMIT $max)`;
    // One crossing for the checksums of all: texts end to end, and where each ends.
    const statement = this.#prepare(
      `SELECT count(*), max(seq), max(hazard), CAST(group_concat(line, $end) || $end AS BLOB),
         CAST(group_concat(sumtext, '') AS BLOB), group_concat(octet_length(sumtext)), group_concat(coalesce(sum, ''))
       ${some}`,
    ).raw();
    const oneByOne = this.#prepare(`SELECT line || $end AS line, id, sumtext, sum ${some}`);
    return (after, max) => {
      const bound = this.#bound({ ...values, sinceSeq: after, end: template.end, max });
      const found = statement.get(bound);
      const [count, lastSeq, hazard, bytes, ...sums] = found as [number, number, number, Buffer, ...Sums];
      if (count === 0) return undefined;
      const met = [...(hazard === 0 ? [] : inValues), ...inText.filter(c => bytes.includes(c))];
      if (met.length > 0 || areSound(...sums)) return { count, lastSeq, bytes, met };
      const sound = (oneByOne.all({ ...bound, end: template.end }) as SummedLine[]).filter(row => {
        const isSound = isSoundText(row.sumtext, row.sum);
        if (!isSound) damaged(row.id);
        return isSound;
      });
      return { count: sound.length, lastSeq, bytes: Buffer.from(sound.map(row => row.line).join('')), met };
    };
  }

  #prepare(sql: string): Statement {
    return this.#db.prepare(sql);
  }

  #bound(values: Record<string, ColumnValue>): Record<string, ColumnValue> {
    return { machine: this.#machineId, ...values };
  }
}

interface SummedLine {
  line: string;
  id: number;
  sumtext: string;
  sum: number | null;
}

type Sums = [texts: Buffer, lengths: string, sums: string];

function areSound(texts: Buffer, lengths: string, sums: string): boolean {
  const ends = lengths.split(',');
  const wanted = sums.split(',');
  let start = 0;
  for (const [index, length] of ends.entries()) {
    const end = start + Number(length);
    const sum = wanted[index] ?? '';
    if (!isSoundText(texts.subarray(start, end), sum === '' ? null : Number(sum))) return false;
    start = end;
  }
  return true;
}

export interface LineBlock {
  count: number;
  /** The change sequence number of its last line. */
  lastSeq: number;
  bytes: Buffer;
}

const TABLES = {
  held: { table: 'lccurl', time: 'fetched_time' },
  gone: { table: 'tombstone', time: 'deleted_time' },
} as const;

/** One SELECT over the tables asked for: the given columns, and `seq` last. */
function union(
  selection: Selection,
  columns: (side: TableSide) => string,
): { sql: string; values: Record<string, ColumnValue> } {
  const values: Record<string, ColumnValue> = {};
  const bind = (name: string, value: ColumnValue) => {
    values[name] = value;
    return `$${name}`;
  };
  const selects = selection.sides.map(side => {
    const { table, time } = TABLES[side];
    const conditions = [`seq > ${bind('sinceSeq', selection.sinceSeq ?? 0)}`];
    if (selection.since !== undefined) conditions.push(`${time} >= ${bind('since', selection.since)}`);
    if (selection.until !== undefined) conditions.push(`${time} < ${bind('until', selection.until)}`);
    if (selection.pid !== undefined) conditions.push(`pid = ${bind('pid', selection.pid)}`);
    if (selection.mime !== undefined) conditions.push(`mimetype GLOB ${bind('mime', selection.mime)}`);
    if (selection.prefix !== undefined) {
      const prefix = bind('prefix', selection.prefix);
      conditions.push(`substr(curl, 1, length(${prefix})) = ${prefix}`);
    }
    if (selection.local) conditions.push(`${COLUMNS.localfileid[side]} IS NOT NULL`);
    if (selection.browsable) conditions.push(`burl IS NOT ''`);
    return `SELECT ${columns(side)}, seq FROM ${table} WHERE ${conditions.join(' AND ')}`;
  });
  return { sql: selects.join(' UNION ALL '), values };
}
