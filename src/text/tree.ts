/**
 * Which elements are open at any point of an HTML document, by the rules of the standard (13.2.6) as far as
 * they decide what is inside of what: tags that are left out, crossed, foreign or strewn about in tables. No
 * tree is made. The stack is bounded, as that of browsers: however deep or crossed a document is, time is in
 * proportion to its length.
 *
 * Not kept: formatting that is opened again after the block in which it was closed by it; it changes no
 * words.
 */
import {
  BLOCK,
  BREAKOUT,
  ENDS_P,
  FORMATTING,
  HEADING,
  HTML_IN_MATH,
  HTML_IN_SVG,
  kindsOf,
  SCOPE,
  SPECIAL,
  TABLE_PART,
  VOID,
} from './elements.js';

/** Elements open in each other; one that is deeper stands beside the last of them, as in Chromium. */
const MAX_DEPTH = 512;

type Foreign = 'svg' | 'math' | undefined;

interface Open<State> {
  name: string;
  kinds: number;
  /** Which language its name is of; undefined: HTML. */
  foreign: Foreign;
  /** True if names within are of that language, too. */
  within: Foreign;
  /** True if a paragraph, a link, is in scope: asked by many a tag, and mostly answered with no. */
  inScope: number;
  /** State of everything in it. */
  state: State;
}

const P = 1;
const A = 2;

/** An element, before it is known what holds in it. */
export type Beginning = Pick<Open<unknown>, 'name' | 'kinds' | 'foreign' | 'within'>;

interface TreeRules<State> {
  /**
   * State within an element, by the state around it: the same object where it changes nothing. @param old
   * state until something around it was taken away; undefined for one that begins @param strayIn of the
   * table, for one that stands between its parts: browsers show it before the table
   */
  stateOf(element: Beginning, around: State, old: State | undefined, strayIn: State | undefined): State;
}

/** Which element a search stops at. */
type Stop = 'scope' | 'button' | 'list' | 'table';

export class Tree<State> {
  readonly #stack: Open<State>[] = [];
  readonly #rules: TreeRules<State>;
  readonly #outside: State;
  readonly #xml: boolean;
  /** The standard's form element pointer: forms do not nest. */
  #form: Open<State> | undefined;

  constructor(rules: TreeRules<State>, outside: State, xml: boolean) {
    this.#rules = rules;
    this.#outside = outside;
    this.#xml = xml;
  }

