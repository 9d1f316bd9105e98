/**
 * The one XML reader: bytes are pushed in, events come out, and every limit is checked while bytes arrive.
 *
 * It reads a sequence of top-level elements, as conversations are; white space, comments and XML declarations
 * may stand between them. Refused wherever they appear: document types, CDATA sections, entities but the five
 * predefined, processing instructions nobody asked for, text outside every element. Prefixes are free.
 *
 * The reader cuts the input into markup and text, and saxes judges each piece (strict.ts), unless the element
 * looks like one before (layouts.ts). A fuzzer holds the two ways alike (test/lib/xml/differential.test.ts).
 */
import { LccError } from '../errors.js';
import { DECLARATION_MAX_CHARACTERS, readDeclaration } from './declaration.js';
import { XmlDecoder, type XmlEncoding } from './decode.js';
import { attributesOf, Layouts } from './layouts.js';
import { TagEnd, TextEnd, type MarkupEnd } from './markup-end.js';
import { Position } from './position.js';
import { endOfReferences, mayBecomeReference } from './references.js';
import { StrictParser } from './strict.js';
import { XmlError, type XmlEvents, type XmlLimits } from './types.js';

const LESS = 0x3c;
const NEWLINE = 0x0a;

/** Text that only saxes can judge: references, `]]>`, line ends to normalise, characters XML forbids. */
const NEEDS_STRICT_TEXT = /[\u0000-\u0008\u000b-\u001f&\]\ufffe\uffff]/;
const NOT_SPACE = /[^ \t\r\n]/;
const INSTRUCTION = /^<\?([^\s?]+)\s*(.*)\?>$/s;

/** A declaration that ends at `end`: the bytes after it must be decoded again. */
interface EncodingChange {
  end: number;
  encoding: XmlEncoding;
}

export class XmlReader {
  readonly #events: XmlEvents;
  readonly #limits: XmlLimits;
  readonly #where: string;
  readonly #decoder = new XmlDecoder();
  readonly #strict: StrictParser;
  readonly #layouts: Layouts | undefined;
  readonly #open: string[] = [];
  #error: unknown;
  #started = false;

  /** The element being read; `#held`: an end that could not be judged yet, read again with what follows. */
  #text = '';
  #held = '';

  readonly #place = new Position();
  /** How far `#text` has been read. */
  #readTo = 0;

  /** saxes must get what follows: it is inside markup, or holds text it has not reported. */
  #insideMarkup = false;
  #textInStrict = false;
  #end: MarkupEnd = new TagEnd();
  /** The markup so far; the length of the run of text so far. */
  #raw = '';
  #textLength = 0;

  /** Bytes that may come before `allow` is called again. */
  #allowedBytes = Infinity;
  #allowance = '';

  /**
   * @param options.where names the source in messages: a file or a peer
   * @param options.fastPath false: saxes reads everything
   */
  constructor(events: XmlEvents, limits: XmlLimits, options: { where: string; fastPath?: boolean }) {
    this.#events = events;
    this.#limits = limits;
    this.#where = options.where;
    this.#strict = new StrictParser(limits, options.where, text => this.#events.text?.(text));
    this.#layouts = options.fastPath === false ? undefined : new Layouts();
  }

