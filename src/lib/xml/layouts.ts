/**
 * The fast path: elements that look like one seen before are read by one regular expression.
 *
 * A layout is all of a start tag but its values: the names, their order, the blanks and quotes. It is learnt
 * from an element saxes has accepted, so names, their number and their uniqueness need no second look; its
 * expression admits only values without control characters, and of references only the five predefined.
 * Whatever does not match goes to saxes. Measured (bench/xml.ts): 5 to 8 times as fast as saxes.
 */
import type { Attributes } from './types.js';

/** Layouts tried on an element; more would slow down input that fits none. */
const MAX_LAYOUTS = 8;
/** Layouts compiled for one reader: a peer that varies them without end gets no more. */
const MAX_LEARNT = 64;

const QUOTED = /"[^"]*"|'[^']*'/g;
const DOUBLE_QUOTED = '"([^"<\\u0000-\\u001f\\ufffe\\uffff]*)"';
const SINGLE_QUOTED = "'([^'<\\u0000-\\u001f\\ufffe\\uffff]*)'";
const TEXT = '([^\\]<\\u0000-\\u001f\\ufffe\\uffff]*)';
const SPECIAL_IN_EXPRESSION = /[.*+?^${}()|[\]\\/-]/g;
/** Commonest first. */
const REFERENCES = [
  ['&quot;', '"'],
  ['&amp;', '&'],
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&apos;', "'"],
] as const;

interface Layout {
  name: string;
  /** `<name …/>`; otherwise `<name …>text</name>`. */
  empty: boolean;
  attributeNames: readonly string[];
  /** The whole element: one group for each value, one for the text. */
  expression: RegExp;
  /** Pattern of the start tag alone. */
  startTag: RegExp;
  /** All attributes, so that copies share one hidden class. */
  template: Attributes;
  /** Length of `</name>`; 0 where it is empty. */
  endTagLength: number;
  /** The layout that followed last time: the first guess this time, so that layouts may alternate. */
  next: Layout | undefined;
}

export class Layouts {
  readonly #layouts: Layout[] = [];
  #last: Layout | undefined;
  #learnt = 0;

  /** Match of the layout found last, references resolved but in the whole. */
  match: RegExpExecArray | undefined;
  /** The length of the last group, references as they were written. */
  contentLength = 0;

  /** The layout of the whole element that begins at `at`; `match` is set and `expression.lastIndex` is after
   * it. */
  find(text: string, at: number): Layout | undefined {
    const guess = this.#last?.next;
    if (guess !== undefined && this.#matches(guess, text, at)) return this.#found(guess);
    for (const layout of this.#layouts) {
      if (layout !== guess && this.#matches(layout, text, at)) return this.#found(layout);
    }
    return undefined;
  }

  #matches(layout: Layout, text: string, at: number): boolean {
    layout.expression.lastIndex = at;
    const match = layout.expression.exec(text);
    if (match === null) return false;
    if (!layout.empty) this.contentLength = (match.at(-1) as string).length;
    if (match[0].includes('&')) {
      for (let group = 1; group < match.length; group++) {
        const value = resolved(match[group] as string);
        if (value === undefined) return false;
        match[group] = value;
      }
    }
    this.match = match;
    return true;
  }

  #found(layout: Layout): Layout {
    if (this.#last !== undefined) this.#last.next = layout;
    this.#last = layout;
    return layout;
  }

  /** Remembers how an accepted start tag looks. @param raw the tag, `<` to `>` */
  learn(name: string, attributes: Attributes, empty: boolean, raw: string): void {
    // Elements with others inside are never found whole: their start tags come here again and again.
    if (this.#learnt >= MAX_LEARNT || this.#layouts.some(layout => isStartTag(layout, raw))) return;
    const start = expressionFor(raw);
    if (start === undefined) return;
    const source = empty ? start : `${start}${TEXT}${literal(`</${name}>`)}`;
    if (this.#layouts.some(layout => layout.expression.source === source)) return;
    this.#learnt += 1;
    const attributeNames = Object.keys(attributes);
    this.#layouts.unshift({
      name,
      empty,
      attributeNames,
      expression: new RegExp(source, 'y'),
      startTag: new RegExp(start, 'y'),
      template: Object.fromEntries(attributeNames.map(attribute => [attribute, ''])),
      endTagLength: empty ? 0 : name.length + 3,
      next: undefined,
    });
    this.#layouts.length = Math.min(this.#layouts.length, MAX_LAYOUTS);
  }
}

/** The attributes a match found. */
export function attributesOf(layout: Layout, match: RegExpExecArray): Attributes {
  const attributes = { ...layout.template };
  const names = layout.attributeNames;
  for (let i = 0; i < names.length; i++) attributes[names[i] as string] = match[i + 1] as string;
  return attributes;
}

/** True if all of `tag` is a start tag of the layout. */
function isStartTag({ startTag }: Layout, tag: string): boolean {
  startTag.lastIndex = 0;
  return startTag.test(tag) && startTag.lastIndex === tag.length;
}

/** The expression for tags like this one; undefined where lines end between its attributes, which nobody
 * would count. */
function expressionFor(tag: string): string | undefined {
  let source = '';
  let from = 0;
  for (const { 0: quoted, index } of tag.matchAll(QUOTED)) {
    source += literal(tag.slice(from, index)) + (quoted.startsWith('"') ? DOUBLE_QUOTED : SINGLE_QUOTED);
    from = index + quoted.length;
  }
  source += literal(tag.slice(from));
  return /[\r\n]/.test(source) ? undefined : source;
}

/** An expression for the text itself, in the spelling of RegExp.source. */
function literal(text: string): string {
  return text.replace(SPECIAL_IN_EXPRESSION, '\\$&');
}

/** The value without its references; undefined when one of them is not predefined. Every etag has two: an
 * expression that looks for them, and a callback for each, took 0.8 µs. */
function resolved(value: string): string | undefined {
  let at = value.indexOf('&');
  if (at < 0) return value;
  let text = '';
  let from = 0;
  for (; at >= 0; at = value.indexOf('&', from)) {
    let reference;
    for (const one of REFERENCES) {
      if (!value.startsWith(one[0], at)) continue;
      reference = one;
      break;
    }
    if (reference === undefined) return undefined;
    text += value.slice(from, at) + reference[1];
    from = at + reference[0].length;
  }
  return text + value.slice(from);
}
