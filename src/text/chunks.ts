/**
 * A page in pieces that a model embeds. A piece knows what it is under, its title and headings, so that
 * pieces need not overlap and an edit touches its own. How pages are divided is part of the contract
 * (lccq-models(5)): golden files.
 */
import { hashOf, type MarkdownPage } from './markdown/page.js';
import { cutBefore } from './markdown/cut.js';
import { divided } from './markdown/divided.js';
import { plainOf, type MarkdownUnit } from './markdown/units.js';

export const DEFAULT_CHUNK_SIZE = 1500;
export const LEAST_CHUNK_SIZE = 200;
export const MOST_CHUNK_SIZE = 100_000;

/** Characters of a title or heading that stand in front of a piece. */
const MOST_OF_NAME = 200;
/** A new piece begins at headings up to this level, ... */
const TOP_LEVEL = 2;
/** ... and at others once there is this part of a piece. */
const ENOUGH = 1 / 3;
/** Markdown of a piece is so many times as long as a piece may be, at most; then it is words alone. */
const MOST_WRITTEN = 16;

export interface Chunk {
  /** Headings that it is under, from the outermost. */
  headings: string[];
  markdown: string;
  /** The text to embed: title and headings, and the words. */
  text: string;
  /** A hash of `text`. */
  hash: string;
  /** Page in a document that has pages, from 1. */
  page: number | undefined;
}

interface Heading {
  unit: MarkdownUnit;
  level: number;
  name: string;
}

/** Not yet written: a page may have very many. */
interface Piece {
  units: MarkdownUnit[];
  /** Headings of the first words that are no heading. */
  path: readonly Heading[];
  context: string;
  /** Not all of the path is in it. */
  isCut: boolean;
  length: number;
  hasBody: boolean;
}

export class Chunks {
  readonly #page: MarkdownPage;
  readonly #size: number;
  readonly #pieces: Piece[] = [];
  #path: Heading[] = [];
  #piece: Piece = emptyPiece();

  /** @param size characters of `text` of a piece, at most (UTF-16 units) */
  constructor(page: MarkdownPage, size: number) {
    this.#page = page;
    this.#size = size;
    for (const unit of page.units) {
      if (unit.kind === 'heading') this.#addHeading(unit);
      else this.#addBody(unit);
    }
    this.#end(false);
  }

  get count(): number {
    return this.#pieces.length;
  }

  /** Written one after the other. */
  *all(): Generator<Chunk, void> {
    for (const { units, path, context, isCut } of this.#pieces) {
      const named = new Set(isCut ? [] : path.map(({ unit }) => unit));
      // Headings at its beginning that are named in front of it are not said again.
      let isBeginning = true;
      const words = units.filter(unit => {
        isBeginning &&= unit.kind === 'heading';
        return !(isBeginning && named.has(unit));
      });
      const text = [context, ...words.map(plainOf)].filter(line => line !== '').join('\n');
      yield {
        headings: path.map(({ name }) => shortened(name)),
        markdown: this.#page.writtenOf(units, MOST_WRITTEN * this.#size),
        text,
        hash: hashOf(text),
        page: units[0]?.page,
      };
    }
  }

  #addHeading(unit: MarkdownUnit): void {
    const { level = 1 } = unit;
    const name = plainOf(unit);
    const { hasBody, length } = this.#piece;
    // There has to be room for words below it.
    const most = hasBody ? length + 1 : length + name.length;
    if ((hasBody && level <= TOP_LEVEL) || most > ENOUGH * this.#size) this.#end(false);
    this.#path = [...this.#path.filter(each => each.level < level), { unit, level, name }];
    if (name.length <= Math.min(MOST_OF_NAME, ENOUGH * this.#size)) this.#put(unit);
    // A name that is cut has to be said as a whole: it is text, and may be long.
    else this.#addBody({ ...unit, kind: 'text' });
  }

  #addBody(unit: MarkdownUnit): void {
    if (this.#piece.units.length > 0 && this.#piece.units[0]?.page !== unit.page) this.#end(false);
    const length = plainOf(unit).length + 1;
    if (this.#piece.hasBody && this.#lengthWith(length) > this.#size) this.#end(true);
    if (this.#lengthWith(length) <= this.#size) {
      this.#putBody(unit);
      return;
    }
    const room = () =>
      this.#size - (this.#piece.hasBody ? this.#piece.context.length + 1 : this.#lengthWith(1));
    for (const part of divided(unit, room)) {
      if (this.#piece.hasBody && this.#lengthWith(plainOf(part).length + 1) > this.#size) this.#end(true);
      this.#putBody(part);
    }
  }

  #putBody(unit: MarkdownUnit): void {
    this.#piece.hasBody ||= this.#setPath();
    this.#put(unit);
  }

  #setPath(): true {
    Object.assign(this.#piece, { path: this.#path, ...this.#contextOf(this.#path) });
    return true;
  }

  #put(unit: MarkdownUnit): void {
    this.#piece.units.push(unit);
    this.#piece.length += plainOf(unit).length + 1;
  }

  /** Length of `text`, were so much more in the piece. */
  #lengthWith(more: number): number {
    const { hasBody, context, length } = this.#piece;
    return (hasBody ? context : this.#contextOf(this.#path).context).length + length + more;
  }

  #contextOf(path: readonly Heading[]): Pick<Piece, 'context' | 'isCut'> {
    const isUnderTop = path.some(({ level }) => level === 1);
    const names = [...(isUnderTop ? [] : [this.#page.title]), ...path.map(({ name }) => name)];
    const context = names
      .filter(name => name !== '')
      .map(shortened)
      .join(' > ');
    const end = cutBefore(context, Math.floor(this.#size / 2));
    return { context: context.slice(0, end), isCut: end < context.length };
  }

  /** @param goesOn whether headings at its end belong to what follows */
  #end(goesOn: boolean): void {
    const piece = this.#piece;
    const rest: MarkdownUnit[] = [];
    if (goesOn && piece.hasBody) {
      const last = piece.units.findLastIndex(({ kind }) => kind !== 'heading');
      rest.push(...piece.units.splice(last + 1));
    }
    this.#piece = emptyPiece();
    if (piece.units.length === 0) return;
    if (!piece.hasBody) Object.assign(piece, { path: this.#path, ...this.#contextOf(this.#path) });
    this.#pieces.push(piece);
    for (const unit of rest) this.#put(unit);
  }
}

function emptyPiece(): Piece {
  return { units: [], path: [], context: '', isCut: false, length: 0, hasBody: false };
}

function shortened(name: string): string {
  return name.length <= MOST_OF_NAME ? name : `${name.slice(0, cutBefore(name, MOST_OF_NAME - 1))}…`;
}
