/**
 * The title and the text of an HTML or XML document, in one pass over its tags: which elements are open is known
 * (tree.ts), no tree is built (docs/design/text.md has the alternatives).
 */
import { Tokenizer } from 'htmlparser2';
import {
  BESIDE,
  BESIDE_ROLES,
  FORMATTING,
  HIDDEN,
  INLINE,
  kindsOf,
  MATH_HIDDEN,
  PRE,
  SVG_INLINE,
  SVG_SHOWN,
} from './elements.js';
import { joined, leadsElsewhere, readableOf, type Blocks } from './readable.js';
import { TextParts } from './text-parts.js';
import { tidy, tidyLines } from './tidy.js';
import { Tree, type Beginning } from './tree.js';

export interface PageText {
  title: string;
  text: string;
  /** As the document declares it (BCP 47, e.g. `de-AT`), where it does. */
  language?: string;
}

/**
 * `all`: every word, on one line, for an index. `readable`: the content without what surrounds it, a line per paragraph,
 * for readers.
 */
export type TextWanted = 'all' | 'readable';

/** Names and values are looked at this far. */
const LOOKED_AT = 256;
const ATTRIBUTES = new Set(
  'lang xml:lang role hidden aria-hidden style http-equiv content open popover'.split(' '),
);

/** What holds within an element. */
const UNSEEN = 1;
/** A drawing, whose elements show no words but for some. */
const DRAWING = 2;
/** Lines and blanks are content. */
const LINES = 4;
const LINK = 8;
const MAIN = 16;
const ARTICLE = 32;

interface Within {
  /** Of the above. */
  bits: number;
  /** The number of the innermost element that stands beside the content; 0: none. */
  beside: number;
  /** Where its blocks go. */
  out: Blocks;
  /** What the element itself says, whatever it is in. */
  sets: number;
  clears: number;
  ownBeside: number | undefined;
  /** Blocks that stand between the parts of a table. */
  strays: Blocks | undefined;
}

/** Blocks, one after the other, that are content or not together: a page may have millions of them. */
interface Run {
  out: Blocks;
  kind: number;
  isLinks: boolean;
  beside: number;
  linkLength: number;
  texts: string[];
}

const MAX_RUN = 1000;

/**
 * @param document decoded; may be cut off or malformed
 * @param xml whether it is XML rather than HTML: CDATA sections, empty elements
 */
export function pageText(document: string, wanted: TextWanted = 'all', xml = false): PageText {
  const page = new HtmlPage(document, wanted === 'readable', xml);
  const { language } = page;
  const text = wanted === 'readable' ? readableOf(page.blocks, page.besides) : joined(page.blocks, ' ');
  return { title: tidy(page.title), text, ...(language === undefined ? {} : { language }) };
}

class HtmlPage {
  readonly blocks: Blocks = [];
  /** Elements that stand beside the content, by number: the number of the one each is in. */
  readonly besides: number[] = [0];
  readonly #title = new TextParts();
  language: string | undefined;
  readonly #source: string;
  readonly #readable: boolean;
  readonly #xml: boolean;
  /** HTML, also as XML. */
  #isHtml: boolean;
  readonly #tree: Tree<Within>;
  #inTitle = false;
  /** The block in the making, and what held where it began. */
  readonly #text = new TextParts();
  #linkLength = 0;
  #began: Within | undefined;
  #run: Run | undefined;
  /** The tag being read. */
  #name = '';
  readonly #attributes = new Map<string, string>();
  #attribute = '';
  #value = '';
  /** The first line break of a <pre> is none. */
  #isPreBegun = false;

  constructor(source: string, readable: boolean, xml: boolean) {
    this.#source = source;
    this.#readable = readable;
    this.#xml = xml;
    this.#isHtml = !xml;
    const outside: Within = {
      bits: 0,
      beside: 0,
      out: this.blocks,
      sets: 0,
      clears: 0,
      ownBeside: undefined,
      strays: undefined,
    };
    this.#tree = new Tree(
      { stateOf: (element, around, old, strayIn) => this.#stateOf(element, around, old, strayIn) },
      outside,
      xml,
    );
    this.#read();
    this.#endBlock();
    this.#endRun();
  }

  get title(): string {
    return this.#title.take();
  }

