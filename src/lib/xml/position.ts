/** Line and column in a text that comes in pieces, counted only as far as somebody may ask. */

const LINE_END = /\r\n?|\n/g;

export class Position {
  #text = '';
  #ascii = true;
  /** The line of `#text[#offset]`, and how many characters stand in front of it there. */
  #line = 1;
  #column = 0;
  #offset = 0;

  /** The next piece; the position is at `offset` of it. @param ascii a character is one UTF-16 unit */
  begin(text: string, ascii: boolean, offset: number): void {
    this.#text = text;
    this.#ascii = ascii;
    this.#offset = offset;
  }

  /** The piece has been read up to `offset` and goes. */
  settle(offset: number): void {
    this.#column = this.columnAt(offset);
    this.#text = '';
    this.#offset = 0;
  }

  /** Counted from 1. */
  get line(): number {
    return this.#line;
  }

  /** Characters in front of `offset` on the current line; `offset` is on it. */
  columnAt(offset: number): number {
    const piece = this.#text.slice(this.#offset, offset);
    return this.#column + (this.#ascii ? piece.length : characterCount(piece));
  }

  /** Somebody else counted: what stands at `offset` is on that line, after `column` characters. */
  set(line: number, column: number, offset: number): void {
    this.#line = line;
    this.#column = column;
    this.#offset = offset;
  }

  /** A line ended; the next begins at `offset`. */
  newLine(offset: number): void {
    this.#line += 1;
    this.#column = 0;
    this.#offset = offset;
  }

  /** Counts the line ends of `piece`, which stands at `from` on the current line. */
  moveOver(piece: string, from: number): void {
    if (piece.includes('\r')) {
      for (const match of piece.matchAll(LINE_END)) this.newLine(from + match.index + match[0].length);
      return;
    }
    for (let at = piece.indexOf('\n'); at >= 0; at = piece.indexOf('\n', at + 1)) this.newLine(from + at + 1);
  }
}

/** Characters, not UTF-16 units. */
function characterCount(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff]/g)?.length ?? 0);
}
