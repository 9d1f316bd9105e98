/** The title and the text of an HTML or XML document, in one pass over its tags: which elements are open is
 * known (tree.ts), no tree is built (docs/design/text.md has the alternatives). */
import { Tokenizer } from 'htmlparser2';
import { MARKDOWN_ATTRIBUTES, nameIn, TagAttributes, UNHEARD } from './attributes.js';
import { hideCdata, hideNoframes, sectionAt } from './cdata.js';
import { APART, FORMATTING, INLINE, kindsOf, SVG_INLINE } from './elements.js';
import type { PageMarks } from './markdown/page-marks.js';
import { allBlocks, joined, readableBlocks, readableOf, type Block, type Blocks } from './readable.js';
import { Runs } from './runs.js';
import { hiddenScriptEnd } from './script-end.js';
import { TextParts } from './text-parts.js';
import { tidy, tidyLines } from './tidy.js';
import { Tree, type Beginning } from './tree.js';
import {
  DRAWING,
  FLEX,
  isBeside,
  isBoxByStyle,
  isOther,
  LINES,
  LINK,
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

/** `all`: every word, on one line, for an index. `readable`: the content without what surrounds it, a line
 * per paragraph, for readers. */
export type TextWanted = 'all' | 'readable';

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

/** A page whose blocks are to be written as Markdown. */
interface MarkedPage {
  title: string;
  language: string | undefined;
  blocks: readonly Block[];
}

/** The same pass for Markdown: the blocks that `pageText` selects, each with its marks. @param marks those of
 * the page */
export function markedPage(document: string, wanted: TextWanted, xml: boolean, marks: PageMarks): MarkedPage {
  const page = new HtmlPage(document, wanted === 'readable', xml, marks);
  const blocks = wanted === 'readable' ? readableBlocks(page.blocks, page.besides) : allBlocks(page.blocks);
  return { title: tidy(page.title), language: page.language, blocks };
}

const LINK_TAG = /<(\/?)a[\s/>]/gi;

class HtmlPage {
  readonly blocks: Blocks = [];
  /** Elements that stand beside the content, by number: the number of the one each is in. */
  readonly besides: number[] = [0];
  readonly #title = new TextParts();
  language: string | undefined;
  /** undefined: nobody writes Markdown. */
  readonly #marks: PageMarks | undefined;
  readonly #runs: Runs;
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
  #line = 0;
  #boxes = 0;
  /** True if the last tag separated words, and no lines. */
  #isApart = false;
  /** The tag being read. */
  #name = '';
  readonly #attributes: TagAttributes;
  /** True in a link that its author has not closed: it ends with the line. */
  #isLinkUnclosed = false;
  /** The first line break of a <pre> is none. */
  #isPreBegun = false;

  constructor(source: string, readable: boolean, xml: boolean, marks?: PageMarks) {
    this.#source = source;
    this.#marks = marks;
    this.#runs = new Runs(readable);
    this.#attributes = new TagAttributes(marks && MARKDOWN_ATTRIBUTES);
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
      place: marks && {},
      link: 0,
      strays: undefined,
      own: { sets: 0, clears: 0 },
    };
    this.#tree = new Tree(
      { stateOf: (element, around, old, strayIn) => this.#stateOf(element, around, old, strayIn) },
      outside,
      xml,
    );
    for (let from: number | undefined = 0; from !== undefined;) from = this.#readFrom(from);
    this.#endBlock();
    this.#runs.end();
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
        ...UNHEARD,
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
          if (this.#name === 'a' && !this.#xml) this.#isLinkUnclosed = isUnclosed(source, end);
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
    this.#marks?.add(text.length, state);
    if ((state.bits & LINK) !== 0) this.#linkLength += text.length;
  }

  /** Words between the parts of a table are shown before it. */
  #addStray(text: string, table: Within): void {
    if (!/\S/.test(text)) return;
    this.#endBlock();
    this.#began = { ...table, out: table.strays ?? table.out };
    this.#text.add(text);
    this.#marks?.add(text.length, table);
    this.#endBlock();
  }

  #addImage(marks: PageMarks): void {
    const { state } = this.#tree;
    if (this.#inTitle || (state.bits & (UNSEEN | DRAWING)) !== 0) return;
    // The block that it is in begins as with words; between the parts of a table there is none.
    this.#add('');
    if (this.#began !== undefined) marks.addImage(this.#attributes, state);
  }

  #open(selfClosing: boolean): void {
    const name = this.#name;
    const tree = this.#tree;
    const wasForeign = tree.isForeign;
    if (name === 'html') this.#isHtml = true;
    if (name === 'br' && (tree.state.bits & LINES) !== 0) this.#add('\n');
    else this.#part(name);
    this.#declare(name);
    if (this.#marks?.note(name, this.#attributes) === true) this.#addImage(this.#marks);
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
    const own = old?.own ?? this.#ownOf(element, around);
    const { sets, clears, beside, box, unit, place, link } = own;
    const isTable = element.name === 'table' && !this.#xml;
    const isSame = sets === 0 && clears === 0 && beside === undefined && box === undefined;
    const isNothing = isSame && unit === undefined && place === undefined && link === undefined;
    if (isNothing && strayIn === undefined && !isTable) return around;
    const out = old?.out ?? strayIn?.strays ?? around.out;
    let strays = old?.strays;
    if (isTable && old === undefined) {
      this.#runs.end();
      out.push((strays = []));
    }
    return {
      bits: (around.bits & ~clears) | sets,
      beside: beside ?? around.beside,
      box: box ?? around.box,
      out,
      unit: unit ?? around.unit,
      place: place ?? around.place,
      link: link ?? around.link,
      strays,
      own,
    };
  }

  /** Values that an element gives itself by its beginning. */
  #ownOf(element: Beginning, around: Within): Own {
    const attributes = this.#attributes;
    let { sets, clears } = saidBy(element, attributes, this.#isHtml, this.#xml);
    let beside: number | undefined;
    if (this.#readable && this.#isHtml && isBeside(element, attributes, around.bits | sets)) {
      beside = this.besides.length;
      this.besides.push(around.beside);
    }
    const isBox = (around.bits & FLEX) !== 0;
    if (isBox) clears |= FLEX;
    const box = isBox || isBoxByStyle(attributes) ? ++this.#boxes : undefined;
    const unit = this.#readable && this.#isHtml ? unitOf(element, around.unit) : undefined;
    const isMarked = this.#isHtml && element.foreign === undefined;
    const marked = isMarked ? this.#marks?.ownOf(element, attributes, around) : undefined;
    if (marked !== undefined) sets |= marked.sets;
    const { place, link } = marked ?? {};
    return { sets, clears, beside, box, unit, place, link };
  }

  /** A tag between words: they may be one, are two, or stand in two lines. */
  #part(name: string): void {
    const kinds = kindsOf(name);
    if (this.#tree.isForeign) {
      if (!SVG_INLINE.has(name)) this.#endWord();
    } else if (!this.#isHtml) {
      if ((kinds & FORMATTING) === 0 && !/^su[bp]$|^span$/.test(name)) this.#endBlock();
    } else if ((kinds & APART) !== 0 || kinds === 0) this.#endWord();
    else if ((kinds & INLINE) === 0) {
      this.#endBlock();
      this.#marks?.endBlock(name);
      if (this.#isLinkUnclosed) this.#tree.end('a');
      this.#isLinkUnclosed = false;
    }
  }

  #endWord(): void {
    this.#isApart = true;
    if (this.#began === undefined || (this.#began.bits & LINES) !== 0) return;
    this.#text.add(' ');
    this.#marks?.addBlank();
  }

  #endBlock(): void {
    this.#endPart();
    this.#line++;
  }

  /** Text that follows may stand in the same line. */
  #endPart(): void {
    const began = this.#began;
    if (began === undefined) return;
    const whole = this.#text.take();
    if (this.#marks !== undefined) {
      const marked = this.#marks.take(whole, began);
      if (marked !== undefined) this.#runs.put(marked.text, began, this.#line, this.#linkLength, marked);
    } else {
      const text = (began.bits & LINES) !== 0 && this.#readable ? tidyLines(whole) : tidy(whole);
      if (text !== '') this.#runs.put(text, began, this.#line, this.#linkLength);
    }
    this.#began = undefined;
    this.#linkLength = 0;
  }
}

/** True if the next link begins, or the document ends, before a link is closed. */
function isUnclosed(source: string, from: number): boolean {
  LINK_TAG.lastIndex = from;
  return LINK_TAG.exec(source)?.[1] !== '/';
}
