/**
 * The title and the text of an HTML or XML document, for indexing: markup taken away, words kept apart where a browser
 * would. Reads each character a bounded number of times, whatever the document looks like.
 */
import { resolveReferences } from './references.js';

export interface PageText {
  title: string;
  text: string;
}

/** Elements that do not separate words: `un<b>believ</b>able` is one. Every other tag does. */
const INLINE = new Set(
  'a abbr acronym b bdi bdo big cite code dfn em font i ins kbd mark q s samp small span strike strong sub sup tt u var wbr'.split(
    ' ',
  ),
);
/** Elements whose content is no text. */
const SKIPPED = new Set(['script', 'style', 'template']);

/** @param document decoded; may be cut off or malformed */
export function pageText(document: string): PageText {
  const scanner = new Scanner(document);
  let title = '';
  let text = '';
  while (!scanner.atEnd) {
    text += scanner.text();
    const tag = scanner.tag();
    if (tag === undefined) continue;
    if (!INLINE.has(tag.name)) text += ' ';
    if (tag.closing) continue;
    if (SKIPPED.has(tag.name)) scanner.rawText(tag.name);
    // SVG has titles too; the document's own comes first.
    else if (tag.name === 'title' && title === '') title = scanner.rawText('title');
  }
  return { title: tidy(resolveReferences(title)), text: tidy(resolveReferences(text)) };
}

/** White space as a reader sees it: one blank between words. */
export function tidy(text: string): string {
  return text.replaceAll('\0', '').replace(/\s+/g, ' ').trim();
}

class Scanner {
  readonly #source: string;
  #lower: string | undefined;
  #at = 0;
  /** Once a quote was never closed, looking for others would read the rest again for each tag. */
  #quotesBroken = false;

  constructor(source: string) {
    this.#source = source;
  }

  get atEnd(): boolean {
    return this.#at >= this.#source.length;
  }

  /** Everything up to the next markup, a `<` that begins none included. */
  text(): string {
    const start = this.#at;
    let at = start;
    for (;;) {
      at = this.#source.indexOf('<', at);
      if (at < 0) {
        this.#at = this.#source.length;
        break;
      }
      if (/[A-Za-z!?/]/.test(this.#source[at + 1] ?? '')) {
        this.#at = at;
        break;
      }
      at++;
    }
    return this.#source.slice(start, this.#at);
  }

  /** Passes the markup that begins here; undefined for what is no tag (comment, declaration, instruction, CDATA mark). */
  tag(): { name: string; closing: boolean } | undefined {
    const source = this.#source;
    if (this.atEnd) return undefined;
    if (source.startsWith('<!--', this.#at)) return this.#skipPast('-->', 4);
    // The text inside CDATA is text; its end mark is dropped with the brackets by whoever splits words.
    if (source.startsWith('<![CDATA[', this.#at)) {
      this.#at += 9;
      return undefined;
    }
    if (source[this.#at + 1] === '!' || source[this.#at + 1] === '?') return this.#skipPast('>', 2);
    const closing = source[this.#at + 1] === '/';
    const nameStart = this.#at + (closing ? 2 : 1);
    const nameEnd = nameStart + (/^[^\s/>]*/.exec(source.slice(nameStart, nameStart + 64))?.[0].length ?? 0);
    this.#at = this.#tagEnd(nameEnd);
    return { name: source.slice(nameStart, nameEnd).toLowerCase(), closing };
  }

  /** The content of an element without markup, up to its end tag, which is passed. */
  rawText(name: string): string {
    this.#lower ??= this.#source.toLowerCase();
    const start = this.#at;
    const end = this.#lower.indexOf(`</${name}`, start);
    this.#at = end < 0 ? this.#source.length : this.#tagEnd(end + 2 + name.length);
    return this.#source.slice(start, end < 0 ? undefined : end);
  }

  /** Where the tag ends whose attributes begin at `at`; a `>` inside a quoted value does not end it. */
  #tagEnd(from: number): number {
    const source = this.#source;
    let at = from;
    for (let end = source.indexOf('>', at); end >= 0;) {
      const quoted = this.#quotesBroken ? null : /=\s*(["'])/.exec(source.slice(at, end));
      if (quoted === null) return end + 1;
      const open = at + quoted.index + quoted[0].length;
      const close = source.indexOf(quoted[1] ?? '', open);
      if (close < 0) {
        this.#quotesBroken = true;
        return end + 1;
      }
      at = close + 1;
      if (at > end) end = source.indexOf('>', at);
    }
    return source.length;
  }

  #skipPast(mark: string, from: number): undefined {
    const end = this.#source.indexOf(mark, this.#at + from);
    this.#at = end < 0 ? this.#source.length : end + mark.length;
    return undefined;
  }
}
