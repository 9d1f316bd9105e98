/**
 * saxes, held on a short leash: the reader hands it one piece of markup or text at a time and takes what came of it
 * only once the piece was read without complaint. saxes itself would report a wrong end tag as the end of the element
 * it does not match, and go on after errors.
 */
import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { XmlError, type XmlLimits } from './types.js';

/** What a completed piece of markup was. */
export type Token =
  | { kind: 'open'; name: string; attributes: Record<string, string>; empty: boolean }
  | { kind: 'close'; name: string }
  | { kind: 'comment' }
  | { kind: 'instruction'; target: string; body: string };

// A fragment may have several roots. Version 1.1 would admit control characters. xmlns costs a third of the speed and
// is quadratic in the depth.
const OPTIONS = {
  fragment: true,
  xmlns: false,
  position: false,
  defaultXMLVersion: '1.0',
  forceXMLVersion: true,
} as const;

const COMMENT: Token = { kind: 'comment' };

export class StrictParser {
  readonly #saxes: SaxesParser<typeof OPTIONS>;
  readonly #limits: XmlLimits;
  readonly #where: string;
  #depth = 0;
  #attributeCount = 0;
  /** The markup that ended in what was fed last. The reader takes it and sets it back. */
  token: Token | undefined;

  /** @param onText gets character data, entities resolved, when the markup after it begins */
  constructor(limits: XmlLimits, where: string, onText: (text: string) => void) {
    this.#limits = limits;
    this.#where = where;
    const saxes = new SaxesParser(OPTIONS);
    this.#saxes = saxes;
    saxes.on('error', error => this.fail('data.malformed', error.message.replace(/\.$/, '')));
    saxes.on('text', onText);
    saxes.on('comment', () => {
      this.token = COMMENT;
    });
    saxes.on('processinginstruction', ({ target, body }) => {
      this.token = { kind: 'instruction', target, body };
    });
    saxes.on('opentagstart', tag => this.#beginTag(tag.name));
    saxes.on('attribute', ({ name }) => this.#checkAttribute(name));
    saxes.on('opentag', tag => this.#endTag(tag));
    saxes.on('closetag', ({ name, isSelfClosing }) => {
      this.#depth -= 1;
      if (!isSelfClosing) this.token = { kind: 'close', name };
    });
  }

  /** @param line counted from 1; @param column characters of that line in front of what comes next */
  setPosition(line: number, column: number): void {
    this.#saxes.line = line;
    this.#saxes.column = column;
  }

  get line(): number {
    return this.#saxes.line;
  }

  get column(): number {
    return this.#saxes.column;
  }

  /** @throws XmlError */
  feed(piece: string): void {
    this.#saxes.write(piece);
  }

  /** Throws an XmlError at the character read last. */
  fail(code: 'data.malformed' | 'limit', what: string): never {
    throw new XmlError(code, this.#where, this.line, Math.max(1, this.column), what);
  }

  #beginTag(name: string): void {
    this.#attributeCount = 0;
    this.#depth += 1;
    if (this.#depth > this.#limits.maxDepth) {
      this.fail('limit', `elements nested deeper than ${this.#limits.maxDepth} (xml.depth)`);
    }
    this.#checkName(name);
  }

  #checkAttribute(name: string): void {
    this.#attributeCount += 1;
    if (this.#attributeCount > this.#limits.maxAttributes) {
      this.fail('limit', `more than ${this.#limits.maxAttributes} attributes (xml.attributes)`);
    }
    this.#checkName(name);
  }

  #checkName(name: string): void {
    if (name.length > this.#limits.maxNameBytes) {
      this.fail('limit', `name longer than ${this.#limits.maxNameBytes} characters (xml.name_bytes)`);
    }
  }

  #endTag(tag: SaxesTagPlain): void {
    this.token = {
      kind: 'open',
      name: tag.name,
      attributes: plainObject(tag.attributes),
      empty: tag.isSelfClosing,
    };
  }
}

/** The same entries as own properties of an ordinary object, `__proto__` included. */
function plainObject(entries: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(entries));
}
