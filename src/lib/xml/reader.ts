/**
 * The one XML reader: bytes are pushed in, events come out, and every limit is checked while bytes arrive.
 *
 * It reads a sequence of top-level elements, as conversations are; white space, comments and XML declarations may stand
 * between them. Refused wherever they appear: document types, CDATA sections, entities but the five predefined,
 * processing instructions nobody asked for, and characters outside every element. Prefixes need no declaration.
 *
 * The reader cuts the input into markup and text; saxes judges each piece (strict.ts).
 */
import { LccError } from '../errors.js';
import { Decoder, encodingNamed, type XmlEncoding } from './decode.js';
import { StrictParser } from './strict.js';
import { XmlError, type XmlEvents, type XmlLimits } from './types.js';

/** Text that only saxes can judge: references, `]]>`, line ends to normalise, characters XML forbids. */
const NEEDS_STRICT_TEXT = /[\u0000-\u0008\u000b-\u001f&\]\ufffe\uffff]/;
const NOT_SPACE = /[^ \t\r\n]/;
const LINE_END = /\r\n?|\n/g;
const DECLARATION_MAX_CHARACTERS = 256;
const DECLARATION =
  /^<\?xml\s+version\s*=\s*(?:"1\.\d+"|'1\.\d+')(?:\s+encoding\s*=\s*(?:"([\w.-]+)"|'([\w.-]+)'))?(?:\s+standalone\s*=\s*(?:"(?:yes|no)"|'(?:yes|no)'))?\s*\?>$/;

export class XmlReader {
  readonly #events: XmlEvents;
  readonly #limits: XmlLimits;
  readonly #where: string;
  readonly #decoder = new Decoder();
  readonly #strict: StrictParser;
  readonly #open: string[] = [];
  #error: unknown;
  #started = false;

  /** What is being read. `#held` is an end that could not be judged yet; it is read again in front of what follows. */
  #text = '';
  #ascii = true;
  #held = '';

  /** Position of `#text[#baseOffset]`: its line, and how many characters stand in front of it there. */
  #line = 1;
  #baseOffset = 0;
  #baseColumn = 0;
  /** How far `#text` has been read. */
  #readTo = 0;

  /** saxes must get what follows: it is inside markup, or holds text it has not reported. */
  #insideMarkup = false;
  #textInStrict = false;
  /** The markup so far; the length of the run of text so far. */
  #raw = '';
  #textLength = 0;

  /** @param options.where names the source in messages: a file or a peer */
  constructor(events: XmlEvents, limits: XmlLimits, options: { where: string }) {
    this.#events = events;
    this.#limits = limits;
    this.#where = options.where;
    this.#strict = new StrictParser(limits, options.where, text => this.#events.text?.(text));
  }

  /** Where the markup or text reported last ends, counted from 1. */
  get position(): { line: number; column: number } {
    const { line, column } = this.#positionAt(this.#readTo);
    return { line, column: Math.max(1, column) };
  }

  /** How many elements are open. */
  get depth(): number {
    return this.#open.length;
  }

