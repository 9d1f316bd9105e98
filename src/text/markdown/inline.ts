/** Words with their marks as Markdown (GFM): escapes, links, pictures, emphasis, code. */
import type { Addresses } from './addresses.js';
import { CODE, EMPHASIS, IMAGE, NUMBERED, STRONG, type Image, type MarkedText } from './marks.js';

const SPECIAL = /[\\`*_[\]<~]|&(?=[a-z#])/gi;
/** With addresses that readers of GFM take for links: what is escaped in them would be a part of them. */
const SPECIAL_BESIDE_URLS = /(?:\bhttps?:\/\/|\bwww\.)[^\s<>`[\]\\*]*|[\\`*_[\]<~]|&(?=[a-z#])/gi;

/** Words as they are, whatever they look like. */
export function escaped(text: string): string {
  if (!text.includes('://') && !/www\./i.test(text)) return text.replace(SPECIAL, '\\$&');
  return text.replace(SPECIAL_BESIDE_URLS, found => (found.length > 1 ? found : `\\${found}`));
}

/** Escapes the beginning of a line that would make something else of it. */
export function escapedStart(line: string): string {
  if (/^[#>+=:|-]/.test(line)) return `\\${line}`;
  return line.replace(/^(\d{1,9})([.)])/, '$1\\$2');
}

export function inline(text: MarkedText, addresses: Addresses): string {
  if (text.marks === undefined) return escaped(text.text);
  return new InlineWriter(segmentsOf(text, addresses)).take();
}

/** The same in a cell of a table. */
export function inCell(text: MarkedText, addresses: Addresses): string {
  return inline(text, addresses).replaceAll('|', '\\|');
}

const LINKED = 16;

/** Words for which the same holds, blanks at their ends apart; or a picture, as it is written. */
interface Segment {
  text: string;
  /** STRONG, EMPHASIS, CODE or IMAGE, and LINKED. */
  bits: number;
  /** One object for each link that is written. */
  link: { url: string } | undefined;
}

function segmentsOf({ text, marks = [] }: MarkedText, addresses: Addresses): Segment[] {
  const segments: Segment[] = [];
  let link: Segment['link'];
  let number = 0;
  for (let i = 0; i < marks.length; i += 2) {
    const what = marks[i + 1] ?? 0;
    const ofWhat = Math.floor(what / NUMBERED);
    const image = (what & IMAGE) === 0 ? undefined : addresses.images[ofWhat];
    const words = image === undefined ? text.slice(marks[i], marks[i + 2]) : pictureOf(image, addresses);
    if (words === '') continue;
    const around = image === undefined ? ofWhat : image.link;
    // A blank in front of the words of a link is not in it.
    const next = around === number || /\S/.test(words) ? around : 0;
    if (next !== number) {
      const url = addresses.ofLink(next);
      link = url === undefined ? undefined : { url };
      number = next;
    }
    const bits = (what & (STRONG | EMPHASIS | CODE | IMAGE)) | (link === undefined ? 0 : LINKED);
    const last = segments.at(-1);
    // Code is one, whatever else is in it: marks hold of all of it or of nothing.
    const isCode = ((last?.bits ?? 0) & bits & CODE) !== 0;
    if (last !== undefined && last.link === link && (isCode || last.bits === bits)) {
      last.text += words;
      last.bits &= bits;
    } else segments.push({ text: words, bits, link });
  }
  return segments.flatMap(blanksApart);
}

function pictureOf({ alt, src }: Image, addresses: Addresses): string {
  const url = addresses.of(src);
  return url === undefined ? '' : `![${escaped(alt)}](${url})`;
}

/** @returns its blanks, and its words as they are written */
function blanksApart(segment: Segment): Segment[] {
  const { text, bits } = segment;
  const words = text.trim();
  if (words === '') return [segment];
  const from = text.length - text.trimStart().length;
  const written = (bits & IMAGE) !== 0 ? words : (bits & CODE) !== 0 ? codeOf(words) : escaped(words);
  return [text.slice(0, from), written, text.slice(from + words.length)]
    .filter(part => part !== '')
    .map(part => ({ ...segment, text: part }));
}

function codeOf(words: string): string {
  const fence = '`'.repeat(longestRun(words) + 1);
  const pad = words.startsWith('`') || words.endsWith('`') ? ' ' : '';
  return fence + pad + words + pad + fence;
}

