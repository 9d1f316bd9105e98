/** State of the words within an element, and the effect of its attributes on that. */
import type { ReadTagAttributes } from './attributes.js';
import {
  BESIDE,
  BESIDE_ROLES,
  HEADING,
  HIDDEN,
  MATH_HIDDEN,
  PRE,
  SVG_SHOWN,
  XML_HIDDEN,
} from './elements.js';
import type { Blocks, TextGroup } from './readable.js';
import { CODE, EMPHASIS, STRONG } from './markdown/marks.js';
import type { BlockPlace } from './markdown/places.js';
import type { Beginning } from './tree.js';

export const UNSEEN = 1;
/** A drawing, whose elements show no words but for some. */
export const DRAWING = 2;
/** Lines and blanks are content. */
export const LINES = 4;
/** Words that lead elsewhere. */
export const LINK = 8;
export const MAIN = 16;
export const ARTICLE = 32;
/** Each element in it is a box, whatever it is elsewhere. */
export const FLEX = 64;
/** A heading, or what is shown of something closed: a button in it is its words. */
const HEADED = 128;
/** Unit of the marks of words (markdown/marks.ts): `MARKED` times the mark. */
export const MARKED = 256;
const MARKS: ReadonlyMap<string, number> = new Map([
  ...['strong', 'b', 'dt'].map(name => [name, STRONG * MARKED] as const),
  ...['em', 'i'].map(name => [name, EMPHASIS * MARKED] as const),
  ...['code', 'tt', 'kbd', 'samp'].map(name => [name, CODE * MARKED] as const),
]);

/** State within an element. */
export interface Within {
  /** Bits of the above. */
  bits: number;
  /** The number of the innermost element that stands beside the content; 0: none. */
  beside: number;
  /** The number of the innermost element that its style makes a box of its own; 0: none. */
  box: number;
  /** Where its blocks go. */
  out: Blocks;
  /** The innermost table or list. */
  unit: TextGroup | undefined;
  /**
   * Where Markdown would have it, and the number of the link around it; undefined where nobody writes any.
   */
  place: BlockPlace | undefined;
  link: number;
  /** Blocks that stand between the parts of a table. */
  strays: Blocks | undefined;
  own: Own;
}

/** Values that the element gives itself, whatever it is in; undefined where that is what holds around it. */
export interface Own {
  /** Bits that are set. */
  sets: number;
  clears: number;
  beside?: number | undefined;
  box?: number | undefined;
  unit?: TextGroup | undefined;
  place?: BlockPlace | undefined;
  link?: number | undefined;
}

/** Declarations of a `style` that decide which words are shown, and which are one. */
const UNSHOWN = /(?:^|;)\s*(?:display\s*:\s*none|(?:content-)?visibility\s*:\s*(?:hidden|collapse))\b/i;
const FLEXIBLE = /(?:^|;)\s*display\s*:\s*(?:inline-)?(?:flex|grid)(?![\w-])/i;
const BOX =
  /(?:^|;)\s*display\s*:\s*(?:block|(?:inline-)?(?:flex|grid)|flow-root|list-item|table(?:-cell|-caption)?)(?![\w-])/i;

/** True if words of one are content, and words of the other may not be. */
export function isOther(one: Within, other: Within): boolean {
  return one.beside !== other.beside || ((one.bits ^ other.bits) & (MAIN | ARTICLE)) !== 0;
}

/** An address of a link under which there is no other page: a place in this one, a mailbox, a number, a
 * script. */
const LEADS_NOWHERE = /^(?:$|#|(?:mailto|tel|sms|callto|fax|geo|xmpp|javascript|data|about):)/i;

/** Effect of an element by itself on the words in it. @param isHtml whether names are those of HTML, also
 * where it is XML */
export function saidBy(
  { name, kinds, foreign }: Beginning,
  attributes: ReadTagAttributes,
  isHtml: boolean,
  isXml: boolean,
): Pick<Own, 'sets' | 'clears'> {
  let sets = 0;
  let clears = 0;
  if (foreign === 'svg') {
    if (name === 'svg') sets |= DRAWING;
    else if (SVG_SHOWN.has(name)) clears |= DRAWING;
  } else if (foreign === 'math') {
    if (MATH_HIDDEN.has(name)) sets |= UNSEEN;
  } else if (isHtml) {
    if ((kinds & HIDDEN) !== 0 || (name === 'dialog' && !attributes.has('open'))) sets |= UNSEEN;
    if ((kinds & PRE) !== 0) sets |= LINES;
    if ((kinds & HEADING) !== 0 || name === 'summary' || name === 'dt') sets |= HEADED;
    if (name === 'a') sets |= isElsewhere(attributes.get('href')) ? LINK : 0;
    else if (name === 'article') sets |= ARTICLE;
    else if (name === 'main') sets |= MAIN;
  }
  if (isXml && XML_HIDDEN.has(name.slice(name.lastIndexOf(':') + 1))) sets |= UNSEEN;
  if (attributes.size > 0) sets |= bitsOfAttributes(attributes);
  return { sets, clears };
}

/** The bits of what an element of HTML makes of its words. */
export function marksOf(name: string): number {
  return MARKS.get(name) ?? 0;
}

function isElsewhere(href: string | undefined): boolean {
  return href !== undefined && !LEADS_NOWHERE.test(href.replace(/[\t\n\r]/g, '').trimStart());
}

/** True if an element of HTML stands beside the content. @param bits what holds in it */
export function isBeside({ name, kinds }: Beginning, attributes: ReadTagAttributes, bits: number): boolean {
  return (
    ((kinds & BESIDE) !== 0 && (name !== 'button' || (bits & HEADED) === 0)) ||
    // The heading of the content itself stands in one, too.
    (name === 'header' && (bits & (MAIN | ARTICLE)) === 0) ||
    (attributes.size > 0 &&
      (BESIDE_ROLES.has(attributes.get('role') ?? '') || attributes.get('aria-hidden') === 'true'))
  );
}

/** The table or list that an element of HTML begins; one that begins a row counts it. */
export function unitOf({ name, foreign }: Beginning, outer: TextGroup | undefined): TextGroup | undefined {
  if (foreign !== undefined) return undefined;
  switch (name) {
    case 'tr':
      if (outer?.isTable) outer.rows++;
      return undefined;
    case 'table':
      for (let around = outer; around !== undefined && !around.hasTable; around = around.outer)
        around.hasTable = true;
      return { isTable: true, rows: 0, hasTable: false, outer };
    case 'ul':
    case 'ol':
    case 'dl':
    case 'menu':
    case 'dir':
      return { isTable: false, rows: 0, hasTable: false, outer };
    default:
      return undefined;
  }
}

function bitsOfAttributes(attributes: ReadTagAttributes): number {
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

export function isBoxByStyle(attributes: ReadTagAttributes): boolean {
  return BOX.test(attributes.get('style') ?? '');
}
