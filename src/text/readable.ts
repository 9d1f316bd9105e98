/** Which blocks of a page are its content, and which are what every page of its site says.
 * docs/design/text.md */

import type { MarkedText } from './markdown/marks.js';
import type { BlockPlace } from './markdown/places.js';

/** A table, or a list: it is content as a whole, or as a whole leads elsewhere. */
export interface TextGroup {
  isTable: boolean;
  rows: number;
  /** True if another table is in it. */
  hasTable: boolean;
  /** The group around it. */
  outer: TextGroup | undefined;
}

/** Marks of a block that Markdown needs, and nobody else. */
export interface BlockMarks extends Pick<MarkedText, 'marks'> {
  place?: BlockPlace | undefined;
  /** Line breaks that part it from the block before, where nothing else does; one, and it is a line of the
   * same paragraph. */
  breaks?: number | undefined;
}

/** Paragraphs, headings, cells: text that a browser sets apart, alike in all that is said here. */
export interface Block extends BlockMarks {
  text: string;
  /** The numbers of its first and last line; a block may begin in the line that another ended in. */
  line: number;
  lastLine: number;
  /** How many characters they have, and how many of these are links. */
  length: number;
  linkLength: number;
  /** Each of them. */
  links: LinkShare;
  /** How many they are. */
  count: number;
  /** The innermost table or list that they are in. */
  unit: TextGroup | undefined;
  /** Inside `<main>`, inside an `<article>`. */
  main: boolean;
  article: boolean;
  /** The number of the innermost element around it that stands beside the content; 0: none. */
  beside: number;
}

/** In their order; those that belong in one place, but come later, in a list of their own. */
export type Blocks = (Block | Blocks)[];

/** A `<main>` with less than this holds a teaser, or nothing but script made it. */
const MAIN_LEAST_LENGTH = 250;
/** Articles with less than this share of a page's text are those of a list of links. */
const ARTICLE_LEAST_SHARE = 0.3;
/** More of a block in links than this, and it leads elsewhere. */
const LINKS_MOST_SHARE = 0.5;
/** The same of a whole table or list, and inside of what is marked as content: many a table has links in one
 * of two columns. */
const CONTENT_LINKS_MOST_SHARE = 0.8;
/** Inside of what is marked as content, fewer blocks of links after each other are content, too. */
const LINKS_LEAST_RUN = 3;
/** A label of this many characters between two of them is none of the content that would part them. */
const LABEL_MOST_LENGTH = 20;
/** Where less would be left of the content without links, the links are it: a table of contents. */
const WORDS_LEAST_SHARE = 0.5;
/** A table with fewer rows lays something out. */
const TABLE_LEAST_ROWS = 3;
/** Share of a page's words above which a part does not stand beside its content: it was not closed, or is
 * around all of it. */
const BESIDE_MOST_SHARE = 0.5;

/** How much of a block is links: little, more than half, hardly anything else. */
export type LinkShare = 'few' | 'most' | 'all';

export function linkShare(length: number, linkLength: number): LinkShare {
  if (linkLength > CONTENT_LINKS_MOST_SHARE * length) return 'all';
  return linkLength > LINKS_MOST_SHARE * length ? 'most' : 'few';
}

/** The text of all blocks. */
export function joined(blocks: Blocks, separator: string): string {
  return allBlocks(blocks)
    .map(block => block.text)
    .join(separator);
}

/**
 * The text of the content; of all blocks where there is nothing else.
 * @param besides the elements that stand beside the content: for each number, that of the one it is in
 */
export function readableOf(blocks: Blocks, besides: readonly number[]): string {
  return inLines(readableBlocks(blocks, besides));
}

/** The blocks of the content, in their order, as `readableOf`. */
export function readableBlocks(blocks: Blocks, besides: readonly number[]): readonly Block[] {
  const all = allBlocks(blocks);
  const isBeside = besidesOf(all, besides);
  const inside = all.filter(block => isBeside[block.beside] !== true);
  const some = contentOf(inside.length > 0 ? inside : all);
  const words = withoutLinks(some);
  return lengthOf(words) < WORDS_LEAST_SHARE * lengthOf(some) ? some : words;
}

/** Without what leads elsewhere: whole tables and lists, runs of blocks inside of what is marked as content,
 * any other block by itself. */