  /**
   * Reads the next bytes, however they were cut; all events they complete have been reported when it returns.
   * @throws XmlError, or what an event handler threw; every later call throws the same again
   */
  write(chunk: Uint8Array): void {
    if (this.#error !== undefined) throw this.#error;
    try {
      this.#readBytes(chunk);
    } catch (error) {
      this.#error = error;
      throw error;
    }
  }

  /** @throws LccError `data.cut` when the input ends inside an element, a tag or a character */
  end(): void {
    if (this.#error !== undefined) throw this.#error;
    const inside = this.#unfinished();
    if (inside === undefined) return;
    const { line, column } = this.#positionAt(this.#baseOffset);
    this.#error = new LccError(
      'data.cut',
      `${this.#where}:${line}:${column + 1}: the input ends inside ${inside}; it was cut off`,
    );
    throw this.#error;
  }

  #unfinished(): string | undefined {
    if (this.#open.length > 0) return `<${this.#open.at(-1)}>`;
    if (this.#insideMarkup || this.#held.startsWith('<')) return 'a tag';
    return this.#decoder.insideCharacter ? 'a character' : undefined;
  }

  #readBytes(chunk: Uint8Array): void {
    let bytes = chunk;
    for (;;) {
      const { text, ascii, invalid } = this.#decoder.decode(bytes);
      const change = this.#readText(text, ascii);
      if (change === undefined) {
        if (invalid) this.#failAt(0, 'data.malformed', `not ${this.#decoder.encoding.toUpperCase()}`);
        return;
      }
      bytes = this.#decoder.switchTo(change.encoding, text.slice(0, text.length - change.unread));
    }
  }

  /** Reads decoded text up to its end, or up to the end of a declaration that changes the encoding. */
  #readText(decoded: string, ascii: boolean): { encoding: XmlEncoding; unread: number } | undefined {
    let text = this.#held + decoded;
    this.#held = '';
    let at = 0;
    if (!this.#started && text.length > 0) {
      this.#started = true;
      if (text.startsWith('\ufeff')) at = 1;
    }
    // The next character decides whether a carriage return is half a line end.
    if (text.endsWith('\r')) {
      this.#held = '\r';
      text = text.slice(0, -1);
    }
    this.#text = text;
    this.#ascii = ascii;
    this.#baseOffset = at;
    while (at < text.length) {
      if (this.#insideMarkup) {
        at = this.#readMarkup(at);
      } else if (text.charCodeAt(at) !== 0x3c) {
        at = this.#readCharacters(at);
      } else {
        const next = this.#beginMarkup(at);
        if (typeof next === 'object') {
          const unread = text.length + this.#held.length - next.end;
          this.#held = '';
          this.#settle(next.end);
          return { encoding: next.encoding, unread };
        }
        if (next === undefined) {
          this.#held = text.slice(at) + this.#held;
          break;
        }
        at = next;
      }
    }
    this.#settle(at);
    return undefined;
  }

