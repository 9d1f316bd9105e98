/** Words with their marks as Markdown (GFM): escapes, links, pictures, emphasis, code. */
import { CODE, EMPHASIS, IMAGE, NUMBERED, STRONG, type Image, type MarkedText } from './marks.js';

/** A longer address is no link. */
const MAX_URL = 2048;
/** Addresses of a page come to so many times its length at most; then the words of links stand alone. */
const MOST_URLS = 2;

/** The addresses of a page, absolute, as far as they are written. */
export class Addresses {
  readonly #links: readonly string[];
  readonly #images: readonly Image[];
  readonly #base: string | undefined;
  #left: number;

  /** @param base what they are relative to @param length of the document, in characters */
  constructor(links: readonly string[], images: readonly Image[], base: string | undefined, length: number) {
    this.#links = links;
    this.#images = images;
    this.#base = base;
    this.#left = MOST_URLS * length;
  }

  image(number: number): Image | undefined {
    return this.#images[number];
  }

  /** The target of a link; undefined: it is none that is written. */
  ofLink(number: number): string | undefined {
    return this.of(this.#links[number] ?? '');
  }

  of(written: string): string | undefined {
    if (written.length > MAX_URL || this.#left <= 0) return undefined;
    let url: URL;
    try {
      url = new URL(written, this.#base);
    } catch {
      return undefined;
    }
    if (NO_TARGET.test(url.protocol)) return undefined;
    const target = url.href.replace(IN_TARGET, encoded);
    if (target.length > MAX_URL || target.length > this.#left) return undefined;
    this.#left -= target.length;
    return target;
  }
}

const NO_TARGET = /^(?:javascript|vbscript|data):$/;
const IN_TARGET = /[()<>\s\\`|]|&(?=[a-z#][a-z0-9]*;)/gi;

function encoded(character: string): string {
  return character === '&'
    ? '%26'
    : `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}

const SPECIAL = /[\\`*_[\]<~]|&(?=[a-z#])/gi;
/** With addresses that readers of GFM take for links: what is escaped in them would be a part of them. */
const SPECIAL_BESIDE_URLS = /(?:\bhttps?:\/\/|\bwww\.)[^\s<>`[\]\\*]*|[\\`*_[\]<~]|&(?=[a-z#])/gi;

/** Words as they are, whatever they look like. */
export function escaped(text: string): string {
  if (!text.includes('://') && !/www\./i.test(text)) return text.replace(SPECIAL, '\\$&');
  return text.replace(SPECIAL_BESIDE_URLS, found => (found.length > 1 ? found : `\\${found}`));
}

/** What begins a line and would make something else of it. */
export function escapedStart(line: string): string {
  if (/^[#>+=:|-]/.test(line)) return `\\${line}`;
  return line.replace(/^(\d{1,9})([.)])/, '$1\\$2');
}

interface Segment {
  text: string;
  /** STRONG, EMPHASIS, CODE. */
  bits: number;
  link: number;
  image?: Image | undefined;
}

/** A part of a marked text. @param isCell in a cell of a table */
export function inline(
  { text, marks }: MarkedText,
  addresses: Addresses,
  isCell = false,
  from = 0,
  to = text.length,
): string {
  if (marks === undefined) {
    const plain = escaped(text.slice(from, to));
    return isCell ? plain.replaceAll('|', '\\|') : plain;
  }
  const writer = new InlineWriter(addresses, isCell);
  writer.writeLinks(segmentsOf(text, marks, from, to, addresses));
  return writer.take();
}

function segmentsOf(
  text: string,
  marks: readonly number[],
  from: number,
  to: number,
  addresses: Addresses,
): Segment[] {
  const segments: Segment[] = [];
  for (let i = 0; i < marks.length; i += 2) {
    const start = Math.max(from, marks[i] ?? 0);
    const end = Math.min(to, marks[i + 2] ?? text.length);
    const what = marks[i + 1] ?? 0;
    const number = Math.floor(what / NUMBERED);
    if ((what & IMAGE) !== 0) {
      const image = start <= (marks[i] ?? 0) && start <= to ? addresses.image(number) : undefined;
      if (image !== undefined) segments.push({ text: '', bits: 0, link: image.link, image });
      continue;
    }
    if (end <= start) continue;
    const part = text.slice(start, end);
    const bits = what & (STRONG | EMPHASIS | CODE);
    const last = segments.at(-1);
    if (last !== undefined && last.bits === bits && last.link === number && last.image === undefined)
      last.text += part;
    else segments.push({ text: part, bits, link: number });
  }
  return segments;
}

const PUNCTUATION = /^[\p{P}\p{S}]$/u;

/** Writes segments one after the other, and knows what stands before the next. */
class InlineWriter {
  readonly #addresses: Addresses;
  readonly #isCell: boolean;
  readonly #parts: string[] = [];
  /** The last character written. */
  #last = ' ';
  /** How many parts there were when a mark was closed: one that is opened right after it would be read as more of it. */
  #closedAt = -1;

  constructor(addresses: Addresses, isCell: boolean) {
    this.#addresses = addresses;
    this.#isCell = isCell;
  }

  take(): string {
    return this.#parts.join('').trim();
  }

  #put(part: string): void {
    if (part === '') return;
    this.#parts.push(part);
    this.#last = part.at(-1) ?? ' ';
  }

  /** Links are outermost: of those in each other HTML shows one, too. */
  writeLinks(segments: readonly Segment[]): void {
    let plain: Segment[] = [];
    const writePlain = () => {
      this.#writeMarked(plain, '[');
      plain = [];
    };
    for (let from = 0, to = 0; from < segments.length; from = to) {
      const { link = 0 } = segments[from] ?? {};
      for (to = from; to < segments.length && segments[to]?.link === link; to++);
      const some = segments.slice(from, to);
      const url = link === 0 || !some.some(isShown) ? undefined : this.#addresses.ofLink(link);
      if (url === undefined) {
        plain.push(...some);
        continue;
      }
      writePlain();
      const [before, words, after] = inBlanks(some);
      this.#put(before);
      // With what would make a picture of it.
      if (this.#last === '!') this.#parts.push(`${this.#parts.pop()?.slice(0, -1)}\\!`);
      this.#put('[');
      this.#writeMarked(words, ']');
      this.#put(`](${url})`);
      this.#put(after);
    }
    writePlain();
  }

  /** @param after the character that stands after them, '' for that of the next segment */
  #writeMarked(all: readonly Segment[], after: string): void {
    const segments = withCodeWhole(all);
    this.#write(segments, 0, segments.length, 0, after);
  }

  /** @param open marks around them */
  #write(segments: readonly Segment[], from: number, to: number, open: number, after: string): void {
    for (let at = from; at < to;) {
      const { bits, image, text } = segments[at] as Segment;
      const isNot = bits & ~open;
      const strongTo = (isNot & STRONG) === 0 ? at : extent(segments, at, to, STRONG);
      const emphasisTo = (isNot & EMPHASIS) === 0 ? at : extent(segments, at, to, EMPHASIS);
      if (strongTo > at || emphasisTo > at) {
        const [mark, end] = strongTo >= emphasisTo ? [STRONG, strongTo] : [EMPHASIS, emphasisTo];
        this.#emphasize(segments, at, end, open | mark, mark === STRONG ? '**' : '*', end < to ? '' : after);
        at = end;
        continue;
      }
      if (image !== undefined) this.#putImage(image);
      else if ((bits & CODE) !== 0) this.#putCode(text);
      else this.#put(this.#isCell ? escaped(text).replaceAll('|', '\\|') : escaped(text));
      at++;
    }
  }

  /** Marks stand at words, never at blanks; where they would not be read as marks, the words stand alone. */
  #emphasize(
    segments: readonly Segment[],
    from: number,
    to: number,
    open: number,
    mark: string,
    after: string,
  ): void {
    const [before, some, behind] = inBlanks(segments.slice(from, to));
    this.#put(before);
    const next = behind === '' ? after || segments[to]?.text.at(0) || ' ' : ' ';
    const first = some[0];
    const last = some.at(-1);
    const isRead =
      first !== undefined &&
      last !== undefined &&
      this.#closedAt !== this.#parts.length &&
      flanks(edge(first, 0), this.#last) &&
      flanks(edge(last, -1), next);
    if (isRead) this.#put(mark);
    this.#write(some, 0, some.length, open, isRead ? '*' : next);
    if (isRead) {
      this.#put(mark);
      this.#closedAt = this.#parts.length;
    }
    this.#put(behind);
  }

  #putCode(text: string): void {
    const word = text.trim();
    if (word === '') return this.#put(text);
    this.#put(text.slice(0, text.length - text.trimStart().length));
    const fence = '`'.repeat(longestRun(word) + 1);
    const pad = word.startsWith('`') || word.endsWith('`') ? ' ' : '';
    this.#put(`${fence}${pad}${this.#isCell ? word.replaceAll('|', '\\|') : word}${pad}${fence}`);
    this.#put(text.slice(text.trimEnd().length));
  }

