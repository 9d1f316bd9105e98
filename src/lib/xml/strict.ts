/**
 * saxes, held on a short leash: the reader hands it one piece of markup or text at a time and believes it
 * only once the piece was read without complaint. Left alone, saxes reports a wrong end tag as the end of the
 * element it does not match, and goes on after errors.
 */
import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { XmlError, type XmlLimits } from './types.js';

// A fragment may have several roots. Version 1.1 would admit control characters. xmlns costs a third of the
// speed and is quadratic in the depth.
const OPTIONS = {
  fragment: true,
  xmlns: false,
  position: false,
  defaultXMLVersion: '1.0',
  forceXMLVersion: true,
} as const;

/** As saxes says of an end tag that is not that of the element around it. */
const WRONG_END = 'unexpected close tag';

interface Tag {
  name: string;
  attributes: Record<string, string>;
  empty: boolean;
}

export class StrictParser {
  readonly #saxes: SaxesParser<typeof OPTIONS>;
  readonly #limits: XmlLimits;
  readonly #where: string;
  #tag: SaxesTagPlain | undefined;

  /** @param onText gets character data, entities resolved, when the markup after it begins */
  constructor(limits: XmlLimits, where: string, onText: (text: string) => void) {
    this.#limits = limits;
    this.#where = where;
    this.#saxes = new SaxesParser(OPTIONS);
    // No more handlers than these: with a few more, V8 turns the parser into a dictionary and reads 5 times
    // slower.
    this.#saxes.on('text', onText);
    this.#saxes.on('opentag', tag => {
      this.#tag = tag;
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

  /** @param open the innermost element that is open @throws XmlError; and what `onText` threw */
  feed(piece: string, open = ''): void {
    try {
      this.#saxes.write(piece);
    } catch (error) {
      // Errors of saxes itself are plain Errors.
      if (!(error instanceof Error) || error.constructor !== Error) throw error;
      const what = error.message.replace(/\.$/, '');
      this.#fail(
        'data.malformed',
        what === WRONG_END ? `${what}: <${open}> is open; end it first, or write <${open} .../>` : what,
      );
    }
  }

  /**
   * The start tag that ended in what was fed last, if one did.
   * @param depth how many elements are open around it
   * @throws XmlError `limit`
   */
  takeTag(depth: number): Tag | undefined {
    const tag = this.#tag;
    if (tag === undefined) return undefined;
    this.#tag = undefined;
    const { maxDepth, maxAttributes } = this.#limits;
    if (depth >= maxDepth) this.#fail('limit', `elements nested deeper than ${maxDepth}`);
    this.#checkName(tag.name);
    const attributes: Record<string, string> = {};
    let count = 0;
    for (const name in tag.attributes) {
      count += 1;
      if (count > maxAttributes) this.#fail('limit', `more than ${maxAttributes} attributes`);
      this.#checkName(name);
      setOwn(attributes, name, tag.attributes[name] as string);
    }
    return { name: tag.name, attributes, empty: tag.isSelfClosing };
  }

  #checkName(name: string): void {
    if (name.length > this.#limits.maxNameBytes) {
      this.#fail('limit', `name longer than ${this.#limits.maxNameBytes} characters`);
    }
  }

  /** Throws an XmlError at the character read last. */
  #fail(code: 'data.malformed' | 'limit', what: string): never {
    throw new XmlError(code, this.#where, this.line, Math.max(1, this.column), what);
  }
}

function setOwn(object: Record<string, string>, name: string, value: string): void {
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[name] = value;
  }
}