/** Longest run of backticks. */
export function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 0);
}

const PUNCTUATION = /^[\p{P}\p{S}]$/u;

/** Writes segments one after the other, and knows what stands before the next. */
class InlineWriter {
  readonly #segments: readonly Segment[];
  readonly #parts: string[] = [];
  /** The last character written. */
  #last = ' ';
  /** How many parts there were when a mark was closed: one that is opened right after it would be read as
   * more of it. */
  #closedAt = -1;

  constructor(segments: readonly Segment[]) {
    this.#segments = segments;
  }

  take(): string {
    this.#write(0, this.#segments.length, 0, ' ');
    return this.#parts.join('').trim();
  }

  #put(part: string): void {
    this.#parts.push(part);
    this.#last = part.at(-1) ?? ' ';
  }

  /** @param open what is around them @param after the character that stands after them */
  #write(from: number, to: number, open: number, after: string): void {
    for (let at = from, end = from; at < to; at = end) {
      const [first, mark] = [this.#at(at), this.#outermost(at, to, open)];
      end = mark === 0 ? at + 1 : this.#extent(at, to, mark);
      if (mark === 0) this.#put(first.text);
      else if (mark === LINKED) this.#putLink(at, end, first.link?.url);
      else this.#emphasize(at, end, mark, open, end < to ? this.#beginning(end, open) : after);
    }
  }

  #at(at: number): Segment {
    return this.#segments[at] as Segment;
  }

  /** The mark that begins at a segment, is not open, and goes on for longest; of links, of which HTML shows
   * one, too. */
  #outermost(at: number, to: number, open: number): number {
    const { bits, text } = this.#at(at);
    const isNot = text.trim() === '' ? 0 : bits & ~open;
    if ((isNot & LINKED) !== 0) return LINKED;
    const [mark = 0, other = 0] = [STRONG, EMPHASIS].filter(each => (isNot & each) !== 0);
    return other === 0 || this.#extent(at, to, mark) >= this.#extent(at, to, other) ? mark : other;
  }

  /** Where a mark ends that begins at a segment: at a word, never at a blank. */
  #extent(from: number, to: number, mark: number): number {
    const { link } = this.#at(from);
    let end = from;
    while (end < to && this.#at(end).link === link && (this.#at(end).bits & mark) !== 0) end++;
    while (this.#at(end - 1).text.trim() === '') end--;
    return end;
  }

  /** The character that a segment begins with. */
  #beginning(at: number, open: number): string {
    const { bits, text } = this.#at(at);
    return (bits & ~open & LINKED) !== 0 ? '[' : (text[0] ?? ' ');
  }

  #putLink(from: number, to: number, url: string | undefined): void {
    // With what would make a picture of it.
    if (this.#last === '!') this.#parts.push(`${this.#parts.pop()?.slice(0, -1)}\\!`);
    this.#put('[');
    this.#write(from, to, LINKED, ']');
    this.#put(`](${url})`);
  }

  /** Where marks would not be read as such, the words stand alone. */
  #emphasize(from: number, to: number, mark: number, open: number, after: string): void {
    const isRead =
      this.#closedAt !== this.#parts.length &&
      flanks(this.#at(from).text[0], this.#last) &&
      flanks(this.#at(to - 1).text.at(-1), after);
    if (!isRead) return this.#write(from, to, open | mark, after);
    const written = mark === STRONG ? '**' : '*';
    this.#put(written);
    this.#write(from, to, open | mark, '*');
    this.#put(written);
    this.#closedAt = this.#parts.length;
  }
}

/**
 * True if a mark is read as one between a character of its words and one outside of them (CommonMark, 6.2).
 */
function flanks(inner = '', outer: string): boolean {
  return !PUNCTUATION.test(inner) || /\s/.test(outer) || PUNCTUATION.test(outer);
}