  #read(): void {
    const source = this.#source;
    const tokenizer = new Tokenizer(
      { decodeEntities: true, recognizeSelfClosing: this.#xml },
      {
        isInForeignContext: () => this.#xml || this.#tree.isForeign,
        ontext: (start, end) => this.#add(source.slice(start, end)),
        ontextentity: code => this.#add(String.fromCodePoint(code)),
        // In HTML it is a comment.
        oncdata: (start, end, offset) => {
          if (this.#xml || this.#tree.isForeign) this.#add(source.slice(start, end - offset));
        },
        onopentagname: (start, end) => {
          this.#name = this.#nameAt(start, end);
          if (this.#attributes.size > 0) this.#attributes.clear();
        },
        onattribname: (start, end) => {
          this.#attribute = this.#nameAt(start, end);
          this.#value = '';
        },
        onattribdata: (start, end) => {
          if (this.#value.length < LOOKED_AT)
            this.#value += source.slice(start, Math.min(end, start + LOOKED_AT));
        },
        onattribentity: code => {
          if (this.#value.length < LOOKED_AT) this.#value += String.fromCodePoint(code);
        },
        onattribend: () => {
          const name = this.#attribute;
          if (ATTRIBUTES.has(name) && !this.#attributes.has(name)) this.#attributes.set(name, this.#value);
        },
        onopentagend: () => this.#open(false),
        onselfclosingtag: () => this.#open(true),
        onclosetag: (start, end) => this.#close(this.#nameAt(start, end)),
        oncomment: nothing,
        ondeclaration: nothing,
        onprocessinginstruction: nothing,
        onend: nothing,
      },
    );
    tokenizer.write(source);
    tokenizer.end();
  }

  #nameAt(start: number, end: number): string {
    return this.#source.slice(start, Math.min(end, start + LOOKED_AT)).toLowerCase();
  }

  #add(text: string): void {
    if (this.#inTitle) {
      this.#title.add(text);
      return;
    }
    const { state } = this.#tree;
    if ((state.bits & (UNSEEN | DRAWING)) !== 0) return;
    const table = this.#tree.strayTable;
    if (table !== undefined) {
      this.#addStray(text, table.state);
      return;
    }
    if (this.#isPreBegun) {
      this.#isPreBegun = false;
      if (text.startsWith('\n')) text = text.slice(1);
    }
    this.#began ??= state;
    this.#text.add(text);
    if ((state.bits & LINK) !== 0) this.#linkLength += text.length;
  }

  /** Words between the parts of a table are shown before it. */
  #addStray(text: string, table: Within): void {
    if (!/\S/.test(text)) return;
    this.#endBlock();
    this.#began = { ...table, out: table.strays ?? table.out };
    this.#text.add(text);
    this.#endBlock();
  }

  #open(selfClosing: boolean): void {
    const name = this.#name;
    const tree = this.#tree;
    const wasForeign = tree.isForeign;
    if (name === 'html') this.#isHtml = true;
    if (name === 'br' && (tree.state.bits & LINES) !== 0) this.#add('\n');
    else if (!this.#isInline(name)) this.#endBlock();
    this.#declare(name);
    // SVG has titles too; the document's own comes first.
    const isTitle = name === 'title' && this.#title.isEmpty && !wasForeign && !selfClosing;
    const isOpen = tree.start(name, selfClosing);
    if (isTitle) this.#inTitle = true;
    this.#isPreBegun = isOpen && !this.#xml && (name === 'pre' || name === 'listing');
  }

  #close(name: string): void {
    if (name === 'title') this.#inTitle = false;
    if (!this.#isInline(name)) this.#endBlock();
    this.#tree.end(name);
  }

  #declare(name: string): void {
    if (this.language !== undefined || this.#attributes.size === 0) return;
    const value = (attribute: string) => this.#attributes.get(attribute)?.trim() || undefined;
    if (name === 'html' || name === 'body') this.language = value('lang') ?? value('xml:lang');
    else if (name === 'meta' && value('http-equiv')?.toLowerCase() === 'content-language')
      this.language = value('content');
  }

  #stateOf(element: Beginning, around: Within, old: Within | undefined, strayIn: Within | undefined): Within {
    const { sets, clears, ownBeside } = old ?? this.#ownOf(element, around);
    const isTable = element.name === 'table' && !this.#xml;
    if (sets === 0 && clears === 0 && ownBeside === undefined && strayIn === undefined && !isTable)
      return around;
    const out = old?.out ?? strayIn?.strays ?? around.out;
    let strays = old?.strays;
    if (isTable && old === undefined) {
      this.#endRun();
      out.push((strays = []));
    }
    return {
      bits: (around.bits & ~clears) | sets,
      beside: ownBeside ?? around.beside,
      out,
      sets,
      clears,
      ownBeside,
      strays,
    };
  }

  /** What an element that begins says by itself. */
  #ownOf({ name, kinds, foreign }: Beginning, around: Within): Pick<Within, 'sets' | 'clears' | 'ownBeside'> {
    let sets = 0;
    let clears = 0;
    let ownBeside: number | undefined;
    if (foreign === 'svg') {
      if (name === 'svg') sets |= DRAWING;
      else if (SVG_SHOWN.has(name)) clears |= DRAWING;
    } else if (foreign === 'math') {
      if (MATH_HIDDEN.has(name)) sets |= UNSEEN;
    } else if (this.#isHtml) {
      if ((kinds & HIDDEN) !== 0 || (name === 'dialog' && !this.#attributes.has('open'))) sets |= UNSEEN;
      if ((kinds & PRE) !== 0) sets |= LINES;
      if (name === 'a') sets |= LINK;
      else if (name === 'article') sets |= ARTICLE;
      else if (name === 'main') sets |= MAIN;
    }
    if (this.#attributes.size > 0) sets |= this.#bitsOfAttributes();
    if (this.#readable && this.#isHtml && this.#isBeside(name, kinds, around.bits | sets)) {
      ownBeside = this.besides.length;
      this.besides.push(around.beside);
    }
    return { sets, clears, ownBeside };
  }

  #bitsOfAttributes(): number {
    const attributes = this.#attributes;
    let bits = 0;
    // Browsers let people search for `until-found`.
    if ((attributes.get('hidden') ?? 'until-found') !== 'until-found' || attributes.has('popover'))
      bits |= UNSEEN;
    if (attributes.get('role') === 'main') bits |= MAIN;
    const style = attributes.get('style');
    if (style === undefined) return bits;
    if (/(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b/i.test(style))
      bits |= UNSEEN;
    if (/(?:^|;)\s*white-space\s*:\s*(?:pre|break-spaces)/i.test(style)) bits |= LINES;
    return bits;
  }

  #isBeside(name: string, kinds: number, bits: number): boolean {
    const attributes = this.#attributes;
    return (
      (kinds & BESIDE) !== 0 ||
      // The heading of the content itself stands in one, too.
      (name === 'header' && (bits & (MAIN | ARTICLE)) === 0) ||
      (attributes.size > 0 &&
        (BESIDE_ROLES.has(attributes.get('role') ?? '') || attributes.get('aria-hidden') === 'true'))
    );
  }

  /** Whether words on both sides of the tag may be one. */
  #isInline(name: string): boolean {
    if (this.#tree.isForeign) return SVG_INLINE.has(name);
    const kinds = kindsOf(name);
    return this.#isHtml ? (kinds & INLINE) !== 0 : (kinds & FORMATTING) !== 0 || /^su[bp]$|^span$/.test(name);
  }

  #endBlock(): void {
    const began = this.#began;
    if (began === undefined) return;
    const lines = (began.bits & LINES) !== 0;
    const whole = this.#text.take();
    const text = lines && this.#readable ? tidyLines(whole) : tidy(whole);
    if (text !== '') this.#put(text, began);
    this.#began = undefined;
    this.#linkLength = 0;
  }

  #put(text: string, { bits, beside, out }: Within): void {
    const kind = this.#readable ? bits & (MAIN | ARTICLE) : 0;
    const isLinks = this.#readable && leadsElsewhere(text, this.#linkLength);
    const run = this.#run;
    if (run?.out !== out || run.kind !== kind || run.isLinks !== isLinks || run.beside !== beside) {
      this.#endRun();
      this.#run = { out, kind, isLinks, beside, linkLength: this.#linkLength, texts: [text] };
      return;
    }
    run.linkLength += this.#linkLength;
    if (run.texts.push(text) === MAX_RUN) this.#endRun();
  }

  #endRun(): void {
    if (this.#run === undefined) return;
    const { out, kind, isLinks, beside, linkLength, texts } = this.#run;
    this.#run = undefined;
    out.push({
      text: texts.join(this.#readable ? '\n' : ' '),
      linkLength,
      isLinks,
      main: (kind & MAIN) !== 0,
      article: (kind & ARTICLE) !== 0,
      beside,
    });
  }
}

function nothing(): void {}
