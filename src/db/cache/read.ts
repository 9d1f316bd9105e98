/**
 * The read side of the LCC DB: what is held (lccurl) and what is gone (tombstone), along the change sequence, from one
 * snapshot. Memory does not grow with the number of rows.
 */
import { crc32 } from 'node:zlib';
import { LccError } from '../../lib/errors.js';
import { giveBack } from '../../lib/memory.js';
import { isOutdated } from '../../lib/sqlite-read.js';
import { openReadOnly, type Db } from '../open.js';
import { purgedOf } from '../counters.js';
import { joinCrc, MAX_JOINED_BYTES } from '../joined-sums.js';
import { readStoreMark } from '../store-mark.js';
import {
  CONTENT_SUM_TEXT,
  DELETION_SUM_TEXT,
  isSoundText,
  OLD_PATH_SUM_TEXT,
  SUM_TEXT_OWN,
} from '../sums.js';
import { COLUMNS, type ColumnName, type ColumnValue, type TableSide } from './columns.js';
import { Pages, Providers, TypesUnder } from './pages.js';
import { inOrder, oldPathsSql, union, type Selection } from './selection.js';
import { Statements } from './statements.js';
import { StoreRegister } from './stores.js';
import { hazardSql, lineSql, piecesOf, splitHazards, type LineTemplate } from './template.js';

export type { Selection } from './selection.js';

/**
 * Is told of what does not agree with its checksum and is left out: the id of a row, the number of a deletion (or of a
 * file that was let go of) in the change sequence.
 */
export type Damaged = (id: number, what: 'row' | 'deletion') => void;

/** What a row's checksum is looked at by, and what is told of it: its id, of deletions the number with a minus. */
const SUM_COLUMNS: Record<TableSide, string> = {
  held: `id AS mark, ${CONTENT_SUM_TEXT} AS sumtext, sum`,
  gone: `-seq AS mark, ${DELETION_SUM_TEXT} AS sumtext, sum`,
};

function tell(damaged: Damaged, mark: number): void {
  if (mark < 0) damaged(-mark, 'deletion');
  else damaged(mark, 'row');
}

/** Lines put together in one go: enough to make the crossing cheap, few enough for malloc(3) to reuse the memory (128 KB). */
const LINES_AT_A_TIME = 250;

/**
 * One snapshot of the LCC DB: all reads of a reader see the same state, whatever is written meanwhile, until `renew`. As
 * long as a snapshot is open the write-ahead log cannot be used anew and grows: who waits for others calls `rest` first.
 */
export class CacheReader {
  readonly #path: string;
  readonly #db: Db;
  readonly #statements: Statements;
  /** Whose content counts as local. */
  readonly machineId: string;
  readonly storeId: string;
  #highWater = 0;
  #purged = 0;
  /** As they are in this snapshot. */
  #providers: Providers | undefined;
  /** For the last selection asked about. */
  #types: { selection: Selection; under: TypesUnder } | undefined;

  /**
   * @param machineId whose content counts as local (column `localfileid`)
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

  /** The number before which cursors begin anew (`purgedOf`): of all there are, when it is not known. */
  get purged(): number {
    return this.#purged;
  }

  /** Looks at the database as it is now. @throws LccError `try.later` when it is outdated */
  renew(): void {
    if (this.isOutdated)
      throw new LccError('try.later', `${this.#path}: it is written to again, on another way; run again`);
    this.rest();
    this.#types = undefined;
    this.#providers = undefined;
    this.#db.exec('BEGIN');
    this.#highWater = Number(this.#value("SELECT value FROM counter WHERE name = 'seq'"));
    this.#purged = purgedOf(this.#db) ?? this.#highWater;
  }

  /** Whether it reads what was on a read-only disk before somebody else, for whom it is not, wrote to it. */
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

  /**
   * Whether the store there can be the one that rows point into; of one that bears no id, or rows that know none, nobody
   * can tell.
   */
  canPointInto(storeDir: string): boolean {
    const mark = readStoreMark(storeDir);
    if (mark !== undefined && mark.storeId === undefined) return true;
    return new StoreRegister(this.#db).fits(this.machineId, mark?.storeId ?? '');
  }

  close(): void {
    this.#db.close();
  }

  #value(sql: string): unknown {
    return this.#statements.prepare(sql).pluck().get();
  }

