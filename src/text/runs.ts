/** Blocks, one after the other, that are content or not together: a page may have millions of them. */
import { linkShare, type BlockMarks, type Blocks, type LinkShare, type TextGroup } from './readable.js';
import { ARTICLE, MAIN, type Within } from './within.js';

interface Run extends BlockMarks {
  out: Blocks;
  kind: number;
  links: LinkShare;
  unit: TextGroup | undefined;
  beside: number;
  line: number;
  lastLine: number;
  length: number;
  linkLength: number;
  count: number;
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
  put(
    text: string,
    { bits, beside, out, unit }: Within,
    line: number,
    lengthOfLinks: number,
    marks?: BlockMarks,
  ): void {
    const linkLength = Math.min(lengthOfLinks, text.length);
    const kind = this.#readable ? bits & (MAIN | ARTICLE) : 0;
    const links = this.#readable ? linkShare(text.length, linkLength) : 'few';
    const run = this.#run;
    const isSame = run?.out === out && run.kind === kind && run.links === links && run.unit === unit;
    if (!isSame || run.beside !== beside || marks !== undefined) {
      this.end();
      const lines = { line, lastLine: line, length: text.length, linkLength, count: 1, texts: [text] };
      this.#run = { ...marks, out, kind, links, unit, beside, ...lines };
      return;
    }
    run.length += text.length;
    run.linkLength += linkLength;
    run.count++;
    const isApart = !this.#readable || run.lastLine === line;
    run.lastLine = line;
    if (run.texts.push(isApart ? ' ' : '\n', text) > MAX_RUN) this.end();
  }

  end(): void {
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
