/**
 * Where a block stands, for who writes it as Markdown: in which quotes and items, in which heading, cell or
 * preformatted text. Whether a table can be one of Markdown is found out while it is read, so nobody asks for
 * it again.
 */
import type { ReadTagAttributes } from '../attributes.js';
import { HEADING } from '../elements.js';
import type { Beginning } from '../tree.js';

/** Quotes and items in each other; what is deeper stands in the last of them. */
const MAX_DEPTH = 12;
const MAX_COLUMNS = 64;
/** Cells of a row that is shorter than others are filled in: so many for each that is there. */
const MOST_CELLS_FILLED = 4;
const MAX_NUMBER = 999_999_999;

/** A quote, or an item of a list. */
export interface Container {
  /** Text before the first line. */
  marker: string;
  isItem: boolean;
}

interface ItemList {
  /** The number of the next item; undefined: they have none. */
  next: number | undefined;
}

interface Preformatted {
  language: string;
}

export interface TableShape {
  rows: number;
  /** Cells that are there, and the columns that they take. */
  cells: number;
  columns: number;
  /** True if the cells of its first row are all headings. */
  hasHead: boolean;
  /** True if it holds what no cell of Markdown can. */
  isBlocks: boolean;
  /** For each column, for how many more rows a cell from above reaches into it. */
  reaches: number[];
  /** Containers that it stands in. */
  around: readonly Container[] | undefined;
}

interface RowShape {
  index: number;
  columns: number;
}

export interface Cell {
  row: RowShape;
  column: number;
}

/** All of what a block stands in, undefined for nothing of the kind. */
export interface BlockPlace {
  /** From the outermost; one list for all blocks. */
  containers?: readonly Container[] | undefined;
  list?: ItemList | undefined;
  heading?: { level: number } | undefined;
  pre?: Preformatted | undefined;
  table?: TableShape | undefined;
  row?: RowShape | undefined;
  cell?: Cell | undefined;
  /** In the caption of the table. */
  isCaption?: boolean | undefined;
}

/** The place within an element of HTML that begins; undefined where it is the one around it. */
export function placeIn(
  { name, kinds }: Beginning,
  attributes: ReadTagAttributes,
  around: BlockPlace,
): BlockPlace | undefined {
  if ((kinds & HEADING) !== 0) {
    if (around.table !== undefined) around.table.isBlocks = true;
    return { ...around, heading: { level: Number(name[1]) } };
  }
  switch (name) {
    case 'blockquote':
      return contained(around, '> ', false);
    case 'ul':
    case 'menu':
    case 'dir':
      return { ...around, list: { next: undefined } };
    case 'ol':
      return { ...around, list: { next: numberOf(attributes, 'start', 1, MAX_NUMBER) } };
    case 'li': {
      const { list } = around;
      const marker = list?.next === undefined ? '- ' : `${list.next}. `;
      if (list?.next !== undefined) list.next = Math.min(list.next + 1, MAX_NUMBER);
      return contained(around, marker, true);
    }
    case 'pre':
    case 'xmp':
    case 'listing':
    case 'plaintext':
      return { ...around, pre: { language: languageOf(attributes) } };
    case 'code':
      if (around.pre?.language === '') around.pre.language = languageOf(attributes);
      return undefined;
    case 'table':
      return { ...around, table: tableIn(around), row: undefined, cell: undefined, isCaption: undefined };
    case 'caption':
      return { ...around, cell: undefined, isCaption: true };
    case 'tr':
      return around.table && { ...around, row: rowOf(around.table), cell: undefined };
    case 'td':
    case 'th':
      return cellIn(around, name === 'th', attributes);
    default:
      return undefined;
  }
}

/** True if a table is written as one. */
export function isWritable({ rows, cells, columns, isBlocks }: TableShape): boolean {
  return !isBlocks && columns >= 2 && columns <= MAX_COLUMNS && rows * columns <= MOST_CELLS_FILLED * cells;
}

function contained(around: BlockPlace, marker: string, isItem: boolean): BlockPlace | undefined {
  const { containers = [] } = around;
  if (containers.length === MAX_DEPTH) return undefined;
  return { ...around, containers: [...containers, { marker, isItem }] };
}

function tableIn({ table, containers: around }: BlockPlace): TableShape {
  if (table !== undefined) table.isBlocks = true;
  return { rows: 0, cells: 0, columns: 0, hasHead: true, isBlocks: false, reaches: [], around };
}

function rowOf(table: TableShape): RowShape {
  const { reaches } = table;
  for (const [column, rows] of reaches.entries()) if (rows > 0) reaches[column] = rows - 1;
  return { index: table.rows++, columns: 0 };
}

function cellIn(around: BlockPlace, isHead: boolean, attributes: ReadTagAttributes): BlockPlace | undefined {
  const { table, row } = around;
  if (table === undefined || row === undefined) return undefined;
  const { reaches } = table;
  while ((reaches[row.columns] ?? 0) > 0) row.columns++;
  const column = row.columns;
  row.columns += numberOf(attributes, 'colspan', 1, MAX_COLUMNS + 1);
  const below = numberOf(attributes, 'rowspan', 1, MAX_NUMBER) - 1;
  // This row is counted off when the next one begins.
  if (below > 0)
    for (let each = column; each < row.columns && each <= MAX_COLUMNS; each++) reaches[each] = below + 1;
  table.cells++;
  table.columns = Math.max(table.columns, row.columns);
  if (row.index === 0 && !isHead) table.hasHead = false;
  return { ...around, cell: { row, column } };
}

function numberOf(attributes: ReadTagAttributes, name: string, least: number, most: number): number {
  const number = Number.parseInt(attributes.get(name) ?? '', 10);
  return Number.isNaN(number) ? 1 : Math.max(name === 'start' ? 0 : least, Math.min(number, most));
}

/** Names of programming languages, as highlighters have them in a class. */
const LANGUAGE = /(?:^|\s)(?:lang(?:uage)?-|highlight-source-|brush:\s*)([\w+#-]{1,20})(?=[\s;]|$)/i;

function languageOf(attributes: ReadTagAttributes): string {
  const named = attributes.get('data-lang') ?? '';
  return /^[\w+#-]{1,20}$/.test(named) ? named : (LANGUAGE.exec(attributes.get('class') ?? '')?.[1] ?? '');
}
