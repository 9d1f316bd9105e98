/** What holds for the words within an element, and what its attributes say about that. */
import type { Blocks } from './readable.js';

export const UNSEEN = 1;
/** A drawing, whose elements show no words but for some. */
export const DRAWING = 2;
/** Lines and blanks are content. */
export const LINES = 4;
export const LINK = 8;
export const MAIN = 16;
export const ARTICLE = 32;
/** Each element in it is a box, whatever it is elsewhere. */
export const FLEX = 64;

/** What holds within an element. */
export interface Within {
  /** Of the above. */
  bits: number;
  /** The number of the innermost element that stands beside the content; 0: none. */
  beside: number;
  /** The number of the innermost element that its style makes a box of its own; 0: none. */
  box: number;
  /** Where its blocks go. */
  out: Blocks;
  /** What the element itself says, whatever it is in. */
  sets: number;
  clears: number;
  ownBeside: number | undefined;
  ownBox: number | undefined;
  /** Blocks that stand between the parts of a table. */
  strays: Blocks | undefined;
}

/** What an element says by itself. */
export type Own = Pick<Within, 'sets' | 'clears' | 'ownBeside' | 'ownBox'>;

/** Declarations of a `style` that decide which words are shown, and which are one. */
const UNSHOWN = /(?:^|;)\s*(?:display\s*:\s*none|(?:content-)?visibility\s*:\s*(?:hidden|collapse))\b/i;
const FLEXIBLE = /(?:^|;)\s*display\s*:\s*(?:inline-)?(?:flex|grid)(?![\w-])/i;
const BOX =
  /(?:^|;)\s*display\s*:\s*(?:block|(?:inline-)?(?:flex|grid)|flow-root|list-item|table(?:-cell|-caption)?)(?![\w-])/i;

/** Whether words of one are content, and words of the other may not be. */
export function isOther(one: Within, other: Within): boolean {
  return one.beside !== other.beside || ((one.bits ^ other.bits) & (MAIN | ARTICLE)) !== 0;
}

export function bitsOfAttributes(attributes: ReadonlyMap<string, string>): number {
  let bits = 0;
  if (attributes.has('hidden') || attributes.has('popover')) bits |= UNSEEN;
  if (attributes.get('role') === 'main') bits |= MAIN;
  const style = attributes.get('style');
  if (style === undefined) return bits;
  if (UNSHOWN.test(style)) bits |= UNSEEN;
  if (FLEXIBLE.test(style)) bits |= FLEX;
  if (/(?:^|;)\s*white-space\s*:\s*(?:pre|break-spaces)/i.test(style)) bits |= LINES;
  return bits;
}

export function isBoxByStyle(attributes: ReadonlyMap<string, string>): boolean {
  return BOX.test(attributes.get('style') ?? '');
}
