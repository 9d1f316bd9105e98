/**
 * The title and the text of an HTML or XML document, in one pass over its tags: which elements are open is known
 * (tree.ts), no tree is built (docs/design/text.md has the alternatives).
 */
import { Tokenizer } from 'htmlparser2';
import { TagAttributes, nameIn } from './attributes.js';
import { hideCdata, hideNoframes, sectionAt } from './cdata.js';
import { APART, FORMATTING, INLINE, kindsOf, SVG_INLINE } from './elements.js';
import { joined, leadsElsewhere, readableOf, type Blocks, type TextGroup } from './readable.js';
import { hiddenScriptEnd } from './script-end.js';
import { TextParts } from './text-parts.js';
import { tidy, tidyLines } from './tidy.js';
import { Tree, type Beginning } from './tree.js';
import {
  ARTICLE,
  DRAWING,
  FLEX,
  isBeside,
  isBoxByStyle,
  isOther,
  LINES,
  LINK,
  MAIN,
  saidBy,
  UNSEEN,
  unitOf,
  type Own,
  type Within,
} from './within.js';

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

/** Blocks, one after the other, that are content or not together: a page may have millions of them. */
interface Run {
  out: Blocks;
  kind: number;
  isLinks: boolean;
  unit: TextGroup | undefined;
  beside: number;
  line: number;
  lastLine: number;
  linkLength: number;
  count: number;
  /** With what is between them. */
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
  readonly #forTokenizer: string;
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
  #line = 0;
  #boxes = 0;
  /** Whether the last tag separated words, and no lines. */
  #isApart = false;
  /** The tag being read. */
  #name = '';
  readonly #attributes = new TagAttributes();
  /** The first line break of a <pre> is none. */
  #isPreBegun = false;

  constructor(source: string, readable: boolean, xml: boolean) {
    this.#source = source;
    this.#forTokenizer = xml ? source : hideNoframes(hideCdata(source));
    this.#readable = readable;
    this.#xml = xml;
    this.#isHtml = !xml;
    const outside: Within = {
      bits: 0,
      beside: 0,
      box: 0,
      out: this.blocks,
      unit: undefined,
      sets: 0,
      clears: 0,
      ownBeside: undefined,
      ownBox: undefined,
      ownUnit: undefined,
      strays: undefined,
    };
    this.#tree = new Tree(
      { stateOf: (element, around, old, strayIn) => this.#stateOf(element, around, old, strayIn) },
      outside,
      xml,
    );
    for (let from: number | undefined = 0; from !== undefined;) from = this.#readFrom(from);
    this.#endBlock();
    this.#endRun();
  }

  get title(): string {
    return this.#title.take();
  }

