/**
 * The title and the text of an HTML or XML document, in one pass over its tags: no tree is built, so that time is in
 * proportion to the document and depth costs nothing, whatever it looks like (docs/design/text.md has the alternatives).
 */
import { Tokenizer } from 'htmlparser2';
import { BESIDE, BESIDE_ROLES, ENDED_BY_NEXT, INLINE, SILENT, VOID } from './elements.js';
import { readableOf, type Block } from './readable.js';

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
const ATTRIBUTES = new Set('lang xml:lang role hidden aria-hidden style http-equiv content'.split(' '));

/** An element that is open, and how many of its name are. */
interface Within {
  name: string;
  depth: number;
}

/**
 * @param document decoded; may be cut off or malformed
 * @param xml whether it is XML rather than HTML: CDATA sections, empty elements
 */
export function pageText(document: string, wanted: TextWanted = 'all', xml = false): PageText {
  const page = new Page(document, wanted === 'readable', xml);
  const { title, language } = page;
  const blocks = wanted === 'readable' ? readableOf(page.blocks) : page.blocks;
  const text = blocks.map(block => block.text).join(wanted === 'readable' ? '\n' : ' ');
  return { title: tidy(title), text, ...(language === undefined ? {} : { language }) };
}

/** White space as a reader sees it: one blank between words. */
export function tidy(text: string): string {
  return text.replaceAll('\0', '').replace(/\s+/g, ' ').trim();
}

class Page {
  readonly blocks: Block[] = [];
  title = '';
  language: string | undefined;
  readonly #source: string;
  /** Leave out what surrounds the content. */
  readonly #readable: boolean;
  #inTitle = false;
  #text = '';
  #linkLength = 0;
  #inLink = false;
  #main: Within | undefined;
  #articles = 0;
  /** The tag being read. */
  #name = '';
  #attributes = new Map<string, string>();
  #attribute = '';
  #value = '';
  /** Inside an element that is left out. */
  #without: Within | undefined;

  constructor(source: string, readable: boolean, xml: boolean) {
    this.#source = source;
    this.#readable = readable;
    const tokenizer = new Tokenizer(
      { decodeEntities: true, recognizeSelfClosing: xml },
      {
        isInForeignContext: () => xml,
        ontext: (start, end) => this.#add(source.slice(start, end)),
        ontextentity: code => this.#add(String.fromCodePoint(code)),
        oncdata: (start, end, offset) => this.#add(source.slice(start, end - offset)),
        onopentagname: (start, end) => {
          this.#name = this.#nameAt(start, end);
          this.#attributes.clear();
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
        onopentagend: () => this.#open(),
        onselfclosingtag: () => {
          this.#open();
          if (xml) this.#close(this.#name);
        },
        onclosetag: (start, end) => this.#close(this.#nameAt(start, end)),
        oncomment: nothing,
        ondeclaration: nothing,
        onprocessinginstruction: nothing,
        onend: nothing,
      },
    );
    tokenizer.write(source);
    tokenizer.end();
    this.#endBlock();
  }

  #nameAt(start: number, end: number): string {
    return this.#source.slice(start, Math.min(end, start + LOOKED_AT)).toLowerCase();
  }

  #add(text: string): void {
    if (this.#inTitle) this.title += text;
    else if (this.#without === undefined) {
      this.#text += text;
      if (this.#inLink) this.#linkLength += text.length;
    }
  }

  #open(): void {
    const name = this.#name;
    if (this.#without !== undefined) {
      if (this.#without.name !== name) return;
      if (!ENDED_BY_NEXT.has(name)) this.#without.depth++;
      else this.#without = undefined;
      if (this.#without !== undefined) return;
    }
    if (!INLINE.has(name)) this.#endBlock();
    this.#declare(name);
    if (VOID.has(name)) return;
    // SVG has titles too; the document's own comes first.
    if (name === 'title' && this.title === '') this.#inTitle = true;
    else if (SILENT.has(name) || (this.#readable && this.#isBeside(name))) this.#without = { name, depth: 1 };
    else if (name === 'a') this.#inLink = true;
    else if (name === 'article') this.#articles++;
    if (this.#main?.name === name) this.#main.depth++;
    else if (name === 'main' || this.#attributes.get('role') === 'main') this.#main ??= { name, depth: 1 };
  }

  #close(name: string): void {
    if (name === 'title') this.#inTitle = false;
    if (this.#without !== undefined) {
      if (this.#without.name === name && --this.#without.depth === 0) this.#without = undefined;
      return;
    }
    if (!INLINE.has(name)) this.#endBlock();
    if (name === 'a') this.#inLink = false;
    else if (name === 'article') this.#articles = Math.max(0, this.#articles - 1);
    if (this.#main?.name === name && --this.#main.depth === 0) this.#main = undefined;
  }

  #declare(name: string): void {
    if (this.language !== undefined) return;
    const value = (attribute: string) => this.#attributes.get(attribute)?.trim() || undefined;
    if (name === 'html' || name === 'body') this.language = value('lang') ?? value('xml:lang');
    else if (name === 'meta' && value('http-equiv')?.toLowerCase() === 'content-language')
      this.language = value('content');
  }

  #isBeside(name: string): boolean {
    const attributes = this.#attributes;
    return (
      BESIDE.has(name) ||
      // The heading of the content itself stands in one, too.
      (name === 'header' && this.#main === undefined && this.#articles === 0) ||
      BESIDE_ROLES.has(attributes.get('role') ?? '') ||
      attributes.has('hidden') ||
      attributes.get('aria-hidden') === 'true' ||
      /display:\s*none/i.test(attributes.get('style') ?? '')
    );
  }

  #endBlock(): void {
    const text = tidy(this.#text);
    if (text !== '') {
      const main = this.#main !== undefined;
      this.blocks.push({ text, linkLength: this.#linkLength, main, article: this.#articles > 0 });
    }
    this.#text = '';
    this.#linkLength = 0;
  }
}

function nothing(): void {}
