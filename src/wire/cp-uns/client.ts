/**
 * CP ↔ UNS, the CP's side: what is sent as text, and the replies read as events. In order:
 *
 *     start ─<init_accepted>…─▶ open ─<set_result>…─▶ done        start ─<init_rejected>─▶ done
 *
 * Replies carry no namespace declaration. Unknown attributes and elements inside a reply are passed over, so
 * that a later UNS may say more; anything else that is not as agreed is a breach of protocol.
 */
import { formatAttributes } from '../../lib/xml/escape.js';
import { XmlReader } from '../../lib/xml/reader.js';
import type { Attributes, XmlLimits } from '../../lib/xml/types.js';
import { optionalInteger, requiredInteger } from '../fields.js';
import { localName, NAMESPACE, PREFIX } from '../xml-prefix.js';
import { violation } from '../problem.js';
import { isUrlTag, UrlAssembler } from '../url-read.js';
import type { UrlRecord } from '../url.js';
import { TRUTH_FIELDS, type SetKind } from './names.js';

// Messages that are sent

export function initMessage(pid: string, password: string): string {
  const provider = formatAttributes({ id: pid, passwd: password });
  return `<${PREFIX}init xmlns:lococa="${NAMESPACE}"><provider${provider}/></${PREFIX}init>\n`;
}

/** The same of a daemon in front. @param address of the client that it asks for */
export function doorMessage(door: string, pid: string, password: string, address: string): string {
  const provider = formatAttributes({ id: pid, passwd: password, door, for: address });
  return `<${PREFIX}init xmlns:lococa="${NAMESPACE}"><provider${provider}/></${PREFIX}init>\n`;
}

/** Urls follow, and `SET_END`, which alone makes the set count. */
export function setStart(set: SetKind, urlprefix: string): string {
  const prefix = urlprefix === '' ? undefined : urlprefix;
  return `<${PREFIX}set xmlns:lococa="${NAMESPACE}"${formatAttributes({ set, urlprefix: prefix })}>\n`;
}

export const SET_END = `</${PREFIX}set>\n`;

// Messages that are answered

/** A UNS's report about a provider. Amounts are undefined where it does not say: there is no limit then. */
export interface ProviderReport {
  seq: number;
  /** Numbers of connections with the same one can be compared. */
  numbering: string | undefined;
  /** Where the last connection came from; '' at the first. */
  lastIp: string;
  /** The UNS says that it never accepted a set of the provider. */
  isNew: boolean;
  mimes: string[];
  files: Amount;
  /** Bytes. */
  space: Amount;
  fullset: { allowed: number | undefined; wanted: boolean; reason: string | undefined };
  /** Errors of earlier fetches there are; those shown may be fewer. */
  errors: number;
  /** Urls still waiting to be fetched. */
  processing: number;
  /** Worth of its announcements, by the names of `TRUTH_FIELDS`; undefined: it is not said. */
  truth?: Readonly<Record<string, number>>;
}
export interface Amount {
  used: number | undefined;
  free: number | undefined;
}

export type UnsEvent =
  /** A url in error, of an earlier fetch or of this set: `code` and `text` are set. */
  | { kind: 'error'; record: UrlRecord }
  | { kind: 'initAccepted'; status: ProviderReport }
  | { kind: 'rejected'; what: 'init' | 'set'; code: number; text: string }
  | { kind: 'setAccepted'; received: number };

/** Mimetypes one UNS may list. */
const MAX_MIMES = 10_000;
const MAX_REASON_LENGTH = 4096;

export class UnsReader {
  readonly #reader: XmlReader;
  readonly #emit: (event: UnsEvent) => void;
  readonly #isSpiderDoor: boolean;
  readonly #assembler = new UrlAssembler();
  /** Local names of the open elements. */
  readonly #path: string[] = [];
  readonly #status = emptyStatus();
  #text = '';
  #code = 0;
  #received: number | undefined;
  #verdict: UnsEvent | undefined;
  #phase: 'start' | 'open' | 'done' = 'start';

