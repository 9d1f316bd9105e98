/**
 * A line of output that SQLite itself puts together. Crossing from SQLite to JavaScript once a row and column
 * costs more than the query (500,000 rows, processor time: made here 2.4 s as xml, 2.6 s as tsv; composed in
 * SQL, 250 lines at a time, 1.0 s; bench/lccq.ts).
 *
 * Escaping all characters in every value takes 1.4 × the time (tsv; xml 1.2 ×), and few values need it. So
 * lines are first composed without; once a value holds a character that needs escaping, that one is replaced
 * from there on.
 */
import { COLUMNS, isAlways, type ColumnName, type TableSide } from './fields.js';

/** Text that is always there, or a column with what surrounds it, left out as a whole where the column is
 * NULL. */
export type Piece = string | { before: string; column: ColumnName; after: string };

export interface LineTemplate {
  held: readonly Piece[];
  /** For tombstones; undefined where they have no line. */
  gone?: readonly Piece[];
  /** End of every line. */
  end: string;
  /** Characters that no value may hold as they are, and what stands for each; replaced in this order. */
  escapes: readonly (readonly [character: string, replacement: string])[];
}

export function piecesOf(template: LineTemplate, side: TableSide): readonly Piece[] | undefined {
  return side === 'held' ? template.held : template.gone;
}

/** The columns of pieces, in their order. */
export function columnsOf(pieces: readonly Piece[]): ColumnName[] {
  return pieces.flatMap(piece => (typeof piece === 'string' ? [] : [piece.column]));
}

/**
 * SQL for the line without its end. concat() takes NULL as '' and builds the text in one pass, which `||`
 * does not.
 * @param escapes what to replace in values; none where they are known to need nothing
 */
export function lineSql(
  pieces: readonly Piece[],
  side: TableSide,
  escapes: LineTemplate['escapes'] = [],
): string {
  const parts: string[] = [];
  let fixed = '';
  const put = (sql: string) => {
    if (fixed !== '') parts.push(literal(fixed));
    fixed = '';
    parts.push(sql);
  };
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      fixed += piece;
    } else if (isAlways(piece.column, side)) {
      fixed += piece.before;
      put(valueSql(piece.column, side, escapes));
      fixed += piece.after;
    } else if (COLUMNS[piece.column][side] !== 'NULL') {
      put(`${literal(piece.before)} || ${valueSql(piece.column, side, escapes)} || ${literal(piece.after)}`);
    }
  }
  put("''");
  return `concat(${parts.join(', ')})`;
}

function valueSql(column: ColumnName, side: TableSide, escapes: LineTemplate['escapes']): string {
  const sql = COLUMNS[column][side];
  if (!COLUMNS[column].free) return sql;
  return escapes.reduce((value, [from, to]) => `replace(${value}, ${literal(from)}, ${literal(to)})`, sql);
}

/**
 * Splits the characters that are not replaced yet: those that the template's own text holds must be looked
 * for in the values, by SQL (`hazardSql`); the others can be looked for in the finished text, which is far
 * cheaper. `countsEnds`: the one that ends lines stands in no value where there are as many as lines.
 */
export function splitHazards(
  template: LineTemplate,
  active: LineTemplate['escapes'],
): { inValues: string[]; inText: string[]; countsEnds: boolean } {
  const own = [...template.held, ...(template.gone ?? [])]
    .map(piece => (typeof piece === 'string' ? piece : piece.before + piece.after))
    .join('');
  const all = template.escapes.filter(pair => !active.includes(pair)).map(([character]) => character);
  const countsEnds = all.includes(template.end) && !own.includes(template.end);
  return {
    inValues: all.filter(c => own.includes(c)),
    inText: all.filter(c => !own.includes(c) && c !== template.end),
    countsEnds,
  };
}

/** SQL that is not 0 when a value of the row holds one of `characters`. */
export function hazardSql(pieces: readonly Piece[], side: TableSide, characters: readonly string[]): string {
  if (characters.length === 0) return '0';
  const free = columnsOf(pieces).filter(column => COLUMNS[column].free && COLUMNS[column][side] !== 'NULL');
  const found = (column: ColumnName) =>
    characters.map(c => `instr(${COLUMNS[column][side]}, ${literal(c)})`).join(' + ') || '0';
  const always = free.filter(column => isAlways(column, side)).map(found);
  const rare = free.filter(column => !isAlways(column, side));
  const absent = rare.map(column => `${COLUMNS[column][side]} IS NULL`).join(' AND ');
  const inRare = rare.map(column => `coalesce(${found(column)}, 0)`).join(' + ');
  return [...always, ...(rare.length === 0 ? [] : [`iif(${absent}, 0, ${inRare})`]), '0'].join(' + ');
}

/** A constant, not an expression: char() and || would be worked out again for every row. */
function literal(text: string): string {
  if (text.includes('\0')) throw new RangeError('an SQL literal cannot hold NUL');
  return `'${text.replaceAll("'", "''")}'`;
}