  /** @returns where to go on, after a script or a CDATA section whose end the tokenizer does not see */
  #readFrom(from: number): number | undefined {
    const source = this.#source.slice(from);
    const attributes = this.#attributes;
    let goOn: number | undefined;
    const tokenizer = new Tokenizer(
      { decodeEntities: true, recognizeSelfClosing: this.#xml },
      {
        isInForeignContext: () => this.#xml || this.#tree.isForeign,
        ontext: (start, end) => this.#add(source.slice(start, end)),
        ontextentity: code => this.#add(String.fromCodePoint(code)),
        oncdata: (start, end, offset) => this.#add(source.slice(start, end - offset)),
        onopentagname: (start, end) => {
          this.#name = nameIn(source, start, end);
          attributes.clear();
        },
        onattribname: (start, end) => attributes.begin(nameIn(source, start, end)),
        onattribdata: (start, end) => attributes.add(source, start, end),
        onattribentity: code => attributes.add(String.fromCodePoint(code), 0, 2),
        onattribend: () => attributes.end(),
        onopentagend: end => {
          this.#open(false);
          if (this.#name !== 'script' || this.#xml || this.#tree.isForeign) return;
          goOn = hiddenScriptEnd(source, end + 1);
          if (goOn !== undefined) tokenizer.pause();
        },
        onselfclosingtag: () => this.#open(true),
        onclosetag: (start, end) => this.#close(nameIn(source, start, end)),
        oncomment: start => {
          const section = !this.#xml && this.#tree.isForeign ? sectionAt(source, start) : undefined;
          if (section === undefined) return;
          this.#add(section.text);
          goOn = section.end;
          tokenizer.pause();
        },
        ondeclaration: nothing,
        onprocessinginstruction: nothing,
        onend: nothing,
      },
    );
    tokenizer.write(this.#forTokenizer.slice(from));
    tokenizer.end();
    return goOn === undefined ? undefined : from + goOn;
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
    const began = this.#began;
    if (began !== undefined && began !== state) {
      if (began.box !== state.box) this.#endBlock();
      else if (this.#isApart && isOther(began, state)) this.#endPart();
    }
    this.#isApart = false;
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
    else this.#part(name);
    this.#declare(name);
    // SVG has titles too; the document's own comes first.
    const isTitle = name === 'title' && this.#title.isEmpty && !wasForeign && !selfClosing;
    const isOpen = tree.start(name, selfClosing);
    if (isTitle) this.#inTitle = true;
    this.#isPreBegun = isOpen && !this.#xml && (name === 'pre' || name === 'listing');
  }

  #close(name: string): void {
    if (name === 'title') this.#inTitle = false;
    this.#part(name);
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
    const { sets, clears, ownBeside, ownBox, ownUnit } = old ?? this.#ownOf(element, around);
    const isTable = element.name === 'table' && !this.#xml;
    const isSame = sets === 0 && clears === 0 && ownBeside === undefined && ownBox === undefined;
    if (isSame && ownUnit === undefined && strayIn === undefined && !isTable) return around;
    const out = old?.out ?? strayIn?.strays ?? around.out;
    let strays = old?.strays;
    if (isTable && old === undefined) {
      this.#endRun();
      out.push((strays = []));
    }
    return {
      bits: (around.bits & ~clears) | sets,
      beside: ownBeside ?? around.beside,
      box: ownBox ?? around.box,
      out,
      unit: ownUnit ?? around.unit,
      sets,
      clears,
      ownBeside,
      ownBox,
      ownUnit,
      strays,
    };
  }

  /** What an element that begins says by itself. */
  #ownOf(element: Beginning, around: Within): Own {
    const attributes = this.#attributes;
    let { sets, clears } = saidBy(element, attributes, this.#isHtml, this.#xml);
    let ownBeside: number | undefined;
    if (this.#readable && this.#isHtml && isBeside(element, attributes, around.bits | sets)) {
      ownBeside = this.besides.length;
      this.besides.push(around.beside);
    }
    const isBox = (around.bits & FLEX) !== 0;
    if (isBox) clears |= FLEX;
    const ownBox = isBox || isBoxByStyle(attributes) ? ++this.#boxes : undefined;
    const ownUnit = this.#readable && this.#isHtml ? unitOf(element, around.unit) : undefined;
    return { sets, clears, ownBeside, ownBox, ownUnit };
  }

  /** A tag between words: they may be one, are two, or stand in two lines. */
  #part(name: string): void {
    const kinds = kindsOf(name);
    if (this.#tree.isForeign) {
      if (!SVG_INLINE.has(name)) this.#endWord();
    } else if (!this.#isHtml) {
      if ((kinds & FORMATTING) === 0 && !/^su[bp]$|^span$/.test(name)) this.#endBlock();
    } else if ((kinds & APART) !== 0 || kinds === 0) this.#endWord();
    else if ((kinds & INLINE) === 0) this.#endBlock();
  }

  #endWord(): void {
    this.#isApart = true;
    if (this.#began !== undefined && (this.#began.bits & LINES) === 0) this.#text.add(' ');
  }

  #endBlock(): void {
    this.#endPart();
    this.#line++;
  }

  /** What follows may stand in the same line. */
  #endPart(): void {
    const began = this.#began;
    if (began === undefined) return;
    const lines = (began.bits & LINES) !== 0;
    const whole = this.#text.take();
    const text = lines && this.#readable ? tidyLines(whole) : tidy(whole);
    if (text !== '') this.#put(text, began);
    this.#began = undefined;
    this.#linkLength = 0;
  }

  #put(text: string, { bits, beside, out, unit }: Within): void {
    const kind = this.#readable ? bits & (MAIN | ARTICLE) : 0;
    const isLinks = this.#readable && leadsElsewhere(text, this.#linkLength);
    const run = this.#run;
    const isSame = run?.out === out && run.kind === kind && run.isLinks === isLinks && run.unit === unit;
    if (!isSame || run.beside !== beside) {
      this.#endRun();
      const [line, linkLength] = [this.#line, this.#linkLength];
      const lines = { line, lastLine: line, linkLength, count: 1, texts: [text] };
      this.#run = { out, kind, isLinks, unit, beside, ...lines };
      return;
    }
    run.linkLength += this.#linkLength;
    run.count++;
    const isApart = !this.#readable || run.lastLine === this.#line;
    run.lastLine = this.#line;
    if (run.texts.push(isApart ? ' ' : '\n', text) > MAX_RUN) this.#endRun();
  }

  #endRun(): void {
    if (this.#run === undefined) return;
    const { out, kind, texts, ...block } = this.#run;
    this.#run = undefined;
    out.push({
      ...block,
      text: texts.join(''),
      main: (kind & MAIN) !== 0,
      article: (kind & ARTICLE) !== 0,
    });
  }
}

function nothing(): void {}