  /**
   * @param where names the UNS in messages
   * @param door `spider`: nobody logs in, and results follow each other, one for each set
   */
  constructor(emit: (event: UnsEvent) => void, limits: XmlLimits, where: string, door?: 'spider') {
    this.#emit = emit;
    this.#isSpiderDoor = door === 'spider';
    this.#reader = new XmlReader(
      {
        open: (name, attributes, empty, raw) => this.#open(name, attributes, empty, raw),
        close: name => this.#close(name),
        text: text => this.#onText(text),
      },
      limits,
      { where },
    );
  }

  /**
   * @throws LccError `peer.protocol` for what was not agreed, `data.malformed` or `limit` from the XML reader
   */
  write(chunk: Uint8Array): void {
    this.#reader.write(chunk);
  }

  #open(name: string, attributes: Attributes, empty: boolean, raw: string): void {
    if (this.#assembler.isOpen) throw violation(`<${name}> inside <url>`);
    const local = localName(name);
    if (isUrlTag(name) && this.#path.at(-1) === 'errors') {
      this.#assembler.open(attributes, raw);
      if (empty) this.#emit({ kind: 'error', record: this.#assembler.close(name).record });
      return;
    }
    if (this.#path.length === 0) this.#begin(local);
    this.#path.push(local);
    this.#text = '';
    this.#element(attributes);
    if (empty) this.#close(name);
  }

  #begin(local: string): void {
    if (this.#isSpiderDoor) {
      this.#phase = 'open';
      this.#received = undefined;
    }
    const expected =
      this.#phase === 'start'
        ? local === 'init_accepted' || local === 'init_rejected'
        : this.#phase === 'open' &&
          (local === 'set_result' || (this.#isSpiderDoor && local === 'init_rejected'));
    if (!expected) throw violation(`<${local}> is not expected here`);
  }

  /** The attributes of the element just opened. */
  #element(attributes: Attributes): void {
    const status = this.#status;
    switch (this.#path.join('/')) {
      case 'init_accepted/connect_info':
        status.seq = requiredInteger('connect_info', attributes, 'seq');
        status.numbering = attributes['numbering'];
        status.lastIp = attributes['lastConnectIP'] ?? '';
        status.isNew = attributes['sets'] === '0';
        return;
      case 'init_accepted/quota/files':
        status.files = amountOf('files', attributes);
        return;
      case 'init_accepted/quota/space':
        status.space = amountOf('space', attributes);
        return;
      case 'init_accepted/quota/fullset':
        status.fullset = {
          allowed: optionalInteger('fullset', attributes, 'allowed'),
          wanted: attributes['wanted'] === 'yes',
          reason: attributes['reason'],
        };
        return;
      case 'init_accepted/processing_status':
        status.errors = optionalInteger('processing_status', attributes, 'errors') ?? 0;
        status.processing = optionalInteger('processing_status', attributes, 'processing') ?? 0;
        return;
      case 'init_accepted/truth':
        status.truth = Object.fromEntries(
          TRUTH_FIELDS.map(name => [name, optionalInteger('truth', attributes, name) ?? 0]),
        );
        return;
      case 'init_rejected/reason':
        this.#code = requiredInteger('reason', attributes, 'code');
        return;
      case 'set_result/set_accepted':
        this.#received = requiredInteger('set_accepted', attributes, 'received');
        return;
      case 'set_result/set_rejected':
        this.#code = requiredInteger('set_rejected', attributes, 'code');
        return;
      default:
    }
  }

  #close(name: string): void {
    if (this.#assembler.isOpen) {
      this.#emit({ kind: 'error', record: this.#assembler.close(name).record });
      return;
    }
    const path = this.#path.join('/');
    this.#path.pop();
    switch (path) {
      case 'init_accepted/mime':
        if (this.#status.mimes.length >= MAX_MIMES) throw violation(`more than ${MAX_MIMES} <mime>`);
        this.#status.mimes.push(this.#text.trim());
        return;
      case 'init_accepted':
        this.#phase = 'open';
        this.#emit({ kind: 'initAccepted', status: this.#status });
        return;
      case 'init_rejected/reason':
        this.#verdict = { kind: 'rejected', what: 'init', code: this.#code, text: this.#text.trim() };
        return;
      case 'set_result/set_rejected':
        // Told at once: what is still being sent is for nothing.
        this.#end({ kind: 'rejected', what: 'set', code: this.#code, text: this.#text.trim() });
        return;
      case 'init_rejected':
        if (this.#verdict === undefined) throw violation('<init_rejected> without <reason>');
        this.#end(this.#verdict);
        return;
      case 'set_result':
        if (this.#phase === 'done') return;
        if (this.#received === undefined)
          throw violation('<set_result> with neither acceptance nor rejection');
        this.#end({ kind: 'setAccepted', received: this.#received });
        return;
      default:
    }
  }

  #end(event: UnsEvent): void {
    this.#phase = 'done';
    this.#emit(event);
  }

  #onText(text: string): void {
    if (this.#assembler.isOpen) this.#assembler.text(text);
    else if (this.#text.length < MAX_REASON_LENGTH) this.#text += text;
  }
}

function emptyStatus(): ProviderReport {
  const amount: Amount = { used: undefined, free: undefined };
  const fullset = { allowed: undefined, wanted: false, reason: undefined };
  return {
    seq: 0,
    numbering: undefined,
    lastIp: '',
    isNew: false,
    mimes: [],
    files: amount,
    space: amount,
    fullset,
    errors: 0,
    processing: 0,
  };
}

function amountOf(element: string, attributes: Attributes): Amount {
  return {
    used: optionalInteger(element, attributes, 'used'),
    free: optionalInteger(element, attributes, 'free'),
  };
}
