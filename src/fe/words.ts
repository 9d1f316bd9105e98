/**
 * The words of a CP, as far as a front end hears them: whose it is, and whether a whole set may have been
 * passed on. From there on nobody but its UNS knows what became of the set.
 */
import type { XmlLimits } from '../lib/xml/types.js';
import { CpReader } from '../wire/cp-uns/server.js';

const SPACE = 0x20;
const SLASH = 0x2f;
const LESS = 0x3c;
const GREATER = 0x3e;
/** The bytes of `set`. */
const SET = 0x73_65_74;

export class CpWords {
  readonly #reader: CpReader;
  /** Nothing more is to be learnt by reading XML: the urls of a set are the UNS's to read. */
  #isRead = false;
  readonly #ends = new EndTags();
  #id: string | undefined;
  #isStrange = false;
  #isSetEmpty = false;

  constructor(limits: XmlLimits & { maxHelloBytes: number }) {
    this.#reader = new CpReader(limits, 'CP');
  }

  /** The provider's id as it writes it; '' where it can say none any more, which is its UNS's to refuse. */
  get id(): string | undefined {
    return this.#id ?? (this.#isStrange ? '' : undefined);
  }

  /** True once the end of a set may have been among what it said; wrong only where there was none. */
  get mayHaveEnded(): boolean {
    return this.#ends.hasSet || this.#isSetEmpty;
  }

  hear(chunk: Buffer): void {
    this.#ends.hear(chunk);
    if (this.#isRead) return;
    for (const event of this.#reader.read(chunk)) {
      if (event.kind === 'init') this.#id = event.id;
      else this.#isRead = true;
      if (event.kind === 'problem') this.#isStrange = true;
      if (event.kind === 'setEnd') this.#isSetEmpty = true;
    }
  }

  /** The CP says no more. */
  end(): void {
    this.#isStrange = true;
  }
}

/** End tags of sets, found by their bytes, however these are cut: `</set`, `</lococa:set`. */
class EndTags {
  hasSet = false;
  #isAfterLess = false;
  /** The last three bytes of the name that is being heard; undefined: it is none of an end tag. */
  #name: number | undefined;

  hear(chunk: Buffer): void {
    if (this.hasSet || chunk.length === 0) return;
    let at = 0;
    if (this.#isAfterLess && chunk[0] === SLASH) [this.#name, at] = [0, 1];
    while (!this.hasSet) {
      if (this.#name === undefined) {
        const found = chunk.indexOf('</', at);
        if (found < 0) break;
        [this.#name, at] = [0, found + 2];
      }
      const byte = chunk[at++];
      if (byte === undefined) break;
      this.#name = byte <= SPACE || byte === GREATER ? undefined : ((this.#name << 8) | byte) & 0xff_ff_ff;
      if (this.#name === SET) this.hasSet = true;
    }
    this.#isAfterLess = chunk.at(-1) === LESS;
  }
}
