/** Entries of one document, checked and counted as they are found. */
import { amount } from '../config/words.js';
import { LccError } from '../lib/errors.js';
import type { Coverage } from '../wire/coverage.js';
import type { Entry } from './entry-lines.js';
import type { Found, LocationFacts } from './found.js';
import { lastmodOf } from './lastmod.js';
import type { SourceLimits, SourceLimit } from './limits.js';
import { parseUrl, isHttp, targetOf } from '../fetch/target.js';

export interface DocumentReadingOptions {
  limits: SourceLimits;
  complain: (message: string) => void;
  /** All that is left out is named, not only the first of each document. */
  namesAll: boolean;
}

/** Left-out entries of a document that are named. */
const NAMED = 5;
/** By its protocol a sitemap is not to be larger; many are. */
const USUAL_ENTRIES = 50_000;
const USUAL_BYTES = 50 * 1024 * 1024;
/** Longest part of a left-out entry that is named. */
const SHOWN_LENGTH = 200;

interface DocumentReadingSinks {
  page(entry: Entry): void;
  /** A document that is listed; left out: `children` is enough. */
  child?(entry: Entry): void;
}

export class DocumentReading implements Found {
  readonly #name: string;
  readonly #sinks: DocumentReadingSinks;
  readonly #mayBeIndex: boolean;
  readonly #options: DocumentReadingOptions;
  /** Documents that it names; those beyond the limit of a run are not kept. */
  readonly children: string[] = [];
  /** Entries so far. */
  entries = 0;
  leftOut = 0;
  isWindow = false;
  /** Bytes so far, unpacked. */
  bytes = 0;
  /** Times that are none, and the first of them. */
  #badTimes = 0;
  #badTime = '';

  /** @param mayBeIndex else its indexes are too deep */
  constructor(
    name: string,
    sinks: DocumentReadingSinks,
    mayBeIndex: boolean,
    options: DocumentReadingOptions,
  ) {
    this.#name = name;
    this.#sinks = sinks;
    this.#mayBeIndex = mayBeIndex;
    this.#options = options;
  }

  location(text: string, { lastmod, mark, base }: LocationFacts): void {
    const page = pageUrl(text, this.#options.limits.urlBytes, base);
    if ('problem' in page) return this.leave(`${shown(text)} ${page.problem}`);
    this.#count();
    const written = lastmod === '' ? undefined : lastmod;
    const time = written === undefined ? undefined : lastmodOf(written);
    if (written !== undefined && time === undefined && this.#badTimes++ === 0) this.#badTime = written;
    this.#sinks.page({ curl: page.curl, lastmod: time, mark });
  }

  /** @param base by which a relative one is resolved; left out: it must be absolute */
  child(text: string, base?: string): void {
    const { depth, documents, urlBytes } = this.#options.limits;
    if (!this.#mayBeIndex)
      throw new LccError('limit', `indexes list indexes more than ${depth.text} deep; is this one meant?`);
    const list = pageUrl(text, urlBytes, base);
    if ('problem' in list) return this.leave(`${shown(text)} ${list.problem}`);
    if (list.curl === base) return this.leave(`${shown(text)} is this document itself`);
    this.#count();
    this.#sinks.child?.({ curl: list.curl, isList: true });
    if (this.children.length <= documents.most) this.children.push(list.curl);
  }

  leave(what: string): void {
    this.leftOut += 1;
    if (this.#options.namesAll || this.leftOut <= NAMED)
      this.#options.complain(`${this.#name}: ${what}; left out`);
  }

  /** The part of the document that was read, once it has been read to its end. */
  get coverage(): Coverage {
    return this.leftOut > 0 ? 'part' : this.isWindow ? 'window' : 'all';
  }

  /** Says what is worth saying of it as a whole. */
  conclude(): void {
    const { complain, namesAll } = this.#options;
    const rest = this.leftOut - NAMED;
    if (rest > 0 && !namesAll)
      complain(`${this.#name}: ${amount(rest, 'more entry', 'more entries')} left out; -v names each`);
    if (this.#badTimes > 0)
      complain(
        `${this.#name}: ${amount(this.#badTimes, 'time')} not understood, such as ${shown(this.#badTime)}: these say no change`,
      );
    const isLarge = this.entries > USUAL_ENTRIES || this.bytes > USUAL_BYTES;
    if (isLarge)
      complain(
        `${this.#name}: ${amount(this.entries, 'entry', 'entries')}, ${Math.ceil(this.bytes / 1024 / 1024)} MB: ` +
          'more than a sitemap is to have (50000, 50 MB); others may not read it',
      );
  }

  #count(): void {
    const { entries } = this.#options.limits;
    if (this.entries === entries.most) throw new LccError('limit', `it lists more than ${entries.text} urls`);
    this.entries += 1;
  }
}

function shown(text: string): string {
  const trimmed = text.trim();
  const short = trimmed.length > SHOWN_LENGTH ? `${trimmed.slice(0, SHOWN_LENGTH)}…` : trimmed;
  return short.replace(/[\u0000-\u001f\u007f]+/g, ' ');
}

const OUTER_CONTROLS = /^[\0-\x20]+|[\0-\x20]+$/g;

/**
 * A location in a list → the url that is announced, or why there is none.
 * @param text as it stands in the list; blanks around it do not count @param base that a relative one is
 * resolved by
 */
export function pageUrl(
  text: string,
  most: SourceLimit,
  base?: string,
): { curl: string } | { problem: string } {
  // As a parser of urls does it.
  const trimmed = text.trim().replace(OUTER_CONTROLS, '');
  if (trimmed === '') return { problem: 'is empty' };
  if (trimmed.includes('\ufffd')) return { problem: 'has bytes that are no characters' };
  const plain = base === undefined ? targetOf(trimmed) : undefined;
  const curl = plain?.href === trimmed && !/[@#]/.test(trimmed) ? trimmed : parsed(trimmed, base);
  if (typeof curl !== 'string') return curl;
  return curl.length > most.most ? { problem: `is longer than ${most.text}` } : { curl };
}

function parsed(text: string, base: string | undefined): string | { problem: string } {
  const url = parseUrl(text, base);
  if (url === undefined || !isHttp(url)) return { problem: 'is no http or https url' };
  if (url.username !== '' || url.password !== '') return { problem: 'has a login' };
  url.hash = '';
  return url.href;
}
