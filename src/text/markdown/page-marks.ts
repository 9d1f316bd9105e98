/** What Markdown needs of a page besides its words, taken down in the pass that reads them (html.ts). */
import type { ReadTagAttributes } from '../attributes.js';
import { linkShare } from '../readable.js';
import { tidy, tidyLines } from '../tidy.js';
import type { Beginning } from '../tree.js';
import { ARTICLE, LINES, MAIN, MARKED, marksOf, type Own, type Within } from '../within.js';
import { BlockMarks, NUMBERED, type Image } from './marks.js';
import { placeIn } from './places.js';

/** Where a block begins after a tag that is no line break. */
const APART_BY_TAG = -Infinity;

export class PageMarks {
  /** Addresses as they are written, by the numbers in the marks. */
  readonly links: string[] = [''];
  readonly images: Image[] = [];
  /** What addresses are relative to, as the page says it. */
  base: string | undefined;
  #description: string | undefined;
  #openGraph: string | undefined;
  readonly #marks = new BlockMarks();
  #hasImage = false;
  /** Line breaks since the last block, where there is nothing else. */
  #breaks = 0;

  get description(): string | undefined {
    return this.#description ?? this.#openGraph;
  }

  /** Words are added to the block in the making. */
  add(length: number, { bits, link }: Within): void {
    this.#marks.add(length, ((bits / MARKED) | 0) + link * NUMBERED);
  }

  addBlank(): void {
    this.#marks.addBlank();
  }

  /** A tag ends a block. */
  endBlock(name: string): void {
    this.#breaks = name === 'br' ? this.#breaks + 1 : APART_BY_TAG;
  }

  /** A tag that holds no words. @returns whether it is a picture, which stands in the block */
  note(name: string, attributes: ReadTagAttributes): boolean {
    if (name === 'base') this.base ??= attributes.get('href');
    else if (name === 'meta') this.#noteMeta(attributes);
    return name === 'img' && /\S/.test(attributes.get('alt') ?? '') && attributes.has('src');
  }

  #noteMeta(attributes: ReadTagAttributes): void {
    const content = tidy(attributes.get('content') ?? '') || undefined;
    const what = (attributes.get('name') ?? attributes.get('property') ?? '').toLowerCase();
    if (what === 'description') this.#description ??= content;
    else if (what === 'og:description') this.#openGraph ??= content;
  }

  addImage(attributes: ReadTagAttributes, { link }: Within): void {
    const image = { alt: tidy(attributes.get('alt') ?? ''), src: attributes.get('src') ?? '', link };
    this.#marks.addImage(this.images.push(image) - 1);
    this.#hasImage = true;
  }

  /** What an element of HTML says by itself. */
  ownOf(
    element: Beginning,
    attributes: ReadTagAttributes,
    { place = {} }: Within,
  ): Pick<Own, 'sets' | 'ownPlace' | 'ownLink'> {
    const href = element.name === 'a' ? attributes.get('href') : undefined;
    return {
      sets: marksOf(element.name),
      ownPlace: placeIn(element, attributes, place),
      ownLink: href === undefined ? undefined : this.links.push(href) - 1,
    };
  }

  /** A block is whole: it goes where its words do. */
  put(
    whole: string,
    { bits, beside, out, unit, place = {} }: Within,
    line: number,
    linkLength: number,
  ): void {
    const { text: oneLine, marks } = this.#marks.take(whole);
    const text = (bits & LINES) === 0 ? oneLine : tidyLines(whole);
    if (text === '' && !this.#hasImage) return;

    if (place.table !== undefined && place.pre !== undefined && text.includes('\n'))
      place.table.isBlocks = true;
    out.push({
      text,
      line,
      lastLine: line,
      length: text.length,
      linkLength: Math.min(linkLength, text.length),
      links: linkShare(text.length, linkLength),
      count: 1,
      unit,
      main: (bits & MAIN) !== 0,
      article: (bits & ARTICLE) !== 0,
      beside,
      written: { marks: (bits & LINES) === 0 ? marks : undefined, place, breaks: this.#breaks },
    });
    this.#hasImage = false;
    this.#breaks = 0;
  }
}
