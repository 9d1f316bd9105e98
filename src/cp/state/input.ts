/** The urls of a whole site, as canonical lines. Lines that look canonical are taken as they are; at the
 * first that does not, the XML reader takes over for the rest of the input. */
import { LccError } from '../../lib/errors.js';
import type { XmlLimits } from '../../lib/xml/types.js';
import type { Coverage } from '../../wire/coverage.js';
import { PARTIAL_END, STREAM_END, UrlStreamReader } from '../../wire/url-stream.js';
import { formatUrl, isDelete, type UrlRecord } from '../../wire/url.js';
import { isPlainLine } from './lines.js';
import type { Seen } from './seen.js';

interface SiteInputEvents {
  /** A canonical line that was not recognised, without its newline, as latin1. */
  line(line: string): void;
  /** A record that cannot be kept because it has no key. */
  rejected(what: string): void;
}

const EMPTY = Buffer.alloc(0);
const NEWLINE = 0x0a;
const ENDS: readonly string[] = [STREAM_END.trimEnd(), PARTIAL_END.trimEnd()];
const HEAD = /^<\?lcc (?!end[\s?])[^?<>]*\?>$/;
/** A beginning that says that the stream names a part of the site only. */
const PARTIAL_HEAD = / set=(?:"partial"|'partial')/;

export class SiteInput {
  readonly #events: SiteInputEvents;
  readonly #seen: Seen;
  readonly #limits: XmlLimits;
  /** The beginning of a line whose end has not come. */
  #carry: Buffer = EMPTY;
  #lines = 0;
  #head = '';
  /** The last line of the stream, once it has come. */
  #end = '';
  #strict: UrlStreamReader | undefined;
  #startsPartial = false;

  get #sawEnd(): boolean {
    return this.#end !== '';
  }

  /**
   * @param seen recognises lines that were canonical last time, cheaper than by their looks, and counts them
   */
  constructor(events: SiteInputEvents, seen: Seen, limits: XmlLimits) {
    this.#events = events;
    this.#seen = seen;
    this.#limits = limits;
  }

  /** @param chunk may be overwritten afterwards @throws XmlError with line and column */
  write(chunk: Buffer): void {
    if (this.#strict !== undefined) return this.#strict.write(chunk);
    const bytes = this.#carry.length === 0 ? chunk : Buffer.concat([this.#carry, chunk]);
    for (let at = 0; ;) {
      if (!this.#sawEnd) at = this.#takeSeen(bytes, at);
      const end = bytes.indexOf(NEWLINE, at);
      if (end < 0) {
        this.#carry = at === bytes.length ? EMPTY : Buffer.from(bytes.subarray(at));
        break;
      }
      if (!this.#line(bytes.toString('latin1', at, end))) return this.#handOver(bytes.subarray(at));
      this.#lines += 1;
      at = end + 1;
    }
    if (this.#carry.length > this.#limits.maxTokenBytes) this.#handOver(this.#carry);
  }

  #takeSeen(bytes: Buffer, from: number): number {
    const before = this.#seen.taken;
    const at = this.#seen.take(bytes, from);
    this.#lines += this.#seen.taken - before;
    return at;
  }

  /** True if a line is one of those that need no XML reader. */
  #line(line: string): boolean {
    if (!this.#sawEnd && isPlainLine(line)) this.#events.line(line);
    else if (!this.#sawEnd && this.#head !== '' && ENDS.includes(line)) this.#end = line;
    else if (this.#lines === 0 && HEAD.test(line)) this.#head = line;
    else return line === '';
    return true;
  }

  /**
   * @throws LccError `data.cut` when the stream lacks the end its head promised, or breaks off inside an
   * element
   */
  end(): void {
    if (this.#strict === undefined && this.#carry.length > 0) this.#handOver(this.#carry);
    if (this.#strict !== undefined) this.#strict.end();
    else if (this.#head !== '' && !this.#sawEnd) this.#startStrict().end();
  }

  /** True if nothing was read. */
  get isBlank(): boolean {
    return this.#lines === 0 && this.#head === '' && this.#strict === undefined;
  }

  /** How much of the site the stream names: one that begins as a part never names all; known once `end` is
   * done. */
  get coverage(): Coverage {
    const endsPartial = this.#strict?.endsPartial ?? `${this.#end}\n` === PARTIAL_END;
    if (this.#startsPartial || PARTIAL_HEAD.test(this.#head)) return 'window';
    return endsPartial ? 'part' : 'all';
  }

  #handOver(rest: Buffer): void {
    this.#carry = EMPTY;
    this.#strict = this.#startStrict();
    this.#strict.write(rest);
  }

  /** The XML reader, told what was read so far in as many lines, so that it counts on from there. */
  #startStrict(): UrlStreamReader {
    const reader = new UrlStreamReader(
      {
        url: record => this.#record(record),
        head: ({ set }) => (this.#startsPartial = set === 'partial'),
      },
      this.#limits,
      { where: 'standard input' },
    );
    const blank = '\n'.repeat(Math.max(0, this.#lines - (this.#head === '' ? 0 : 1)));
    const head = this.#head === '' ? '' : `${this.#head}\n`;
    reader.write(Buffer.from(`${head}${this.#end}${blank}`, 'latin1'));
    return reader;
  }

  #record(record: UrlRecord): void {
    if (record.curl === '' || record.mimetype === '') {
      const missing = record.curl === '' ? 'curl' : 'mimetype';
      return this.#events.rejected(`${formatUrl(record).trimEnd()} has no ${missing}`);
    }
    // A url that will be removed is not part of the site.
    if (isDelete(record)) return;
    const { text: _, ...attributes } = record;
    const line = Buffer.from(`${formatUrl(attributes).trimEnd()}\n`);
    if (this.#seen.take(line, 0) === 0) this.#events.line(line.toString('latin1', 0, line.length - 1));
  }
}

/** @throws LccError for an input without a single url, unless that is permitted */
export function refuseEmptySite(urls: number, isBlank: boolean): void {
  if (urls === 0)
    throw new LccError(
      'data.refused',
      `no url in the input${isBlank ? ', without even <?lcc?>: was its writer killed?' : ''}; an empty site would delete everything (--allow-empty permits it)`,
    );
}