  #putImage({ alt, src }: Image): void {
    const url = this.#addresses.of(src);
    if (url === undefined) return;
    const words = escaped(alt);
    this.#put(`![${this.#isCell ? words.replaceAll('|', '\\|') : words}](${url})`);
  }
}

function isShown({ text, image }: Segment): boolean {
  return image !== undefined || /\S/.test(text);
}

/** Where a mark ends that begins at a segment. */
function extent(segments: readonly Segment[], from: number, to: number, mark: number): number {
  let end = from;
  while (end < to && ((segments[end] as Segment).bits & mark) !== 0) end++;
  return end;
}

/** Whether a mark is read as one between a character of its words and one outside of them (CommonMark, 6.2). */
function flanks(inner: string, outer: string): boolean {
  return !PUNCTUATION.test(inner) || /\s/.test(outer) || PUNCTUATION.test(outer);
}

/** The first or last character of a segment as it is written. */
function edge({ text, bits, image }: Segment, at: 0 | -1): string {
  return image !== undefined || (bits & CODE) !== 0 ? '`' : (text.at(at) ?? '`');
}

/** The blanks before and after, and what is between them. */
function inBlanks(segments: readonly Segment[]): [before: string, some: Segment[], after: string] {
  const some = segments.map(segment => ({ ...segment }));
  const isBlank = (segment: Segment | undefined) =>
    segment !== undefined && segment.image === undefined && segment.text.trim() === '';
  let before = '';
  while (isBlank(some[0])) before += some.shift()?.text;
  let after = '';
  while (isBlank(some.at(-1))) after = some.pop()?.text + after;
  const [first] = some;
  if (first?.text.startsWith(' ')) {
    before += ' ';
    first.text = first.text.slice(1);
  }
  const last = some.at(-1);
  if (last?.text.endsWith(' ')) {
    after = ` ${after}`;
    last.text = last.text.slice(0, -1);
  }
  return [before === '' ? '' : ' ', some, after === '' ? '' : ' '];
}

/** Code is one, whatever else is in it: marks hold of all of it or of nothing. */
function withCodeWhole(segments: readonly Segment[]): Segment[] {
  const whole: Segment[] = [];
  for (let from = 0, to = 0; from < segments.length; from = to) {
    const first = segments[from] as Segment;
    to = from + 1;
    if ((first.bits & CODE) === 0) {
      whole.push(first);
      continue;
    }
    let { bits } = first;
    const texts = [first.text];
    for (; to < segments.length && ((segments[to] as Segment).bits & CODE) !== 0; to++) {
      bits &= (segments[to] as Segment).bits;
      texts.push((segments[to] as Segment).text);
    }
    whole.push({ text: texts.join(''), bits, link: first.link });
  }
  return whole;
}

/** Of backticks. */
export function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 0);
}
