/**
 * The pipe between filters: `<?lcc …?>`, one `<url …/>` a line, `<?lcc end?>`. A stream that names a part of
 * a site only says so: `set="partial"` at its beginning, or where that is known late, at its end. Read are
 * also streams without the two marks, urls with one root around them, and the one-shot dialect
 * (`<lococa:notify>` with init and set).
 */
import { LccError } from '../lib/errors.js';
import { formatAttributes } from '../lib/xml/escape.js';
import { XmlReader } from '../lib/xml/reader.js';
import { XmlError, type Attributes, type XmlLimits } from '../lib/xml/types.js';
import { localName } from './xml-prefix.js';
import { mayDelete, type Coverage } from './coverage.js';
import { FAILED, failureOf } from './stream-failure.js';
import { isUrlTag, recordOf, UrlAssembler } from './url-read.js';
import type { UrlRecord } from './url.js';

const TARGET = 'lcc';
const END = 'end';

/** The last line of a stream: a reader without it has not seen the whole. */
export const STREAM_END = `<?${TARGET} ${END}?>\n`;
/** The same of a stream that lacks urls of its site: what it does not name is not gone. */
export const PARTIAL_END = `<?${TARGET} ${END} set="partial"?>\n`;

/** The last line of a stream of such a list. */
export function streamEnd(coverage: Coverage): string {
  return mayDelete(coverage) ? STREAM_END : PARTIAL_END;
}

/** The first line of a stream, carrying what the next filter must know. */
export function streamHead(attributes: Record<string, string | number | undefined>): string {
  return `<?${TARGET}${formatAttributes(attributes)}?>\n`;
}

interface UrlStreamEvents {
  /** @param raw the element as it came, without what follows it */
  url(record: UrlRecord, raw: string): void;
  /** The attributes of `<?lcc …?>`. */
  head?(attributes: Attributes): void;
  /** The attributes of `<provider>` in a one-shot document. */
  init?(attributes: Attributes): void;
  /** The attributes of `<set>`, as a root or in a one-shot document. */
  set?(attributes: Attributes): void;
}

/** Places of an element. `top`: outside every element; `root`: in the first; `set`, `init`: in those of a
 * one-shot. */
type Place = 'top' | 'root' | 'set' | 'init' | 'provider';

export class UrlStreamReader {
  readonly #events: UrlStreamEvents;
  readonly #reader: XmlReader;
  readonly #limits: XmlLimits;
  readonly #where: string;
  readonly #assembler = new UrlAssembler();
  readonly #places: Place[] = ['top'];
  #sawHead = false;
  #sawEnd = false;
  #endsPartial = false;

  constructor(events: UrlStreamEvents, limits: XmlLimits, options: { where: string }) {
    this.#events = events;
    this.#limits = limits;
    this.#where = options.where;
    this.#reader = new XmlReader(
      {
        open: (name, attributes, empty, raw) => {
          if (isUrlTag(name)) this.#url(attributes, empty, raw);
          else this.#container(name, attributes, empty);
        },
        close: name => this.#close(name),
        text: text => this.#text(text),
        instruction: (target, body) => {
          if (target === TARGET) this.#mark(body.trim());
          if (target === FAILED) throw failureOf(body, this.#where);
        },
      },
      limits,
      options,
    );
  }

  /** True if the stream has told its end; one without a head never does. */
  get sawEnd(): boolean {
    return this.#sawEnd;
  }

  /** True if its end says that urls of the site are missing. */
  get endsPartial(): boolean {
    return this.#endsPartial;
  }

  /** @throws XmlError; from then on every call throws the same */
  write(chunk: Uint8Array): void {
    this.#reader.write(chunk);
  }

  /**
   * @throws LccError `data.cut` when the input ends inside an element, or without the end its head promised
   */
  end(): void {
    this.#reader.end();
    if (this.#sawHead && !this.#sawEnd) {
      throw new LccError(
        'data.cut',
        `${this.#where}: the stream was cut: <?${TARGET} ${END}?> is missing; look at the command that writes it`,
      );
    }
  }

  #url(attributes: Attributes, empty: boolean, raw: string): void {
    const place = this.#places.at(-1);
    if (this.#assembler.isOpen || place === 'init' || place === 'provider')
      this.#refuse('<url> is not accepted here');
    if (this.#sawEnd) this.#refuse(`<url> after <?${TARGET} ${END}?>; were two streams joined?`);
    if (empty) this.#events.url(recordOf(attributes), raw);
    else this.#assembler.open(attributes, raw);
  }

  #container(name: string, attributes: Attributes, empty: boolean): void {
    const place = this.#assembler.isOpen ? undefined : placeOf(localName(name), this.#places.at(-1));
    if (place === undefined) return this.#refuse(`<${name}> is not accepted here`);
    if (place === 'set') this.#events.set?.(attributes);
    if (place === 'provider') this.#events.init?.(attributes);
    if (!empty) this.#places.push(place);
  }

  #close(name: string): void {
    if (this.#assembler.isOpen) {
      const { record, raw } = this.#assembler.close(name);
      this.#events.url(record, raw);
    } else {
      this.#places.pop();
    }
  }

  #text(text: string): void {
    if (this.#assembler.isOpen) this.#assembler.text(text);
    else if (text.trim() !== '') this.#refuse('text between urls');
  }

  #mark(body: string): void {
    const isEnd = /^end(?:\s|$)/.test(body);
    if (isEnd ? this.#sawEnd : this.#sawHead) {
      this.#refuse(`a second <?${TARGET} ${isEnd ? END : '…'}?>; were two streams joined?`);
    }
    if (isEnd) {
      if (!this.#sawHead) this.#refuse(`<?${TARGET} ${END}?> without a beginning; is the stream whole?`);
      this.#sawEnd = true;
      this.#endsPartial = this.#pseudoAttributes(body.slice(END.length))['set'] === 'partial';
      return;
    }
    this.#sawHead = true;
    const attributes = this.#pseudoAttributes(body);
    this.#events.head?.(attributes);
  }

  /** The instruction's body is read as the attributes of an element. */
  #pseudoAttributes(body: string): Attributes {
    const found: Attributes[] = [];
    const open = (_name: string, attributes: Attributes, empty: boolean): void => {
      if (empty) found.push(attributes);
    };
    try {
      const reader = new XmlReader({ open, close: () => {} }, this.#limits, { where: this.#where });
      reader.write(Buffer.from(`<${TARGET} ${body}/>`));
      reader.end();
    } catch {
      found.length = 0;
    }
    const [attributes] = found;
    if (attributes === undefined || found.length > 1) return this.#refuse(`malformed <?${TARGET} …?>`);
    return attributes;
  }

  #refuse(what: string): never {
    const { line, column } = this.#reader.position;
    throw new XmlError('data.malformed', this.#where, line, column, what);
  }
}

/** The place inside an element of this local name that stands at `outer`, or undefined where it may not. */
function placeOf(local: string, outer: Place | undefined): Place | undefined {
  switch (outer) {
    case 'top':
      return local === 'set' ? 'set' : 'root';
    case 'root':
      return local === 'set' || local === 'init' ? local : undefined;
    case 'init':
      return local === 'provider' ? 'provider' : undefined;
    case 'set':
    case 'provider':
    case undefined:
      return undefined;
  }
}
