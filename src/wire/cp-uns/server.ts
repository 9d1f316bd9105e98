/**
 * CP ↔ UNS, the UNS's side: bytes of a CP in, events out; replies as text. The order of what each side may
 * say:
 *
 *     start ─<init>─▶ <provider/> ─</init>─▶ between ─<set>─▶ <url/>… ─</set>─▶ done
 *     start ─<notify>─▶ <init> … </init> <set> … </set> ─</notify>─▶ done  (one document, the client of 2002)
 *     start ─<set>─▶ <url/>… ─</set>─▶ start                               (the spider door)
 *
 * Nothing after `done` is looked at. Prefixes are not needed, unknown attributes are ignored, unknown
 * elements are not.
 */
import { limitText } from '../../config/settings/index.js';
import { LccError } from '../../lib/errors.js';
import { escapeText, formatAttributes } from '../../lib/xml/escape.js';
import { XmlReader } from '../../lib/xml/reader.js';
import type { Attributes, XmlLimits } from '../../lib/xml/types.js';
import { DeclaredPrefixes, localName, NAMESPACE } from '../xml-prefix.js';
import { problemOf, STRAY_TEXT, violation, type Problem } from '../problem.js';
import { formatUrl, type UrlRecord } from '../url.js';
import { recordOf } from '../url-read.js';
import { requiredInteger } from '../fields.js';
import { readOrigin, type SetOrigin } from '../origin.js';
import { setKindOf, type SetKind, type TRUTH_FIELDS } from './names.js';

/** A url as the CP sent it. */
export interface SentUrl {
  record: UrlRecord;
  /** The text of its tag, unchanged, except that it is always an empty tag (`<url …/>`). */
  raw: string;
}

/** A daemon in front that asks for a provider, and the address of the client that it asks for. */
interface FrontDoor {
  door: string;
  for: string;
}

/** At the spider door: whose a set is that its owner did not send, and what it is of. */
interface UnaskedSet {
  pid: number;
  origin: SetOrigin;
}

export type CpEvent =
  | { kind: 'init'; id: string; password: string; front?: FrontDoor }
  | { kind: 'set'; set: SetKind; urlprefix: string; unasked?: UnaskedSet }
  | { kind: 'urls'; urls: SentUrl[] }
  | { kind: 'setEnd' }
  | Problem;

type Place = 'top' | 'notify' | 'init' | 'provider' | 'set' | 'url';

export class CpReader {
  readonly #where: string;
  readonly #reader: XmlReader;
  readonly #maxHelloBytes: number;
  readonly #isSpiderDoor: boolean;
  readonly #prefixes = new DeclaredPrefixes();
  #places: Place[] = ['top'];
  #events: CpEvent[] = [];
  #urls: SentUrl[] = [];
  #credentials: { id: string; password: string; front?: FrontDoor } | undefined;
  #initDone = false;
  #setDone = false;
  #done = false;

