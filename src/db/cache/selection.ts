/** Which rows of lccurl and tombstone a content user asks for, as SQL. */
import { COLUMNS, type ColumnValue, type TableSide } from './fields.js';

/** Restrictions of what is read; an undefined one does not restrict. */
export interface Selection {
  /** Rows that are held, deletions, or both. */
  sides: readonly TableSide[];
  /** Changes after this number of the change sequence. */
  sinceSeq?: number | undefined;
  /** Where the stream began whose part this is, for `pages`: what is told in another part is told there. */
  streamSinceSeq?: number | undefined;
  /** Changes up to this number; those after it are not looked at, so a range bounds the work, too. */
  toSeq?: number | undefined;
  /** Changed (fetched, deleted) at this time or later, before that time: seconds since 1970. */
  since?: number | undefined;
  until?: number | undefined;
  pid?: number | undefined;
  /** The provider has so few rows that they are best found by it, and sorted. Default: read along the change
   * sequence. */
  fewOfPid?: boolean;
  /** Beginning of the conceptual URL. */
  prefix?: string | undefined;
  /** A glob(7) pattern for the mimetype. */
  mime?: string | undefined;
  /** Only what has its content on this machine. */
  local?: boolean;
  /** Only what has a browse URL. */
  browsable?: boolean;
  /** Deletions of a browse URL alone too: of rows that live on under another, or under none. */
  moved?: boolean;
}

/** SQL conditions and the values bound in them by name. */
export class Conditions {
  readonly values: Record<string, ColumnValue> = {};
  readonly #selection: Selection;

  constructor(selection: Selection) {
    this.#selection = selection;
  }

  /** Time of the change. */
  change(side: TableSide | 'left'): string {
    const { sinceSeq = 0, toSeq, since, until } = this.#selection;
    const { time } = TABLES[side];
    const conditions = [`seq > ${this.bind('sinceSeq', sinceSeq)}`];
    if (toSeq !== undefined) conditions.push(`seq <= ${this.bind('toSeq', toSeq)}`);
    if (since !== undefined) conditions.push(`${time} >= ${this.bind('since', since)}`);
    if (until !== undefined) conditions.push(`${time} < ${this.bind('until', until)}`);
    return conditions.join(' AND ');
  }

  /** Identity of the row, which no change changes. */
  identity(): string {
    const { pid, fewOfPid, mime, prefix } = this.#selection;
    const conditions = ['TRUE'];
    // With the plus, SQLite does not find rows by their provider.
    if (pid !== undefined) conditions.push(`${fewOfPid === true ? '' : '+'}pid = ${this.bind('pid', pid)}`);
    if (mime !== undefined) conditions.push(`mimetype GLOB ${this.bind('mime', mime)}`);
    if (prefix !== undefined) {
      const beginning = this.bind('prefix', prefix);
      conditions.push(`substr(curl, 1, length(${beginning})) = ${beginning}`);
    }
    return conditions.join(' AND ');
  }

  bind(name: string, value: ColumnValue): string {
    this.values[name] = value;
    return `$${name}`;
  }
}

const TABLES = {
  held: { table: 'lccurl', time: 'fetched_time' },
  gone: { table: 'tombstone', time: 'deleted_time' },
  left: { table: 'oldpath', time: 'left_time' },
} as const;

/** Files of the machine bound as $machine that rows no longer point to; no beginning of a URL is known of
 * them. */
export function oldPathsSql(selection: Selection): { sql: string; values: Record<string, ColumnValue> } {
  const conditions = new Conditions({ ...selection, prefix: undefined });
  const all = [conditions.change('left'), conditions.identity(), 'machineid = $machine'];
  return {
    sql: `SELECT seq, fileid FROM oldpath WHERE ${all.join(' AND ')} ORDER BY seq`,
    values: conditions.values,
  };
}

/** One SELECT over the tables asked for: the given columns, and `seq` last. */
export function union(
  selection: Selection,
  columns: (side: TableSide) => string,
): { sql: string; values: Record<string, ColumnValue> } {
  const conditions = new Conditions(selection);
  const selects = selection.sides.map(side => {
    const all = [conditions.change(side), conditions.identity()];
    if (selection.local) all.push(`${COLUMNS.localfileid[side]} IS NOT NULL`);
    if (selection.browsable) all.push(`burl IS NOT ''`);
    if (side === 'gone' && !selection.moved) all.push('moved = 0');
    return `SELECT ${columns(side)}, seq FROM ${TABLES[side].table} WHERE ${all.join(' AND ')}`;
  });
  return { sql: selects.join(' UNION ALL '), values: conditions.values };
}

/**
 * The same in the order of the change sequence. Each table is read along it and the two are merged: SQLite
 * must not read and sort all that follows for every few rows that are asked for, as it would for a SELECT
 * from the union.
 */
export function inOrder(...of: Parameters<typeof union>): ReturnType<typeof union> {
  const { sql, values } = union(...of);
  return { sql: `${sql} ORDER BY seq`, values };
}