  /** A run of text up to `<` or the end of what is there. */
  #readCharacters(from: number): number {
    const found = this.#text.indexOf('<', from);
    const end = found < 0 ? this.#text.length : found;
    const room = this.#limits.maxTokenBytes - this.#textLength;
    const to = Math.min(end, from + room);
    const piece = this.#text.slice(from, to);
    this.#textLength += piece.length;
    if (this.#open.length === 0) {
      const stray = piece.search(NOT_SPACE);
      if (stray >= 0) this.#failAt(from + stray, 'data.malformed', 'text outside every element');
      this.#moveOver(piece, to);
    } else if (this.#textInStrict || NEEDS_STRICT_TEXT.test(piece)) {
      this.#textInStrict = true;
      this.#feed(piece, from);
      this.#takePosition(to);
    } else {
      this.#moveOver(piece, to);
      this.#readTo = to;
      this.#events.text?.(piece);
    }
    if (to < end) {
      this.#failAt(
        to,
        'limit',
        `text longer than ${this.#limits.maxTokenBytes} characters (xml.token_bytes)`,
      );
    }
    return to;
  }

  /**
   * Markup begins here.
   * @returns where to go on; undefined when more must come before that is clear; or a change of the encoding
   */
  #beginMarkup(at: number): number | undefined | { end: number; encoding: XmlEncoding } {
    const text = this.#text;
    switch (text[at + 1]) {
      case undefined:
        return undefined;
      case '!':
        return this.#beginComment(at);
      case '?': {
        const target = text.slice(at + 2, at + 6);
        if (/^xml[\s?]$/.test(target)) return this.#readDeclaration(at);
        if (target === '' || target === 'x' || target === 'xm' || target === 'xml') return undefined;
        if (this.#events.instruction === undefined) {
          this.#failAt(at, 'data.malformed', 'a processing instruction is not accepted here');
        }
        break;
      }
      default:
    }
    return this.#enterMarkup(at);
  }

  #beginComment(at: number): number | undefined {
    const start = this.#text.slice(at, at + 4);
    if (start === '<!--') return this.#enterMarkup(at);
    if (start === '<!' || start === '<!-') return undefined;
    if (start.startsWith('<![')) this.#failAt(at, 'data.malformed', 'a CDATA section is not accepted');
    return this.#failAt(at, 'data.malformed', 'a document type or other declaration is not accepted');
  }

  #readDeclaration(at: number): number | undefined | { end: number; encoding: XmlEncoding } {
    const text = this.#text;
    if (this.#open.length > 0) this.#failAt(at, 'data.malformed', 'an XML declaration inside an element');
    const close = text.slice(at, at + DECLARATION_MAX_CHARACTERS).indexOf('?>');
    if (close < 0 && text.length - at < DECLARATION_MAX_CHARACTERS) return undefined;
    const end = at + close + 2;
    const match = close < 0 ? null : DECLARATION.exec(text.slice(at, end));
    if (match === null) return this.#failAt(at, 'data.malformed', 'malformed XML declaration');
    const name = match[1] ?? match[2] ?? this.#decoder.encoding;
    const encoding = encodingNamed(name);
    if (encoding === undefined) {
      return this.#failAt(at, 'data.malformed', `encoding ${name} is not known here; use UTF-8`);
    }
    this.#textLength = 0;
    this.#moveOver(text.slice(at, end), end);
    return encoding === this.#decoder.encoding ? end : { end, encoding };
  }

  #enterMarkup(at: number): number {
    this.#insideMarkup = true;
    this.#raw = '';
    this.#textLength = 0;
    return this.#readMarkup(at);
  }

  /** Markup up to the `>` that ends it or the end of what is there. */
  #readMarkup(from: number): number {
    const found = this.#text.indexOf('>', from);
    const end = found < 0 ? this.#text.length : found + 1;
    const to = Math.min(end, from + this.#limits.maxTokenBytes - this.#raw.length);
    const piece = this.#text.slice(from, to);
    this.#feed(piece, from);
    this.#raw += piece;
    this.#takePosition(to);
    if (to < end) {
      this.#failAt(
        to,
        'limit',
        `markup longer than ${this.#limits.maxTokenBytes} characters (xml.token_bytes)`,
      );
    }
    if (found >= 0) this.#report();
    return to;
  }

  /** Reports the markup that saxes has completed, if it has. */
  #report(): void {
    const { token } = this.#strict;
    if (token === undefined) return;
    this.#strict.token = undefined;
    this.#insideMarkup = false;
    this.#textInStrict = false;
    switch (token.kind) {
      case 'open':
        if (!token.empty) this.#open.push(token.name);
        this.#events.open(token.name, token.attributes, token.empty, this.#raw);
        break;
      case 'close':
        this.#open.pop();
        this.#events.close(token.name);
        break;
      case 'instruction':
        this.#events.instruction?.(token.target, token.body);
        break;
      case 'comment':
        break;
    }
  }

  #feed(piece: string, from: number): void {
    const { line, column } = this.#positionAt(from);
    this.#strict.setPosition(line, column);
    this.#strict.feed(piece);
  }

  /** saxes has read up to `offset` and knows the position. */
  #takePosition(offset: number): void {
    this.#line = this.#strict.line;
    this.#baseColumn = this.#strict.column;
    this.#baseOffset = offset;
    this.#readTo = offset;
  }

  /** `#text` has been read up to `offset` and goes; the position stays known. */
  #settle(offset: number): void {
    this.#baseColumn = this.#positionAt(offset).column;
    this.#baseOffset = 0;
    this.#readTo = 0;
  }

  /** Moves the known position over `piece`, which begins at it or behind it on the same line and ends at `offset`. */
  #moveOver(piece: string, offset: number): void {
    let lastEnd = -1;
    for (const match of piece.matchAll(LINE_END)) {
      this.#line += 1;
      lastEnd = match.index + match[0].length;
    }
    if (lastEnd >= 0) {
      this.#baseColumn = 0;
      this.#baseOffset = offset - piece.length + lastEnd;
    }
  }

  #positionAt(offset: number): { line: number; column: number } {
    const piece = this.#text.slice(this.#baseOffset, offset);
    return {
      line: this.#line,
      column: this.#baseColumn + (this.#ascii ? piece.length : characterCount(piece)),
    };
  }

  /** Throws an XmlError at the character at `offset`. */
  #failAt(offset: number, code: 'data.malformed' | 'limit', what: string): never {
    const { line, column } = this.#positionAt(offset);
    throw new XmlError(code, this.#where, line, column + 1, what);
  }
}

/** Characters, not UTF-16 units. */
function characterCount(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff]/g)?.length ?? 0);
}
