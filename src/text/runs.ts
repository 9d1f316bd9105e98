/** Blocks, one after the other, that are content or not together: a page may have millions of them. */
import { linkShare, type Block, type BlockMarks, type Blocks } from './readable.js';
import { ARTICLE, MAIN, type Within } from './within.js';

interface Run {
  out: Blocks;
  kind: number;
  block: Block;
  /** With what is between them. */
  texts: string[];
}

const MAX_RUN = 1000;

export class Runs {
  readonly #readable: boolean;
  #run: Run | undefined;

  constructor(readable: boolean) {
    this.#readable = readable;
  }

  /** @param marks for Markdown, which has each block by itself */
  put(text: string, within: Within, line: number, lengthOfLinks: number, marks?: BlockMarks): void {
    const { bits, beside, out, unit } = within;
    const kind = this.#readable ? bits & (MAIN | ARTICLE) : 0;
    const linkLength = Math.min(lengthOfLinks, text.length);
    const links = this.#readable ? linkShare(text.length, linkLength) : 'few';
    const run = this.#run;
    const block = run?.block;
    const isSame = run?.out === out && run.kind === kind && block?.links === links && block.unit === unit;
    if (!isSame || block.beside !== beside || marks !== undefined) {
      this.end();
      const first: Block = {
        text,
        line,
        lastLine: line,
        length: text.length,
        linkLength,
        links,
        count: 1,
        unit,
        main: (kind & MAIN) !== 0,
        article: (kind & ARTICLE) !== 0,
        beside,
        marks: marks?.marks,
        place: marks?.place,
        breaks: marks?.breaks,
      };
      this.#run = { out, kind, block: first, texts: [text] };
      return;
    }
    block.length += text.length;
    block.linkLength += linkLength;
    block.count++;
    const isApart = !this.#readable || block.lastLine === line;
    block.lastLine = line;
    if (run.texts.push(isApart ? ' ' : '\n', text) > MAX_RUN) this.end();
  }

  end(): void {
    if (this.#run === undefined) return;
    const { out, block, texts } = this.#run;
    this.#run = undefined;
    block.text = texts.join('');
    out.push(block);
  }
}
