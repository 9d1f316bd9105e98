/** A page as Markdown (GFM), for models and people: the blocks that are selected for readers, so that its
 * words are those of the readable text. docs/design/models.md has what it is compared with. */
import { createHash } from 'node:crypto';
import { decodedOf, isMarkup, type TextSource } from '../content.js';
import { markedPage, pageText, type TextWanted } from '../html.js';
import { tidyLines } from '../tidy.js';
import { Addresses } from './addresses.js';
import { PageMarks, TooManyMarks } from './page-marks.js';
import { unitsOfMarkdown, unitsOfPlain, unitsOfWords } from './source.js';
import { plainOf, unitsOf, type MarkdownUnit } from './units.js';
import { written } from './write.js';

/** A page comes to so many times its own length at most, and this. */
const MOST_TIMES = 4;
const MOST_BESIDES = 1024 * 1024;
/** Hexadecimal digits of a SHA-256. */
const HASH_LENGTH = 32;

export interface MarkdownSource extends TextSource {
  /** Where it came from: what addresses in it are relative to. */
  url?: string | undefined;
}

interface MarkupUnits {
  title: string;
  language?: string | undefined;
  units: MarkdownUnit[];
}

export class MarkdownPage {
  readonly title: string;
  /** As the page declares it, e.g. `de-AT`. */
  readonly language: string | undefined;
  /** The encoding that it was found in. */
  readonly charset: string;
  /** The page's own description, 1000 characters at most. */
  readonly description: string | undefined;
  readonly units: readonly MarkdownUnit[];
  readonly #addresses: Addresses;
  readonly #most: number;

  constructor(document: string, charset: string, { mimetype, url }: MarkdownSource, wanted: TextWanted) {
    this.charset = charset;
    this.#most = MOST_TIMES * document.length + MOST_BESIDES;
    if (!isMarkup(mimetype)) {
      this.title = '';
      this.#addresses = new Addresses(undefined, 0);
      const lines = mimetype === 'text/markdown' ? tidyLines(document) : document.replace(/\r\n?/g, '\n');
      this.units = mimetype === 'text/markdown' ? unitsOfMarkdown(lines) : unitsOfPlain(lines);
      return;
    }
    const marks = new PageMarks(url, document.length);
    const { title, language, units } = unitsOfMarkup(document, wanted, mimetype !== 'text/html', marks);
    this.title = title;
    this.language = language;
    this.description = marks.description;
    this.#addresses = marks.addresses;
    this.units = units;
  }

  /** All of it. */
  get markdown(): string {
    return this.writtenOf(this.units, this.#most);
  }

  /** A hash of the words: where it is the same, there is nothing to embed. */
  get hash(): string {
    return hashOf(this.plain);
  }

  /** A part, in `most` characters; words alone where it would be more. */
  writtenOf(units: readonly MarkdownUnit[], most: number): string {
    const all = written(units, this.#addresses);
    return all.length <= most ? all : written(units, undefined);
  }

  /** The words alone, by which a change is seen. */
  get plain(): string {
    const hasTop = this.units.some(({ level }) => level === 1);
    return [...(hasTop ? [] : [this.title]), ...this.units.map(plainOf)]
      .filter(words => words !== '')
      .join('\n');
  }
}

/** Markdown of HTML or XML; of a page with more in it than memory is for, its words. */
function unitsOfMarkup(document: string, wanted: TextWanted, xml: boolean, marks: PageMarks): MarkupUnits {
  try {
    const { blocks, ...page } = markedPage(document, wanted, xml, marks);
    return { ...page, units: unitsOf(blocks, marks.addresses) };
  } catch (error) {
    if (!(error instanceof TooManyMarks)) throw error;
    const { text, ...page } = pageText(document, wanted, xml);
    return { ...page, units: unitsOfWords(text) };
  }
}

/** @returns undefined where there is no text, whatever the type says */
export function markdownOf(
  bytes: Uint8Array,
  source: MarkdownSource,
  wanted: TextWanted = 'readable',
): MarkdownPage | undefined {
  const decoded = decodedOf(bytes, source);
  return decoded && new MarkdownPage(decoded.text, decoded.charset, source, wanted);
}

/** By which who keeps what was made of a text knows it again. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);
}
