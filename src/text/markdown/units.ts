/** Blocks of a page as what Markdown has: headings, paragraphs, code, tables. One that cannot be parted is no
 * more than a line. */
import type { Block } from '../readable.js';
import type { Addresses } from './addresses.js';
import { inCell } from './inline.js';
import { CODE, type MarkedText } from './marks.js';
import { isWritable, type Cell, type Container, type TableShape } from './places.js';

export interface Line extends MarkedText {
  /** As it is written; undefined: made of the text and its marks. */
  written?: string;
  /** True if it stands in the line of the one before. */
  isGoingOn?: boolean | undefined;
}

export interface MarkdownUnit {
  kind: 'heading' | 'text' | 'code' | 'table';
  /** Lines of the paragraph; rows of the table, its head first; lines of code, if it has been parted. */
  lines: Line[];
  /** Containers that it stands in, from the outermost. */
  containers?: readonly Container[] | undefined;
  /** Level of a heading. */
  level?: number | undefined;
  /** Language of code; '' where it is not known. */
  language?: string | undefined;
  /** Columns of a table. */
  columns?: number;
  /** Page in a document that has pages, from 1. */
  page?: number | undefined;
}

/** @param blocks in their order */
export function unitsOf(blocks: readonly Block[], addresses: Addresses): MarkdownUnit[] {
  const units: MarkdownUnit[] = [];
  let last: Block | undefined;
  for (let from = 0, to = 1; from < blocks.length; from = to++) {
    const block = blocks[from] as Block;
    const table = tableOf(block);
    if (table !== undefined) {
      while (to < blocks.length && tableOf(blocks[to] as Block) === table) to++;
      units.push(...unitsOfTable(table, blocks.slice(from, to), addresses));
      last = undefined;
      continue;
    }
    const unit = units.at(-1);
    if (unit !== undefined && last !== undefined && isSameUnit(last, block)) {
      unit.lines.push(...linesOf(block, last));
    } else {
      const { containers, heading, pre } = block.place ?? {};
      const kind = heading !== undefined ? 'heading' : pre !== undefined ? 'code' : 'text';
      const language = pre?.language;
      units.push({ kind, lines: linesOf(block), level: heading?.level, containers, language });
    }
    last = block;
  }
  return units;
}

function linesOf({ text, line, marks, place }: Block, last?: Block): Line[] {
  const isGoingOn = last !== undefined && (line === last.lastLine || place?.heading !== undefined);
  const [first = '', ...others] = place?.pre === undefined ? text.split('\n') : [text];
  return [{ text: first, marks, isGoingOn }, ...others.map(each => ({ text: each.trim() }))];
}

/** True if a block goes on with what the one before it began. */
function isSameUnit(
  { place: one = {}, lastLine }: Block,
  { place: other = {}, line, breaks }: Block,
): boolean {
  if (other.heading !== undefined) return one.heading === other.heading;
  if (one.heading !== undefined || one.pre !== other.pre) return false;
  if (other.pre !== undefined) return true;
  return (
    one.containers === other.containers && (line === lastLine || (breaks === 1 && line === lastLine + 1))
  );
}

/** The table of Markdown that a block belongs into. */
function tableOf({ place = {} }: Block): TableShape | undefined {
  const { table, cell, isCaption, heading, pre } = place;
  if (table === undefined || heading !== undefined || (cell === undefined && isCaption !== true))
    return undefined;
  // One in a preformatted text is no table, one with such texts in it may be.
  return isWritable(table) && (pre === undefined || cell !== undefined) ? table : undefined;
}

function unitsOfTable(table: TableShape, blocks: readonly Block[], addresses: Addresses): MarkdownUnit[] {
  const { around: containers, columns, hasHead } = table;
  const rows = new Map<Cell['row'], Map<Cell, Block[]>>();
  const caption: Line[] = [];
  for (const block of blocks) {
    const { cell, isCaption } = block.place ?? {};
    if (cell === undefined || isCaption === true) {
      caption.push(...linesOf(block));
      continue;
    }
    let row = rows.get(cell.row);
    if (row === undefined) rows.set(cell.row, (row = new Map()));
    const there = row.get(cell);
    if (there === undefined) row.set(cell, [block]);
    else there.push(block);
  }
  const lines: Line[] = [];
  for (const [{ index }, cells] of rows) {
    if (lines.length === 0 && !(hasHead && index === 0))
      lines.push({ text: '', written: `|${'  |'.repeat(columns)}` });
    const written = Array.from({ length: columns }, () => '');
    const words: string[] = [];
    for (const [{ column }, some] of cells) {
      written[column] = some.map(block => inCell(markedIn(block), addresses)).join('<br>');
      words.push(some.map(({ text }) => text).join(' '));
    }
    lines.push({ text: words.join(' | '), written: `| ${written.join(' | ')} |` });
  }
  return [
    ...(caption.length > 0 ? [{ kind: 'text', containers, lines: caption } as const] : []),
    ...(lines.length > 0 ? [{ kind: 'table', containers, lines, columns } as const] : []),
  ];
}

/** A preformatted line in a cell is code, whatever is in it. */
function markedIn({ text, marks, place }: Block): MarkedText {
  return { text, marks: place?.pre === undefined ? marks : [0, CODE] };
}

/** The words of a unit, without what is only seen: link targets, pictures, emphasis. */
export function plainOf({ kind, lines }: MarkdownUnit): string {
  if (kind === 'heading') return lines.map(({ text }) => text).join(' ');
  let words = '';
  for (const { text, isGoingOn } of lines)
    if (text !== '') words += words === '' ? text : (isGoingOn === true ? ' ' : '\n') + text;
  return words;
}