  get #top(): Open<State> | undefined {
    return this.#stack[this.#stack.length - 1];
  }

  /** The state here. */
  get state(): State {
    return this.#top?.state ?? this.#outside;
  }

  /** True if the next tag is one of SVG or MathML, unless it is one that ends them. */
  get isForeign(): boolean {
    return this.#top?.within !== undefined;
  }

  /** The innermost table, where what stands here is none of its parts: browsers show it before the table. */
  get strayTable(): Open<State> | undefined {
    const top = this.#top;
    if (top === undefined || this.#xml || top.foreign !== undefined) return undefined;
    if (top.name !== 'table' && ((top.kinds & TABLE_PART) === 0 || (top.kinds & SCOPE) !== 0))
      return undefined;
    const at = this.#find('table', 'table');
    return at < 0 ? undefined : this.#stack[at];
  }

  /**
   * @returns whether there is such an element from here on: some tags are passed over, others have no content
   */
  start(name: string, selfClosing: boolean): boolean {
    if (this.#xml) return !selfClosing && this.#push(name, kindsOf(name), undefined, undefined);
    const foreign = this.#top?.within;
    if (foreign !== undefined && !this.#breaksOut(name)) {
      if (selfClosing) return false;
      const isPoint = (foreign === 'svg' ? HTML_IN_SVG : HTML_IN_MATH).has(name);
      return this.#push(name, 0, foreign, isPoint ? undefined : foreign);
    }
    const kinds = kindsOf(name);
    if ((kinds & ENDS_P) !== 0) this.#endP();
    if ((kinds & TABLE_PART) !== 0 && !this.#enterTable(name)) return false;
    if (!this.#endOthers(name, kinds)) return false;
    if ((kinds & VOID) !== 0) return false;
    if (name === 'svg' || name === 'math') return !selfClosing && this.#push(name, kinds, name, name);
    const isOpen = this.#push(name, kinds, undefined, undefined);
    if (name === 'form' && isOpen) this.#form = this.#top;
    return isOpen;
  }

  end(name: string): void {
    if (this.#xml) {
      this.#popTo(this.#lastOf(name));
      return;
    }
    if (this.#top?.foreign !== undefined) {
      if (name === 'p' || name === 'br') this.#leaveForeign();
      else if (this.#endForeign(name)) return;
    }
    const kinds = kindsOf(name);
    if (name === 'p') this.#endP();
    else if (name === 'li') this.#close(name, 'list');
    else if (name === 'form') this.#endForm();
    else if ((kinds & HEADING) !== 0) this.#popTo(this.#findHeading());
    else if (name === 'table' || (kinds & TABLE_PART) !== 0) this.#close(name, 'table');
    else if (name === 'template') this.#popTo(this.#lastOf(name));
    else if ((kinds & BLOCK) !== 0 || name === 'dd' || name === 'dt') this.#close(name, 'scope');
    else if ((kinds & FORMATTING) === 0 || !this.#endFormatting(name)) this.#endOther(name);
  }

  /** Ends the elements that a start tag ends besides a paragraph. @returns false for one that must be passed
   * over */
  #endOthers(name: string, kinds: number): boolean {
    const top = this.#top;
    switch (name) {
      case 'html':
      case 'head':
      case 'body':
        return false;
      case 'li':
        this.#endItem(name, name);
        break;
      case 'dd':
      case 'dt':
        this.#endItem('dd', 'dt');
        break;
      case 'a':
        if (((top?.inScope ?? 0) & A) !== 0) this.#endFormatting(name);
        break;
      case 'button':
        this.#close(name, 'scope');
        break;
      case 'form':
        return this.#form === undefined;
      case 'option':
        if (top?.name === name) this.#pop();
        break;
      case 'optgroup':
        if (top?.name === 'option') this.#pop();
        if (this.#top?.name === name) this.#pop();
        break;
      case 'select':
        // One in another is its end.
        if (this.#lastOf(name) >= 0) {
          this.#popTo(this.#lastOf(name));
          return false;
        }
        break;
      case 'table':
        // One between the parts of another ends it.
        if (this.strayTable !== undefined) this.#close(name, 'table');
        break;
      default:
        if ((kinds & HEADING) !== 0 && top !== undefined && (top.kinds & HEADING) !== 0) this.#pop();
    }
    return true;
  }

  /** Goes back to where a part of a table belongs. @returns false outside of tables */
  #enterTable(name: string): boolean {
    const table = this.#find('table', 'table');
    if (table < 0) return false;
    const isCell = name === 'td' || name === 'th';
    let at = this.#stack.length - 1;
    for (; at > table; at--) {
      const open = this.#stack[at]?.name ?? '';
      if (isCell && open === 'tr') break;
      if ((isCell || name === 'tr') && (open === 'tbody' || open === 'thead' || open === 'tfoot')) break;
    }
    this.#popTo(at + 1);
    return true;
  }

  /** `li`, `dt` and `dd` end the last of their kind, unless a list or another block has begun since. */
  #endItem(one: string, other: string): void {
    for (let at = this.#stack.length - 1; at >= 0; at--) {
      const { name, kinds } = this.#stack[at] as Open<State>;
      if (name === one || name === other) {
        this.#popTo(at);
        return;
      }
      if ((kinds & SPECIAL) !== 0 && name !== 'address' && name !== 'div' && name !== 'p') return;
    }
  }

  /** Formatting may be closed across blocks: they stay open, without it. @returns whether it was open */
  #endFormatting(name: string): boolean {
    const at = this.#find(name, 'scope');
    if (at < 0) return false;
    let isCrossed = false;
    for (let i = at + 1; i < this.#stack.length; i++)
      isCrossed ||= ((this.#stack[i] as Open<State>).kinds & SPECIAL) !== 0;
    if (isCrossed) this.#remove(at);
    else this.#popTo(at);
    return true;
  }

  #endForm(): void {
    const at = this.#form === undefined ? -1 : this.#stack.lastIndexOf(this.#form);
    this.#form = undefined;
    if (at >= 0) this.#remove(at);
  }

  /** An end tag without rules of its own ends the last of its name, but no block on the way there. */
  #endOther(name: string): void {
    for (let at = this.#stack.length - 1; at >= 0; at--) {
      const open = this.#stack[at] as Open<State>;
      if (open.name === name && open.foreign === undefined) {
        this.#popTo(at);
        return;
      }
      if ((open.kinds & SPECIAL) !== 0) return;
    }
  }

  /** @returns whether it was an end tag of SVG or MathML */
  #endForeign(name: string): boolean {
    for (let at = this.#stack.length - 1; at >= 0; at--) {
      const open = this.#stack[at] as Open<State>;
      if (open.foreign === undefined) return false;
      if (open.name === name) {
        this.#popTo(at);
        return true;
      }
    }
    return false;
  }

  /** Tags of HTML end SVG and MathML. @returns whether this one did */
  #breaksOut(name: string): boolean {
    if (!BREAKOUT.has(name)) return false;
    this.#leaveForeign();
    return true;
  }

  #leaveForeign(): void {
    while (this.#top?.within !== undefined) this.#pop();
  }

  #close(name: string, stop: Stop): void {
    const at = this.#find(name, stop);
    if (at >= 0) this.#popTo(at);
  }

  #endP(): void {
    if (((this.#top?.inScope ?? 0) & P) !== 0) this.#close('p', 'button');
  }

  /** Where the last element of that name is, if it is in scope; -1 where none is. */
  #find(name: string, stop: Stop): number {
    for (let at = this.#stack.length - 1; at >= 0; at--) {
      const open = this.#stack[at] as Open<State>;
      if (open.foreign === undefined && open.name === name) return at;
      if (isStop(open, stop)) return -1;
    }
    return -1;
  }

  #findHeading(): number {
    for (let at = this.#stack.length - 1; at >= 0; at--) {
      const open = this.#stack[at] as Open<State>;
      if ((open.kinds & HEADING) !== 0) return at;
      if (isStop(open, 'scope')) return -1;
    }
    return -1;
  }

  #lastOf(name: string): number {
    return this.#stack.findLastIndex(open => open.name === name);
  }

  #push(name: string, kinds: number, foreign: Foreign, within: Foreign): boolean {
    if (this.#stack.length === MAX_DEPTH) this.#stack.pop();
    const strayIn = (kinds & TABLE_PART) === 0 ? this.strayTable?.state : undefined;
    const element = { name, kinds, foreign, within };
    const inScope = scopeOf(element, this.#top);
    const state = this.#rules.stateOf(element, this.state, undefined, strayIn);
    this.#stack.push({ name, kinds, foreign, within, inScope, state });
    return true;
  }

  #pop(): void {
    this.#stack.pop();
  }

  /** @param at the first that is closed; -1: none */
  #popTo(at: number): void {
    if (at < 0 || at >= this.#stack.length) return;
    this.#stack.length = at;
  }

  /** Takes one out from below others. */
  #remove(at: number): void {
    let before = this.#stack[at]?.state;
    this.#stack.splice(at, 1);
    for (let i = at; i < this.#stack.length; i++) {
      const open = this.#stack[i] as Open<State>;
      const around = this.#stack[i - 1];
      const old = open.state;
      open.inScope = scopeOf(open, around);
      open.state =
        old === before
          ? (around?.state ?? this.#outside)
          : this.#rules.stateOf(open, around?.state ?? this.#outside, old, undefined);
      before = old;
    }
  }
}

function scopeOf({ name, kinds, foreign, within }: Beginning, around: Open<unknown> | undefined): number {
  if ((kinds & SCOPE) !== 0 || (foreign !== undefined && within === undefined)) return 0;
  const inScope = around?.inScope ?? 0;
  if (foreign !== undefined) return inScope;
  if (name === 'button') return inScope & ~P;
  return name === 'p' ? inScope | P : name === 'a' ? inScope | A : inScope;
}

function isStop({ name, kinds, foreign, within }: Open<unknown>, stop: Stop): boolean {
  // HTML stands in SVG and MathML as in a document of its own.
  if (foreign !== undefined) return stop !== 'table' && within === undefined;
  if (stop === 'table') return name === 'table' || name === 'template';
  if ((kinds & SCOPE) !== 0) return true;
  return (stop === 'button' && name === 'button') || (stop === 'list' && (name === 'ol' || name === 'ul'));
}
