/** Marks of a page for Markdown, taken down in the pass that reads its words (html.ts). */
import type { ReadTagAttributes } from '../attributes.js';
import type { BlockMarks } from '../readable.js';
import { narrowed, tidy, tidyLines } from '../tidy.js';
import type { Beginning } from '../tree.js';
import { LINES, MARKED, marksOf, type Own, type Within } from '../within.js';
import { Addresses } from './addresses.js';
import { IMAGE, NUMBERED, type MarkedText } from './marks.js';
import { placeIn } from './places.js';

/** Where a block begins after a tag that is no line break. */
const APART_BY_TAG = -Infinity;
/** Most blocks and marks of a page: 2 KB a block until it is written, a quarter of that a mark: 300 MB. */
const MOST_BLOCKS = 150_000;
const MARKS_OF_BLOCK = 4;

/** There is more to mark than memory is for. */
export class TooManyMarks extends Error {}

export class PageMarks {
  readonly addresses: Addresses;
  #description: string | undefined;
  #openGraph: string | undefined;
  /** Marks of the block in the making, and the characters that it has. */
  #marks: number[] = [];
  #length = 0;
  #last = -1;
  #hasImage = false;
  /** Line breaks since the last block, where there is nothing else. */
  #breaks = 0;
  /** Marks that there may be. */
  #left = MOST_BLOCKS * MARKS_OF_BLOCK;

  /** @param url of the page @param length of it, in characters */
  constructor(url: string | undefined, length: number) {
    this.addresses = new Addresses(url, length);
  }

  get description(): string | undefined {
    return this.#description ?? this.#openGraph;
  }

  /** Words are added to the block in the making. @throws TooManyMarks */
  add(length: number, { bits, link }: Within): void {
    const what = ((bits / MARKED) | 0) + link * NUMBERED;
    if (what !== this.#last) this.#mark(what);
    this.#last = what;
    this.#length += length;
  }

  #mark(what: number): void {
    this.#marks.push(this.#length, what);
    this.#count(1);
  }

  #count(marks: number): void {
    this.#left -= marks;
    if (this.#left < 0) throw new TooManyMarks();
  }

  /** A blank that parts words, and is part of neither. */
  addBlank(): void {
    this.#length++;
  }

  addImage(attributes: ReadTagAttributes, { link }: Within): void {
    const image = { alt: tidy(attributes.get('alt') ?? ''), src: attributes.get('src') ?? '', link };
    this.#mark(IMAGE + (this.addresses.images.push(image) - 1) * NUMBERED);
    this.#last = -1;
    this.#hasImage = true;
  }

  /** A tag ends a block. */
  endBlock(name: string): void {
    this.#breaks = name === 'br' ? this.#breaks + 1 : APART_BY_TAG;
  }

  /** A tag that holds no words. @returns whether it is a picture, which stands in the block */
  note(name: string, attributes: ReadTagAttributes): boolean {
    if (name === 'base') this.addresses.setBase(attributes.get('href'));
    else if (name === 'meta') this.#noteMeta(attributes);
    return name === 'img' && /\S/.test(attributes.get('alt') ?? '') && attributes.has('src');
  }

  #noteMeta(attributes: ReadTagAttributes): void {
    const content = tidy(attributes.get('content') ?? '') || undefined;
    const what = (attributes.get('name') ?? attributes.get('property') ?? '').toLowerCase();
    if (what === 'description') this.#description ??= content;
    else if (what === 'og:description') this.#openGraph ??= content;
  }

  /** Marks that an element of HTML has by itself. */
  ownOf(
    element: Beginning,
    attributes: ReadTagAttributes,
    { place = {} }: Within,
  ): Pick<Own, 'sets' | 'place' | 'link'> {
    const href = element.name === 'a' ? attributes.get('href') : undefined;
    return {
      sets: marksOf(element.name),
      place: placeIn(element, attributes, place),
      link: href === undefined ? undefined : this.addresses.links.push(href) - 1,
    };
  }

  /** A block is whole. @param whole all that was added; nothing of it is left here @returns undefined where
   * it shows nothing */
  take(whole: string, { bits, place = {} }: Within): (MarkedText & BlockMarks) | undefined {
    const oneLine = this.#taken(whole);
    const { text, marks } = (bits & LINES) === 0 ? oneLine : { text: tidyLines(whole), marks: undefined };
    if (text === '' && !this.#hasImage) return undefined;
    this.#count(MARKS_OF_BLOCK);
    if (place.table !== undefined && place.pre !== undefined && text.includes('\n'))
      place.table.isBlocks = true;
    const breaks = this.#breaks;
    this.#hasImage = false;
    this.#breaks = 0;
    return { text, marks, place, breaks };
  }

  /** One blank between words, with the marks where the words are then. */
  #taken(whole: string): MarkedText {
    const marks = this.#marks;
    this.#marks = [];
    this.#length = 0;
    this.#last = -1;
    if (marks.length === 0 || (marks.length === 2 && marks[1] === 0)) return { text: tidy(whole) };
    const parts: string[] = [];
    const tidied: number[] = [];
    let length = 0;
    let isBlank = true;
    for (let i = 0; i < marks.length; i += 2) {
      let part = narrowed(whole.slice(marks[i], marks[i + 2]));
      if (isBlank && part.startsWith(' ')) part = part.slice(1);
      tidied.push(length, marks[i + 1] ?? 0);
      if (part === '') continue;
      isBlank = part.endsWith(' ');
      length += part.length;
      parts.push(part);
    }
    return { text: parts.join('').trimEnd(), marks: tidied };
  }
}
