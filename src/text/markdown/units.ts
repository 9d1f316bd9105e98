/** Blocks of a page as what Markdown has: headings, paragraphs, code, tables. One that cannot be parted is no more than a line. */
import type { Block } from '../readable.js';
import { inline, type Addresses } from './inline.js';
import { CODE, type MarkedText } from './marks.js';
import { isWritable, type Cell, type Container, type BlockPlace, type TableShape } from './places.js';

type UnitKind = 'heading' | 'text' | 'code' | 'table';

export interface Line extends MarkedText {
  /** As it is written; undefined: made of the text and its marks. */
  written?: string;
  /** It stands in the line of the one before. */
  isGoingOn?: boolean | undefined;
}

export interface MarkdownUnit {
  kind: UnitKind;
  /** Of a heading. */
  level: number;
  container: Container | undefined;
  /** Lines of the paragraph; rows of the table, its head first; lines of code, if it has been parted. */
  lines: Line[];
  /** Of code. */
  language: string;
  /** Of a table. */
  columns: number;
  /** Of a document that has pages, from 1. */
  page: number | undefined;
}

export function unitOfLines(kind: UnitKind, lines: Line[], rest: Partial<MarkdownUnit> = {}): MarkdownUnit {
  return { kind, level: 0, container: undefined, language: '', columns: 0, page: undefined, ...rest, lines };
}

/** @param blocks in their order, each with what is written of it */
export function unitsOf(blocks: readonly Block[], addresses: Addresses): MarkdownUnit[] {
  const units: MarkdownUnit[] = [];
  let last: Block | undefined;
  for (let at = 0; at < blocks.length;) {
    const block = blocks[at] as Block;
    const { place } = writtenOf(block);
    const table = tableOf(block);
    if (table !== undefined) {
      const from = at;
      while (at < blocks.length && tableOf(blocks[at] as Block) === table) at++;
      units.push(...unitsOfTable(table, blocks.slice(from, at), addresses));
      last = undefined;
      continue;
    }
    at++;
    const unit = units.at(-1);
    if (unit !== undefined && last !== undefined && isSameUnit(last, block)) {
      unit.lines.push(...linesOf(block, last));
    } else {
      const { container, heading, pre } = place;
      const kind = heading !== undefined ? 'heading' : pre !== undefined ? 'code' : 'text';
      const { level = 0 } = heading ?? {};
      units.push(unitOfLines(kind, linesOf(block), { level, container, language: pre?.language ?? '' }));
    }
    last = block;
  }
  return units;
}

function writtenOf({ written }: Block): NonNullable<Block['written']> {
  return written ?? { place: {}, breaks: 0 };
}

function linesOf({ text, line, written }: Block, last?: Block): Line[] {
  const { marks, place } = written ?? {};
  const isGoingOn = last !== undefined && (line === last.lastLine || place?.heading !== undefined);
  const [first = '', ...others] = place?.pre === undefined ? text.split('\n') : [text];
  return [{ text: first, marks, isGoingOn }, ...others.map(each => ({ text: each.trim() }))];
}

/** Whether a block goes on with what the one before it began. */
function isSameUnit(last: Block, block: Block): boolean {
  const [one, other] = [writtenOf(last), writtenOf(block)];
  if (other.place.heading !== undefined) return one.place.heading === other.place.heading;
  if (one.place.heading !== undefined || one.place.pre !== other.place.pre) return false;
  if (other.place.pre !== undefined) return true;
  if (one.place.container !== other.place.container) return false;
  return block.line === last.lastLine || (other.breaks === 1 && block.line === last.lastLine + 1);
}

/** The table of Markdown that a block belongs into. */
function tableOf(block: Block): TableShape | undefined {
  const { table, cell, isCaption, heading, pre } = writtenOf(block).place;
  if (table === undefined || heading !== undefined || (cell === undefined && isCaption !== true))
    return undefined;
  // One in a preformatted text is no table, one with such texts in it may be.
  return isWritable(table) && (pre === undefined || cell !== undefined) ? table : undefined;
}

function unitsOfTable(table: TableShape, blocks: readonly Block[], addresses: Addresses): MarkdownUnit[] {
  const placeOf = (block: Block): BlockPlace => writtenOf(block).place;
  const [first] = blocks;
  const container = first && outside(placeOf(first), table);
  const captions = blocks.filter(block => placeOf(block).isCaption === true);
  const rows: { index: number; cells: Map<Cell, Block[]> }[] = [];
  for (const block of blocks) {
    const { cell, isCaption } = placeOf(block);
    if (cell === undefined || isCaption === true) continue;
    let row = rows.at(-1);
    if (row?.index !== cell.row.index) rows.push((row = { index: cell.row.index, cells: new Map() }));
    const there = row.cells.get(cell);
    if (there === undefined) row.cells.set(cell, [block]);
    else there.push(block);
  }
  const lines = rows.map(({ cells }): Line => {
    const written = Array.from({ length: table.columns }, () => '');
    const words: string[] = [];
    for (const [{ column }, some] of cells) {
      written[column] = some.map(block => inCell(block, addresses)).join('<br>');
      words.push(some.map(({ text }) => text).join(' '));
    }
    return { text: words.join(' | '), written: `| ${written.join(' | ')} |` };
  });
  const hasHead = table.hasHead && rows[0]?.index === 0;
  if (!hasHead) lines.unshift({ text: '', written: `|${'  |'.repeat(table.columns)}` });
  const caption = captions.flatMap(block => linesOf(block));
  return [
    ...(caption.length > 0 ? [unitOfLines('text', caption, { container })] : []),
    ...(rows.length > 0 ? [unitOfLines('table', lines, { container, columns: table.columns })] : []),
  ];
}

function inCell(block: Block, addresses: Addresses): string {
  const { marks, place } = writtenOf(block);
  // A preformatted line is code, whatever is in it.
  const code = place.pre === undefined ? marks : [0, CODE];
  return inline({ text: block.text, marks: code }, addresses, true);
}

/** What the table itself stands in. */
function outside({ container }: BlockPlace, { around }: TableShape): Container | undefined {
  let outer = container;
  while (outer !== around && outer !== undefined) outer = outer.outer;
  return outer;
}

/** The words of a unit, without what is only seen: link targets, pictures, emphasis. */
export function plainOf({ kind, lines }: MarkdownUnit): string {
  if (kind === 'heading') return lines.map(({ text }) => text).join(' ');
  let words = '';
  for (const { text, isGoingOn } of lines)
    if (text !== '') words += words === '' ? text : (isGoingOn === true ? ' ' : '\n') + text;
  return words;
}
