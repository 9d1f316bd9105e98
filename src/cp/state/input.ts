/**
 * The urls of a whole site, as canonical lines. Lines that look canonical are taken as they are; at the first that does
 * not, the XML reader takes over for the rest of the input.
 */
import { LccError } from '../../lib/errors.js';
import type { XmlLimits } from '../../lib/xml/types.js';
import { UrlStreamReader } from '../../wire/url-stream.js';
import { STREAM_END } from '../../wire/url-stream.js';
import { formatUrl, isDelete, type UrlRecord } from '../../wire/url.js';
import { isPlainLine } from './lines.js';

export interface SiteInputEvents {
  /** A canonical line, without its newline, as latin1. */
  line(line: string): void;
  /** A record that cannot be kept because it has no key. */
  rejected(what: string): void;
}

const END = STREAM_END.trimEnd();
const HEAD = /^<\?lcc (?!end\?>)[^?<>]*\?>$/;

export class SiteInput {
  readonly #events: SiteInputEvents;
  readonly #isKnown: (line: string) => boolean;
  readonly #limits: XmlLimits;
  readonly #where: string;
  #carry = '';
  #lines = 0;
  #head = '';
  #sawEnd = false;
  #strict: UrlStreamReader | undefined;

  /** @param isKnown tells of a line that was seen before and is canonical, cheaper than its looks do */
  constructor(
    events: SiteInputEvents,
    isKnown: (line: string) => boolean,
    limits: XmlLimits,
    where = 'standard input',
  ) {
    this.#events = events;
    this.#isKnown = isKnown;
    this.#limits = limits;
    this.#where = where;
  }

  /** @throws XmlError with line and column */
  write(chunk: Buffer): void {
    if (this.#strict !== undefined) return this.#strict.write(chunk);
    const lines = (this.#carry + chunk.toString('latin1')).split('\n');
    this.#carry = lines.pop() ?? '';
    for (let i = 0; i < lines.length; i++) {
      const line = lines[i]!;
      if (!this.#sawEnd && (this.#isKnown(line) || isPlainLine(line))) this.#events.line(line);
      else if (!this.#sawEnd && line === END && this.#head !== '') this.#sawEnd = true;
      else if (this.#lines === 0 && HEAD.test(line)) this.#head = line;
      else if (line !== '') return this.#handOver([...lines.slice(i), this.#carry].join('\n'));
      this.#lines += 1;
    }
    if (this.#carry.length > this.#limits.maxTokenBytes) this.#handOver(this.#carry);
  }

  /** @throws LccError `data.cut` when the stream lacks the end its head promised, or breaks off inside an element */
  end(): void {
    if (this.#strict === undefined && this.#carry !== '') this.#handOver(this.#carry);
    if (this.#strict !== undefined) this.#strict.end();
    else if (this.#head !== '' && !this.#sawEnd) this.#startStrict().end();
  }

  #handOver(rest: string): void {
    this.#carry = '';
    this.#strict = this.#startStrict();
    this.#strict.write(Buffer.from(rest, 'latin1'));
  }

  /** The XML reader, told what was read so far in as many lines, so that it counts on from there. */
  #startStrict(): UrlStreamReader {
    const reader = new UrlStreamReader({ url: record => this.#record(record) }, this.#limits, {
      where: this.#where,
    });
    const blank = '\n'.repeat(Math.max(0, this.#lines - (this.#head === '' ? 0 : 1)));
    const head = this.#head === '' ? '' : `${this.#head}\n`;
    reader.write(Buffer.from(`${head}${this.#sawEnd ? END : ''}${blank}`, 'latin1'));
    return reader;
  }

  #record(record: UrlRecord): void {
    if (record.curl === '' || record.mimetype === '') {
      const missing = record.curl === '' ? 'curl' : 'mimetype';
      return this.#events.rejected(`${formatUrl(record).trimEnd()} has no ${missing}`);
    }
    // What is to be removed is not part of the site.
    if (isDelete(record)) return;
    const { text: _, ...attributes } = record;
    this.#events.line(latin1Of(formatUrl(attributes).trimEnd()));
  }
}

/** The UTF-8 bytes of a text, one character a byte. */
function latin1Of(text: string): string {
  return /^[\x00-\x7f]*$/.test(text) ? text : Buffer.from(text).toString('latin1');
}

/** @throws LccError for an input without a single url, unless that is permitted */
export function refuseEmpty(urls: number): void {
  if (urls === 0)
    throw new LccError(
      'data.refused',
      'no url in the input; an empty site would delete everything (--allow-empty permits it)',
    );
}