  count(selection: Selection): number {
    const { sql, values } = union(selection, () => '1');
    return Number(this.#statements.prepare(`SELECT count(*) FROM (${sql})`).pluck().get(this.#bound(values)));
  }

  /** The values of `columns` of each row, in the order of the change sequence. */
  *rows(
    selection: Selection,
    columns: readonly ColumnName[],
    damaged: Damaged,
  ): Generator<ColumnValue[], void> {
    const wanted = columns.length;
    const { sql, values } = inOrder(this.#planned(selection), side =>
      [...columns.map(column => COLUMNS[column][side]), SUM_COLUMNS[side]].join(', '),
    );
    const statement = this.#statements.prepare(sql).raw();
    for (const row of statement.iterate(this.#bound(values)) as IterableIterator<ColumnValue[]>) {
      const isSound = isSoundText(String(row[wanted + 1]), row[wanted + 2] as number | null);
      const mark = Number(row[wanted]);
      // What nobody asked for goes: the sum, and the sequence number that only the order needs.
      row.length = wanted;
      if (isSound) yield row;
      else tell(damaged, mark);
    }
  }

  /**
   * The same for an index that knows pages by their browse URL, each at most once: as `upsert` with the values of the
   * row that was changed last of all those selected that are shown under the URL, as `delete` when none is any more.
   * `seq` is the change that made it be told; rows that are not browsable are left out.
   */
  *pages(
    selection: Selection,
    columns: readonly ColumnName[],
    damaged: Damaged,
  ): Generator<ColumnValue[], void> {
    const changes = { ...selection, browsable: true, moved: true };
    const pages = new Pages(this.#statements, this.machineId, changes, columns, this.#knownProviders());
    for (const row of this.rows(changes, ['op', 'seq', 'burl', ...columns], damaged)) {
      const told = pages.told(row[0] === 'delete', Number(row[1]), String(row[2]), row.slice(3));
      if (told !== undefined) yield told;
    }
  }

  /** Mimetypes of all rows that are shown under a browse URL, or were at some time since the stream began. */
  typesUnder(selection: Selection, burl: string): string[] {
    if (this.#types?.selection !== selection)
      this.#types = { selection, under: new TypesUnder(this.#statements, selection, this.#knownProviders()) };
    return this.#types.under.of(burl);
  }

  /** `seq` and the fileid of each file of this machine that was let go of, whatever `columns` are asked for. */
  *oldPaths(
    selection: Selection,
    _columns: readonly ColumnName[],
    damaged: Damaged,
  ): Generator<ColumnValue[], void> {
    const { sql, values } = oldPathsSql(selection, `${OLD_PATH_SUM_TEXT} AS sumtext, sum`);
    const rows = this.#statements.prepare(sql).raw().iterate(this.#bound(values));
    for (const [seq = null, fileid = null, text, sum] of rows as IterableIterator<ColumnValue[]>) {
      if (isSoundText(String(text), sum as number | null)) yield [seq, fileid];
      else damaged(Number(seq), 'deletion');
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
    const { inValues, inText, countsEnds } = splitHazards(template, active);
    // Checksums are of all values, so most characters can be looked for in what they are of, natively.
    const inSums = inValues.filter(c => !SUM_TEXT_OWN.test(c));
    const inSql = inValues.filter(c => SUM_TEXT_OWN.test(c));
    const { sql, values } = inOrder(this.#planned(selection), side => {
      const pieces = piecesOf(template, side) ?? [];
      const unsummed = hazardSql(pieces, side, inValues);
      const hazard =
        unsummed === '0' ? unsummed : `iif(sum IS NULL, ${unsummed}, ${hazardSql(pieces, side, inSql)})`;
      return `${lineSql(pieces, side, active)} AS line, ${hazard} AS hazard, ${SUM_COLUMNS[side]}`;
    });
    const some = `FROM (${sql} LIMIT $max)`;
    // One crossing for the checksums of all: texts end to end, and where each ends.
    const statement = this.#statements
      .prepare(
        `SELECT count(*), max(seq), max(hazard), CAST(group_concat(line, $end) || $end AS BLOB),
         CAST(group_concat(sumtext, '') AS BLOB), group_concat(octet_length(sumtext)), group_concat(coalesce(sum, ''))
       ${some}`,
      )
      .raw();
    const oneByOne = this.#statements.prepare(`SELECT line || $end AS line, mark, sumtext, sum ${some}`);
    return (after, max) => {
      const bound = this.#bound({ ...values, sinceSeq: after, end: template.end, max });
      const found = statement.get(bound);
      const [count, lastSeq, hazard, bytes, ...sums] = found as [number, number, number, Buffer, ...Sums];
      if (count === 0) return undefined;
      const met = [
        ...(hazard === 0 ? [] : inValues),
        ...inSums.filter(c => sums[0].includes(c)),
        ...inText.filter(c => bytes.includes(c)),
        ...(countsEnds && occurrences(bytes, template.end) !== count ? [template.end] : []),
      ];
      const isSound = met.length > 0 || areSound(...sums);
      giveBack(sums[0]);
      if (isSound) return { count, lastSeq, bytes, met };
      const sound = (oneByOne.all({ ...bound, end: template.end }) as SummedLine[]).filter(row => {
        const agrees = isSoundText(row.sumtext, row.sum);
        if (!agrees) tell(damaged, row.mark);
        return agrees;
      });
      return { count: sound.length, lastSeq, bytes: Buffer.from(sound.map(row => row.line).join('')), met };
    };
  }

  /** Finding and sorting n rows of a provider, for each block of lines, costs n² / 32 looks along the change sequence. */
  #planned(selection: Selection): Selection {
    const { pid, sinceSeq = 0, toSeq = this.#highWater } = selection;
    if (pid === undefined) return selection;
    const most = Math.floor(Math.sqrt(32 * Math.max(0, toSeq - sinceSeq)));
    const sql = 'SELECT count(*) FROM (SELECT 1 FROM lccurl WHERE pid = ? LIMIT ?)';
    return {
      ...selection,
      fewOfPid:
        Number(
          this.#statements
            .prepare(sql)
            .pluck()
            .get(pid, most + 1),
        ) <= most,
    };
  }

  #knownProviders(): Providers {
    return (this.#providers ??= new Providers(this.#statements));
  }

  #bound(values: Record<string, ColumnValue>): Record<string, ColumnValue> {
    return { machine: this.machineId, ...values };
  }
}

interface SummedLine {
  line: string;
  mark: number;
  sumtext: string;
  sum: number | null;
}

type Sums = [texts: Buffer, lengths: string, sums: string];

/** Whether all agree; false also where that cannot be told at a glance. */
function areSound(texts: Buffer, lengths: string, sums: string): boolean {
  const wanted = sums.split(',');
  let index = 0;
  let joined = 0;
  for (const text of lengths.split(',')) {
    const length = Number(text);
    const sum = wanted[index++] ?? '';
    if (length > MAX_JOINED_BYTES || (sum === '' && length > 0)) return false;
    if (sum !== '') joined = joinCrc(joined, Number(sum), length);
  }
  return joined === crc32(texts);
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