  /** Where the markup or text reported last ends, counted from 1. */
  get position(): { line: number; column: number } {
    return { line: this.#place.line, column: Math.max(1, this.#place.columnAt(this.#readTo)) };
  }

  /**
   * Lets at most `bytes` more be read, be they comments, declarations or white space, until the next call.
   * @param limit the bound as the refusal names it
   */
  allow(bytes: number, limit = ''): void {
    this.#allowedBytes = bytes;
    this.#allowance = limit;
  }

  /**
   * Reads the next bytes, and reports all events that they complete; strings may hold text of all of them.
   * @throws XmlError, or what an event handler threw; every later call throws the same again
   */
  write(chunk: Uint8Array): void {
    if (this.#error !== undefined) throw this.#error;
    try {
      let rest = chunk;
      while (rest.length > this.#allowedBytes) {
        const piece = rest.subarray(0, this.#allowedBytes);
        if (piece.length === 0) this.#failAt(0, 'limit', `no message in ${this.#allowance}`);
        this.#allowedBytes = 0;
        this.#readBytes(piece);
        rest = rest.subarray(piece.length);
      }
      this.#allowedBytes -= rest.length;
      this.#readBytes(rest);
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
    const at = `${this.#where}:${this.#place.line}:${this.#place.columnAt(0) + 1}`;
    this.#error = new LccError('data.cut', `${at}: the input ends inside ${inside}; it was cut off`);
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
    this.#place.begin(text, ascii, at);
    while (at < text.length) {
      const next = this.#readNext(at);
      if (typeof next === 'object') {
        const unread = text.length + this.#held.length - next.end;
        this.#held = '';
        this.#settle(next.end);
        return { encoding: next.encoding, unread };
      }
      if (next === at) {
        this.#held = text.slice(at) + this.#held;
        break;
      }
      at = next;
    }
    this.#settle(at);
    return undefined;
  }

  /** @returns how far it came; nowhere where more must come before that can be read */
  #readNext(at: number): number | EncodingChange {
    if (this.#insideMarkup) return this.#readMarkup(at);
    if (this.#text.charCodeAt(at) !== LESS) return this.#readCharacters(at);
    if (this.#layouts !== undefined && !this.#textInStrict) {
      const end = this.#readFamiliar(at, this.#layouts);
      if (end > at) return end;
    }
    return this.#beginMarkup(at);
  }

  /** Elements that look like others before, and the line ends between them. */
  #readFamiliar(from: number, layouts: Layouts): number {
    const text = this.#text;
    const events = this.#events;
    const depth = this.#open.length;
    const { maxTokenBytes } = this.#limits;
    let at = from;
    if (depth >= this.#limits.maxDepth) return at;
    for (;;) {
      const layout = layouts.find(text, at);
      if (layout === undefined) return at;
      const match = layouts.match as RegExpExecArray;
      const end = layout.expression.lastIndex;
      if (end - at > maxTokenBytes) return at;
      this.#textLength = 0;
      if (layout.empty) {
        this.#readTo = end;
        events.open(layout.name, attributesOf(layout, match), true, match[0]);
      } else {
        const content = match.at(-1) as string;
        const tagEnd = end - layout.endTagLength - layouts.contentLength;
        this.#open.push(layout.name);
        this.#readTo = tagEnd;
        events.open(layout.name, attributesOf(layout, match), false, text.slice(at, tagEnd));
        this.#readTo = end - layout.endTagLength;
        if (content !== '') events.text?.(content);
        this.#readTo = end;
        this.#open.pop();
        events.close(layout.name);
      }
      at = end;
      // Looking beyond the end of a text makes V8 give up code it has optimised.
      if (at >= text.length || text.charCodeAt(at) !== NEWLINE) return at;
      at += 1;
      this.#textLength = 1;
      this.#place.newLine(at);
      if (depth > 0) {
        this.#readTo = at;
        events.text?.('\n');
      }
      if (at >= text.length || text.charCodeAt(at) !== LESS) return at;
    }
  }

  /** A run of text up to `<` or the end of what is there. */
  #readCharacters(from: number): number {
    const found = this.#text.indexOf('<', from);
    const end = found < 0 ? this.#text.length : found;
    const { maxTokenBytes, maxTextBytes = maxTokenBytes } = this.#limits;
    const to = Math.min(end, from + maxTextBytes - this.#textLength);
    let at = to;
    const piece = this.#text.slice(from, to);
    if (this.#open.length === 0) {
      const stray = piece.search(NOT_SPACE);
      this.#place.moveOver(stray < 0 ? piece : piece.slice(0, stray), from);
      if (stray >= 0) this.#failAt(from + stray, 'data.malformed', 'text outside every element');
    } else if (this.#textInStrict || NEEDS_STRICT_TEXT.test(piece)) {
      this.#textInStrict = true;
      at = this.#feed(from, to, true);
    } else {
      this.#place.moveOver(piece, from);
      this.#readTo = to;
      this.#events.text?.(piece);
    }
    this.#textLength += at - from;
    if (at === to && to < end) this.#failTooLong(to, 'text');
    return at;
  }

  /** Markup begins here. */
  #beginMarkup(at: number): number | EncodingChange {
    const text = this.#text;
    switch (text[at + 1]) {
      case undefined:
        return at;
      case '!': {
        const start = text.slice(at, at + 4);
        if (start === '<!--') return this.#enterMarkup(at, new TextEnd('<!--', '-->'));
        if (start === '<!' || start === '<!-') return at;
        if (start.startsWith('<![')) this.#failAt(at, 'data.malformed', 'a CDATA section is not accepted');
        return this.#failAt(at, 'data.malformed', 'a document type or other declaration is not accepted');
      }
      case '?': {
        const target = text.slice(at + 2, at + 6);
        if (/^xml[\s?]$/.test(target)) return this.#readDeclaration(at);
        if (target === '' || target === 'x' || target === 'xm' || target === 'xml') return at;
        if (this.#events.instruction === undefined) {
          this.#failAt(at, 'data.malformed', 'a processing instruction is not accepted here');
        }
        return this.#enterMarkup(at, new TextEnd('<?', '?>'));
      }
      default:
        return this.#enterMarkup(at, new TagEnd());
    }
  }

  #readDeclaration(at: number): number | EncodingChange {
    const text = this.#text;
    if (this.#open.length > 0) this.#failAt(at, 'data.malformed', 'an XML declaration inside an element');
    const close = text.slice(at, at + DECLARATION_MAX_CHARACTERS).indexOf('?>');
    if (close < 0 && text.length - at < DECLARATION_MAX_CHARACTERS) return at;
    const end = at + close + 2;
    const declaration = readDeclaration(close < 0 ? '' : text.slice(at, end));
    if ('wrong' in declaration) return this.#failAt(at, 'data.malformed', declaration.wrong);
    const { encoding } = declaration;
    this.#textLength = 0;
    this.#place.moveOver(text.slice(at, end), at);
    return encoding === undefined || encoding === this.#decoder.encoding ? end : { end, encoding };
  }

  #enterMarkup(at: number, end: MarkupEnd): number {
    this.#insideMarkup = true;
    this.#end = end;
    this.#raw = '';
    this.#textLength = 0;
    return this.#readMarkup(at);
  }

  /** Markup up to its end, or the end of what is there. */
  #readMarkup(from: number): number {
    const found = this.#end.find(this.#text, from);
    const end = found ?? this.#text.length;
    const to = Math.min(end, from + this.#limits.maxTokenBytes - this.#raw.length);
    const at = this.#feed(from, to, this.#end.hasReferences);
    this.#raw += this.#text.slice(from, at);
    if (at < to) return at;
    if (to < end) this.#failTooLong(to, 'markup');
    if (found !== undefined) this.#report();
    return at;
  }

  /** Reports the markup, which is complete. */
  #report(): void {
    const raw = this.#raw;
    switch (raw.charAt(1)) {
      case '/': {
        this.#leaveMarkup();
        this.#events.close(this.#open.pop() as string);
        break;
      }
      case '!':
        this.#leaveMarkup();
        break;
      case '?': {
        this.#leaveMarkup();
        const [, target = '', body = ''] = INSTRUCTION.exec(raw) ?? [];
        this.#events.instruction?.(target, body);
        break;
      }
      default: {
        const tag = this.#strict.takeTag(this.#open.length);
        if (tag === undefined) break;
        this.#leaveMarkup();
        if (!tag.empty) this.#open.push(tag.name);
        this.#layouts?.learn(tag.name, tag.attributes, tag.empty, raw);
        this.#events.open(tag.name, tag.attributes, tag.empty, raw);
      }
    }
  }

  #leaveMarkup(): void {
    this.#insideMarkup = false;
    this.#textInStrict = false;
  }

  /**
   * Gives saxes `#text` from `from` to `to`, but references only when complete.
   * @returns how far that was
   */
  #feed(from: number, to: number, withReferences: boolean): number {
    this.#strict.setPosition(this.#place.line, this.#place.columnAt(from));
    const stop = withReferences ? endOfReferences(this.#text, from, to) : to;
    this.#strict.feed(this.#text.slice(from, stop), this.#open.at(-1));
    this.#place.set(this.#strict.line, this.#strict.column, stop);
    this.#readTo = stop;
    if (stop < to && !mayBecomeReference(this.#text, stop)) {
      this.#failAt(stop, 'data.malformed', 'an ampersand that begins no entity; write &amp;');
    }
    return stop;
  }

  /** `#text` has been read up to `offset` and goes. */
  #settle(offset: number): void {
    this.#place.settle(offset);
    this.#readTo = 0;
  }

  /** Throws an XmlError at the character at `offset`. */
  #failAt(offset: number, code: 'data.malformed' | 'limit', what: string): never {
    throw new XmlError(code, this.#where, this.#place.line, this.#place.columnAt(offset) + 1, what);
  }

  #failTooLong(offset: number, what: string): never {
    const { maxTokenBytes } = this.#limits;
    return this.#failAt(offset, 'limit', `${what} longer than ${maxTokenBytes} characters (xml.token_bytes)`);
  }
}