  /**
   * @param limits.maxHelloBytes bytes up to the end of an init, and again up to a set
   * @param door `spider`: sets follow each other, and nobody logs in
   */
  constructor(limits: XmlLimits & { maxHelloBytes: number }, where: string, door?: 'spider') {
    this.#isSpiderDoor = door === 'spider';
    this.#where = where;
    this.#maxHelloBytes = limits.maxHelloBytes;
    this.#reader = new XmlReader(
      {
        open: (name, attributes, empty, raw) => this.#open(name, attributes, empty, raw),
        close: () => this.#close(),
        text: text => this.#text(text),
      },
      limits,
      { where },
    );
    this.#boundHello();
  }

  /** Events of the next bytes, in order. A `problem` is the last event there will be. */
  read(chunk: Uint8Array): CpEvent[] {
    return this.#collect(() => this.#reader.write(chunk));
  }

  /** Nothing more comes: a `problem` when something was begun and not finished. */
  end(): CpEvent[] {
    return this.#collect(() => this.#reader.end());
  }

  #collect(action: () => void): CpEvent[] {
    if (this.#done) return [];
    try {
      action();
      this.#flush();
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      this.#flush();
      // Bytes after the last word are ignored.
      if (!this.#done) this.#push(problemOf(error, this.#where, this.#reader.position));
      this.#done = true;
    }
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #open(name: string, attributes: Attributes, empty: boolean, raw: string): void {
    if (this.#done) return;
    const place = this.#places.at(-1) ?? 'top';
    if (place === 'set' && (name === 'url' || this.#prefixes.localName(name, attributes) === 'url')) {
      let tag = empty ? raw : `${raw.slice(0, -1)}/>`;
      // Passed on alone, without the element that declares its prefix.
      if (localName(name) !== 'url') tag = `<url${tag.slice(1 + name.length)}`;
      this.#urls.push({ record: recordOf(attributes), raw: tag });
      if (!empty) this.#places.push('url');
      return;
    }
    this.#places.push(this.#begin(place, this.#prefixes.begin(name, attributes), attributes));
    if (empty) this.#close();
  }

  #boundHello(): void {
    this.#reader.allow(this.#maxHelloBytes, limitText('wire.max_hello_bytes', this.#maxHelloBytes));
  }

  #begin(place: Place, name: string, attributes: Attributes): Place {
    if (this.#isSpiderDoor && place === 'top' && name === 'set') return this.#beginUnasked(attributes);
    const outside = !this.#isSpiderDoor && (place === 'top' || place === 'notify');
    if (outside && name === 'init' && !this.#initDone) return 'init';
    if (outside && name === 'set' && this.#initDone && !this.#setDone) return this.#beginSet(attributes);
    if (outside && place === 'top' && name === 'notify' && !this.#initDone) return 'notify';
    if (place === 'init' && name === 'provider' && this.#credentials === undefined) {
      this.#credentials = {
        id: attributes['id'] ?? '',
        password: attributes['passwd'] ?? attributes['password'] ?? '',
        ...(attributes['door'] !== undefined && {
          front: { door: attributes['door'], for: attributes['for'] ?? '' },
        }),
      };
      return 'provider';
    }
    throw violation(
      `<${name}> ${place === 'top' ? 'is not expected here' : `inside <${place}>`}${hintFor(name)}`,
    );
  }

  #beginSet(attributes: Attributes): Place {
    const set = setKindOf(attributes['set']);
    if (set === undefined) throw violation('<set>: give set="full" or set="partial"');
    if (attributes['origin'] !== undefined)
      throw violation(
        '<set>: origin is for the spider door (lccd-uns(8)); here a provider announces for itself',
      );
    this.#reader.allow(Infinity);
    this.#push({ kind: 'set', set, urlprefix: attributes['urlprefix'] ?? '' });
    return 'set';
  }

  #beginUnasked(attributes: Attributes): Place {
    const origin = readOrigin(attributes);
    if (origin === undefined) throw violation('<set>: give origin="push", "links", "scan" or "audit"');
    if (setKindOf(attributes['set']) !== 'partial') throw violation('<set>: give set="partial"');
    const pid = requiredInteger('set', attributes, 'pid');
    this.#reader.allow(Infinity);
    const unasked = { pid, origin };
    this.#push({ kind: 'set', set: 'partial', urlprefix: attributes['urlprefix'] ?? '', unasked });
    return 'set';
  }

  #close(): void {
    if (this.#done) return;
    const closed = this.#places.pop();
    if (closed !== 'url') this.#prefixes.end();
    if (closed === 'init') {
      if (this.#credentials === undefined) throw violation('<init> without <provider/>');
      this.#initDone = true;
      this.#boundHello();
      this.#push({ kind: 'init', ...this.#credentials });
    } else if (closed === 'set') {
      this.#flush();
      if (this.#isSpiderDoor) {
        this.#boundHello();
        return this.#push({ kind: 'setEnd' });
      }
      this.#setDone = true;
      if (this.#places.at(-1) === 'top') this.#finish();
    } else if (closed === 'notify') {
      if (!this.#setDone) throw violation('<notify> without <init> and <set>');
      this.#finish();
    }
  }

  #finish(): void {
    this.#push({ kind: 'setEnd' });
    this.#done = true;
  }

  #text(text: string): void {
    const place = this.#places.at(-1);
    if (this.#done || place === 'url' || !STRAY_TEXT.test(text)) return;
    throw violation(`text inside <${place}>: "${text.trim().slice(0, 40)}"`);
  }

  #push(event: CpEvent): void {
    this.#events.push(event);
  }

  #flush(): void {
    if (this.#urls.length === 0) return;
    this.#push({ kind: 'urls', urls: this.#urls });
    this.#urls = [];
  }
}

/** For names with a prefix that says nothing. */
function hintFor(name: string): string {
  const [prefix] = name.split(':', 1);
  return prefix === name ? '' : `; declare the prefix with xmlns:${prefix}="${NAMESPACE}"`;
}

// Replies

/** How truthful a provider's announcements are; counts are of days, the older the less they count, and whole
 * here. */
export type Truthfulness = Record<(typeof TRUTH_FIELDS)[number], number>;

export interface InitAccepted {
  seq: number;
  /** Numbers with the same one can be compared; undefined: it is not said. */
  numbering?: string | undefined;
  /** No set of the provider was ever accepted: what it has sent to another LCC, or before it was added again,
   * is not here. */
  isNew: boolean;
  lastIp: string;
  mimes: readonly string[];
  files: { used: number; free: number };
  /** Bytes. */
  space: { used: number; free: number };
  fullset: { allowed: number; wanted: string | undefined };
  /** How many there are; `shown` may be fewer. */
  errors: number;
  processing: number;
  /** Worth of its announcements; undefined: nothing is known. */
  truth?: Truthfulness | undefined;
  /** `attrs` as printed: ` curl="…" mimetype="…"`. */
  shown: readonly { code: number; text: string; attrs: string }[];
}

export function initAccepted(status: InitAccepted): string {
  const { files, space, fullset } = status;
  const sets = status.isNew ? 0 : undefined;
  const wanted = { wanted: fullset.wanted === undefined ? 'no' : 'yes', reason: fullset.wanted };
  return [
    '<lococa:init_accepted>',
    `<connect_info${formatAttributes({ seq: status.seq, lastConnectIP: status.lastIp, sets, numbering: status.numbering })}/>`,
    ...status.mimes.map(mime => `<mime>${escapeText(mime)}</mime>`),
    '<quota>',
    `<files${formatAttributes(files)}/>`,
    `<space${formatAttributes(space)}/>`,
    `<fullset${formatAttributes({ allowed: fullset.allowed, ...wanted })}/>`,
    '</quota>',
    `<processing_status${formatAttributes({ errors: status.errors, processing: status.processing })}>`,
    '<errors>',
    ...status.shown.map(({ code, text, attrs }) => `<url code="${code}"${attrs}>${escapeText(text)}</url>`),
    '</errors>',
    '</processing_status>',
    ...(status.truth === undefined ? [] : [`<truth${formatAttributes(status.truth)}/>`]),
    '</lococa:init_accepted>\n',
  ].join('\n');
}

export function initRejected(code: number, reason: string): string {
  return `<lococa:init_rejected><reason code="${code}">${escapeText(reason)}</reason></lococa:init_rejected>\n`;
}

/** The beginning of the answer to a set, sent before the set has been read; errors and an end follow. */
export const SET_RESULT_START = '<lococa:set_result>\n<errors>\n';

export function urlError(record: UrlRecord, code: number, text: string): string {
  return formatUrl({ ...record, code: String(code), text });
}

export function setAccepted(received: number): string {
  return `</errors>\n<set_accepted received="${received}"/>\n</lococa:set_result>\n`;
}

/** @param begun whether SET_RESULT_START has been sent */
export function setRejected(code: number, reason: string, begun: boolean): string {
  const start = begun ? '</errors>\n' : '<lococa:set_result>\n';
  return `${start}<set_rejected code="${code}">${escapeText(reason)}</set_rejected>\n</lococa:set_result>\n`;
}