function withoutLinks(blocks: readonly Block[]): Block[] {
  const lengths = new Map<TextGroup, { text: number; links: number }>();
  for (const block of blocks) {
    const unit = wholeOf(block);
    if (unit === undefined) continue;
    let sum = lengths.get(unit);
    if (sum === undefined) lengths.set(unit, (sum = { text: 0, links: 0 }));
    sum.text += block.length;
    sum.links += block.linkLength;
  }
  const kept: Block[] = [];
  for (let from = 0, to = 0; from < blocks.length; from = to) {
    const run = runOf(blocks, from);
    to = Math.max(run.to, from + 1);
    for (const block of blocks.slice(from, to)) {
      const unit = wholeOf(block);
      const { text, links } = (unit && lengths.get(unit)) ?? { text: 0, links: 0 };
      if (isOfRun(block)) {
        if (run.count < LINKS_LEAST_RUN) kept.push(block);
      } else if (
        unit !== undefined
          ? links <= CONTENT_LINKS_MOST_SHARE * text
          : isMarked(block) || block.links === 'few'
      )
        kept.push(block);
    }
  }
  return kept;
}

/** Blocks of links after each other inside of what is marked as content: where they end, and how many they
 * are. */
function runOf(blocks: readonly Block[], from: number): { to: number; count: number } {
  let to = from;
  let count = 0;
  for (let at = from; at < blocks.length && at - to < 2; at++) {
    const block = blocks[at] as Block;
    if (isOfRun(block)) {
      count += block.count;
      to = at + 1;
    } else if (at === from || !isLabel(block)) break;
  }
  return { to, count };
}

function isOfRun(block: Block): boolean {
  return isMarked(block) && block.unit === undefined && block.links === 'all';
}

function isLabel({ unit, length, count }: Block): boolean {
  return unit === undefined && count === 1 && length <= LABEL_MOST_LENGTH;
}

/** True if the page itself says that it is content. */
function isMarked({ main, article }: Block): boolean {
  return main || article;
}

/** The table or list that is judged as a whole: the outermost that holds no table, and is no layout. */
function wholeOf({ unit }: Block): TextGroup | undefined {
  let whole: TextGroup | undefined;
  for (let around = unit; around !== undefined && !around.hasTable; around = around.outer)
    if (!around.isTable || around.rows >= TABLE_LEAST_ROWS) whole = around;
  return whole;
}

function inLines(blocks: readonly Block[]): string {
  const parts: string[] = [];
  let lastLine: number | undefined;
  for (const block of blocks) {
    if (lastLine !== undefined) parts.push(block.line === lastLine ? ' ' : '\n');
    parts.push(block.text);
    lastLine = block.lastLine;
  }
  return parts.join('');
}

function contentOf(blocks: readonly Block[]): readonly Block[] {
  const main = blocks.filter(block => block.main);
  if (lengthOf(main) > MAIN_LEAST_LENGTH) return main;
  const articles = blocks.filter(block => block.article);
  return lengthOf(articles) > ARTICLE_LEAST_SHARE * lengthOf(blocks) ? articles : blocks;
}

function lengthOf(blocks: readonly Block[]): number {
  return blocks.reduce((sum, block) => sum + block.length, 0);
}

/** By number, whether an element, or one around it, stands beside the content. */
function besidesOf(blocks: readonly Block[], around: readonly number[]): boolean[] {
  const words = around.map(() => 0);
  let all = 0;
  for (const { length, linkLength, beside } of blocks) {
    words[beside] = (words[beside] ?? 0) + length - linkLength;
    all += length - linkLength;
  }
  // Those that are in others have the higher numbers.
  for (let i = around.length - 1; i > 0; i--) {
    const outer = around[i] ?? 0;
    words[outer] = (words[outer] ?? 0) + (words[i] ?? 0);
  }
  const isBeside = [false];
  for (let i = 1; i < around.length; i++)
    isBeside[i] = isBeside[around[i] ?? 0] === true || (words[i] ?? 0) <= BESIDE_MOST_SHARE * all;
  return isBeside;
}

/** In one list. */
export function allBlocks(blocks: Blocks): Block[] {
  const all: Block[] = [];
  const rest: { blocks: Blocks; at: number }[] = [{ blocks, at: 0 }];
  for (let last = rest[0]; last !== undefined; last = rest.at(-1)) {
    const next = last.blocks[last.at++];
    if (next === undefined) rest.pop();
    else if (Array.isArray(next)) rest.push({ blocks: next, at: 0 });
    else all.push(next);
  }
  return all;
}
