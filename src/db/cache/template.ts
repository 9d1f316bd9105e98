/**
 * A line of output that SQLite itself puts together. Crossing from SQLite to JavaScript once a row and column costs
 * three times the query (500 000 rows: 1.7 s; composed in SQL, 200 lines at a time: 0.8 s; bench/lccq.ts).
 *
 * SQL cannot escape cheaply, so it looks instead: lines among which a value holds a character that would need it
 * (`hazards`) are composed again in JavaScript by `composeLine`, which a test holds identical to the SQL.
 */
import { COLUMNS, isAlways, type ColumnName, type ColumnValue, type TableSide } from './columns.js';

/** Text that is always there, or a column with what surrounds it, left out as a whole where the column is NULL. */
export type Piece = string | { before: string; column: ColumnName; after: string };

export interface LineTemplate {
  held: readonly Piece[];
  /** For tombstones; undefined where they have no line. */
  gone?: readonly Piece[];
  /** What ends every line; one character. */
  end: string;
  /** Characters that no value may hold as they are. */
  hazards: string;
  /** A value with its hazards made harmless. */
  escape(value: string): string;
}

export function piecesOf(template: LineTemplate, side: TableSide): readonly Piece[] | undefined {
  return side === 'held' ? template.held : template.gone;
}

/** The columns of pieces, in their order. */
export function columnsOf(pieces: readonly Piece[]): ColumnName[] {
  return pieces.flatMap(piece => (typeof piece === 'string' ? [] : [piece.column]));
}

/** The line of one row, whose values stand in the order of `columnsOf(pieces)`, with its end. */
export function composeLine(
  template: LineTemplate,
  pieces: readonly Piece[],
  values: readonly ColumnValue[],
): string {
  let line = '';
  let at = 0;
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      line += piece;
      continue;
    }
    const value = values[at++] ?? null;
    if (value === null) continue;
    const text = typeof value === 'string' ? template.escape(value) : value;
    line += `${piece.before}${text}${piece.after}`;
  }
  return line + template.end;
}

/** SQL for the line without its end. concat() takes NULL as '' and builds the text in one pass, which `||` does not. */
export function lineSql(pieces: readonly Piece[], side: TableSide): string {
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
      put(COLUMNS[piece.column][side]);
      fixed += piece.after;
    } else if (COLUMNS[piece.column][side] !== 'NULL') {
      put(`${literal(piece.before)} || ${COLUMNS[piece.column][side]} || ${literal(piece.after)}`);
    }
  }
  put("''");
  return `concat(${parts.join(', ')})`;
}

/**
 * Splits the hazards: those that the template's own text holds must be looked for in the values, by SQL (`hazardSql`);
 * the others can be looked for in the finished text, which is far cheaper.
 */
export function splitHazards(template: LineTemplate): { inValues: string[]; inText: string[] } {
  const own = [...template.held, ...(template.gone ?? []), template.end]
    .map(piece => (typeof piece === 'string' ? piece : piece.before + piece.after))
    .join('');
  const all = template.hazards.split('');
  return { inValues: all.filter(c => own.includes(c)), inText: all.filter(c => !own.includes(c)) };
}

/** SQL that is not 0 when a value of the row holds one of `characters`. */
export function hazardSql(pieces: readonly Piece[], side: TableSide, characters: readonly string[]): string {
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
