/**
 * UNS → QM: accepted sets travel to the queue, one after the other on each of a few connections that stay
 * open.
 *
 *     UNS  <lococa:uns id="uns.3f9a"/>                                     QM  <lococa:qm/>
 *     UNS  <lococa:set entry="…" pid="7" seq="18" set="full" …
 *              newest="19" numbering="3f" after="4711"> <url …/>… </lococa:set>
 *          QM  <lococa:absorbed entry="…" queued="…" duplicate="…" unchanged="…" deleted="…"/> durable
 *          QM  <lococa:refused entry="…" code="104">reason</lococa:refused>              permanent: set aside
 *     UNS  <lococa:session pid="7" seq="19" ip="192.0.2.7" errseen="812"/>
 *          QM  <lococa:noted pid="7" seq="19"/>
 *     UNS  <lococa:damaged entry="…" pid="7"/>                          QM  <lococa:noted pid="7" entry="…"/>
 *          QM  <lococa:busy/> and close: come back later
 *          QM  <lococa:error code="106">where: what</lococa:error> and close: too many connections, or a
 *              breach of this
 *
 * `id` names the UNS and the spool the entries lie in, so (id, entry) is never used for two sets; a
 * provider's entries ascend. The urls are the CP's own tags, checked but not rewritten. A set counts only
 * with its end tag.
 */
import { limitText } from '../config/settings/index.js';
import type { Conversation } from '../lib/conversation.js';
import { LccError } from '../lib/errors.js';
import type { FairShare } from '../lib/fair-share.js';
import { escapeText, formatAttributes } from '../lib/xml/escape.js';
import { XmlReader } from '../lib/xml/reader.js';
import type { Attributes, XmlLimits } from '../lib/xml/types.js';
import { optionalInteger, requiredInteger, requiredText, requiredWord } from './fields.js';
import { errorSaid, messageReader } from './message-reader.js';
import { originAttributes, readOrigin, type SetOrigin } from './origin.js';
import { localName } from './xml-prefix.js';
import type { UrlRecord } from './url.js';
import { recordOf } from './url-read.js';

/** Sets of more urls take long enough for others to notice, on either side: a tenth of a second of the Queue
 * Manager's time. */
export const LARGE_SET_URLS = 10_000;

/** A set, without its urls. */
export interface SetHead {
  /** The spool entry's id, at most 200 characters. */
  entry: string;
  pid: number;
  /** Sequence number of the connection it came over. */
  seq: number;
  set: 'full' | 'partial';
  /** Put in front of every URL without a scheme; '' = none. */
  urlprefix: string;
  /** Urls that follow. */
  received: number;
  /** The CP has received every error up to this pierr.errseq. */
  errseen: number;
  /** The CP's address, '' over Unix sockets. */
  ip: string;
  /** When it was accepted, seconds since 1970. */
  atS: number;
  /** When it was accepted: the provider's newest connection, and which UNSes number connections together; ''
   * = none. */
  newest: number;
  numbering: string;
  /** When it was accepted: the id of the provider's last set in the queue, 0 = none. */
  after: number;
  /** How many of its urls ask for removal; undefined: not counted. */
  deletes?: number;
  /** Digest of kind, urlprefix and urls: sets with the same one ask for the same. At most 64 characters. */
  digest?: string;
  /** Source of the set, where its owner did not announce it. */
  origin?: SetOrigin;
}

/** A session of a CP, and the errors that it has seen. */
export type SessionNote = Pick<SetHead, 'pid' | 'seq' | 'ip' | 'errseen'>;

/** An accepted set that can no longer be read: its provider must be asked for a full set. */
export interface DamageNote {
  entry: string;
  pid: number;
}

interface AbsorbCounts {
  queued: number;
  duplicate: number;
  unchanged: number;
  deleted: number;
}

export type QmAnswer =
  | { kind: 'qm' }
  | ({ kind: 'absorbed'; entry: string } & AbsorbCounts)
  | { kind: 'refused'; entry: string; code: number; reason: string }
  | { kind: 'noted'; pid: number; seq: number | undefined; entry: string | undefined }
  | { kind: 'busy' };

const KINDS = ['full', 'partial'] as const;
const MAX_DIGEST = 64;
/** Characters that are kept of why a set is refused. */
const MAX_REASON = 1000;
/** The largest uns.max_set_urls: this many places in the queue are set aside for each set. */
const MAX_SET_URLS = 100_000_000;

// Messages of the UNS

export function unsHello(id: string): string {
  return `<lococa:uns${formatAttributes({ id })}/>\n`;
}

/** The start tag of a set; its urls follow as they are, then `SET_END`. */
export function setStart(head: SetHead): string {
  const { entry, pid, seq, set, urlprefix, received, errseen, ip, atS: at } = head;
  const { newest, numbering, after, deletes, digest, origin } = head;
  const said = { entry, pid, seq, set, urlprefix, received, errseen, ip, at };
  return `<lococa:set${formatAttributes({ ...said, newest, numbering, after, deletes, digest, ...originAttributes(origin) })}>\n`;
}

export const SET_END = '</lococa:set>\n';

export function sessionNote(note: SessionNote): string {
  const { pid, seq, ip, errseen } = note;
  return `<lococa:session${formatAttributes({ pid, seq, ip, errseen })}/>\n`;
}

export function damageNote(note: DamageNote): string {
  return `<lococa:damaged${formatAttributes({ entry: note.entry, pid: note.pid })}/>\n`;
}

// Answers of the QM

/** One answer as it is sent. */
export function formatQmAnswer(answer: QmAnswer): string {
  switch (answer.kind) {
    case 'absorbed': {
      const { entry, queued, duplicate, unchanged, deleted } = answer;
      return `<lococa:absorbed${formatAttributes({ entry, queued, duplicate, unchanged, deleted })}/>\n`;
    }
    case 'refused': {
      const { entry, code, reason } = answer;
      return `<lococa:refused${formatAttributes({ entry, code })}>${escapeText(reason)}</lococa:refused>\n`;
    }
    case 'noted':
      return `<lococa:noted${formatAttributes({ pid: answer.pid, seq: answer.seq, entry: answer.entry })}/>\n`;
    case 'qm':
    case 'busy':
      return `<lococa:${answer.kind}/>\n`;
  }
}

// The QM's side

/** Called in the order sent, each only after the promise of the one before has settled. */
export interface UnsHandlers {
  hello(id: string): void | Promise<void>;
  setBegins(head: SetHead): void | Promise<void>;
  /** The next urls of the open set, one to some hundreds; while the promise is open nothing more is read. */
  urls(records: UrlRecord[]): void | Promise<void>;
  setEnds(): void | Promise<void>;
  session(note: SessionNote): void | Promise<void>;
  damaged(note: DamageNote): void | Promise<void>;
}

interface UnsQmOptions {
  /** Name of the other end, for messages. */
  where: string;
  xml: XmlLimits;
}

/** Bounds of a UNS that has not said which it is. */
interface UnsLinkOptions extends UnsQmOptions {
  /** Bytes it may send before that. */
  maxHelloBytes: number;
  share: FairShare;
}

/**
 * Hears one UNS until it closes; memory is bounded by one read of the stream. Resolves when it closed in good
 * order.
 * @throws LccError `data.cut` when it ended inside a set, `data.malformed` or `limit` (XmlError),
 *   `peer.protocol`, what a handler threw, or what ended the conversation otherwise
 */
export async function receiveFromUns(
  talk: Conversation,
  handlers: UnsHandlers,
  options: UnsLinkOptions,
): Promise<void> {
  const reading = options.share.join();
  const calls: (() => void | Promise<void>)[] = [];
  const state = { greeted: false, inSet: false };
  let records: UrlRecord[] = [];
  const flush = () => {
    if (records.length === 0) return;
    const batch = records;
    records = [];
    calls.push(() => handlers.urls(batch));
  };
  const begin = (name: string, attributes: Attributes): void => {
    if (!state.greeted && name !== 'uns') throw breach(options, `<${name}> before <uns>`);
    switch (name) {
      case 'uns': {
        state.greeted = true;
        reading.known();
        reader.allow(Infinity);
        const id = requiredText(name, attributes, 'id');
        return void calls.push(() => handlers.hello(id));
      }
      case 'set': {
        const head = readHead(attributes);
        state.inSet = true;
        return void calls.push(() => handlers.setBegins(head));
      }
      case 'session': {
        const note = {
          pid: requiredInteger(name, attributes, 'pid'),
          seq: requiredInteger(name, attributes, 'seq'),
          ip: attributes['ip'] ?? '',
          errseen: requiredInteger(name, attributes, 'errseen'),
        };
        return void calls.push(() => handlers.session(note));
      }
      case 'damaged': {
        const note = {
          entry: requiredText(name, attributes, 'entry'),
          pid: requiredInteger(name, attributes, 'pid'),
        };
        return void calls.push(() => handlers.damaged(note));
      }
      default:
        throw breach(options, `unknown message <${name}>`);
    }
  };
  const reader = new XmlReader(
    {
      open(name, attributes, empty) {
        const local = localName(name);
        if (!state.inSet) {
          begin(local, attributes);
          if (local === 'set' && empty) this.close('set');
          return;
        }
        if (local !== 'url') throw breach(options, `<${local}> inside <set>`);
        records.push(recordOf(attributes));
      },
      close(name) {
        if (localName(name) !== 'set') return;
        state.inSet = false;
        flush();
        calls.push(() => handlers.setEnds());
      },
    },
    options.xml,
    { where: options.where },
  );
  reader.allow(options.maxHelloBytes, limitText('wire.max_hello_bytes', options.maxHelloBytes));
  const read = async (bytes: Buffer) => {
    reader.write(bytes);
    flush();
    for (const call of calls.splice(0)) await call();
  };
  for (let slice; (slice = await talk.next(reading)) !== undefined;) {
    if (!reading.isKnown) await reading.turn(slice.length);
    await read(slice);
    // A connection that always has more is read many chunks in a row: the other connections wait for all of
    // them.
    if (state.inSet) await talk.turn();
  }
  reader.end();
}

// The UNS's side

/** Reads the QM's answers: push bytes in with `write`, answers come out. Errors as in `receiveFromUns`. */
export function createAnswerReader(onAnswer: (answer: QmAnswer) => void, options: UnsQmOptions): XmlReader {
  return messageReader(options.where, options.xml, (name, attributes, text) => {
    if (name === 'error') throw errorSaid(options.where, attributes, text);
    onAnswer(readAnswer(name, attributes, text, options));
  });
}

function readAnswer(name: string, attributes: Attributes, text: string, options: UnsQmOptions): QmAnswer {
  switch (name) {
    case 'qm':
    case 'busy':
      return { kind: name };
    case 'refused':
      return {
        kind: 'refused',
        entry: requiredText(name, attributes, 'entry'),
        code: requiredInteger(name, attributes, 'code'),
        reason: text.trim().slice(0, MAX_REASON),
      };
    case 'absorbed':
      return {
        kind: 'absorbed',
        entry: requiredText(name, attributes, 'entry'),
        queued: requiredInteger(name, attributes, 'queued'),
        duplicate: requiredInteger(name, attributes, 'duplicate'),
        unchanged: requiredInteger(name, attributes, 'unchanged'),
        deleted: requiredInteger(name, attributes, 'deleted'),
      };
    case 'noted':
      return {
        kind: 'noted',
        pid: requiredInteger(name, attributes, 'pid'),
        seq: optionalInteger(name, attributes, 'seq'),
        entry: attributes['entry'],
      };
    default:
      throw breach(options, `unknown answer <${name}>`);
  }
}

function readHead(attributes: Attributes): SetHead {
  const deletes = optionalInteger('set', attributes, 'deletes');
  const digest = attributes['digest']?.slice(0, MAX_DIGEST);
  const origin = readOrigin(attributes);
  const text = (name: string) => requiredText('set', attributes, name);
  const integer = (name: string) => requiredInteger('set', attributes, name);
  const received = integer('received');
  if (received > MAX_SET_URLS)
    throw new LccError(
      'peer.protocol',
      `<set>: attribute received="${received}": a set has at most ${MAX_SET_URLS} urls`,
    );
  return {
    entry: text('entry'),
    pid: integer('pid'),
    seq: integer('seq'),
    set: requiredWord('set', attributes, 'set', KINDS),
    urlprefix: attributes['urlprefix'] ?? '',
    received,
    errseen: integer('errseen'),
    ip: attributes['ip'] ?? '',
    atS: integer('at'),
    newest: integer('newest'),
    numbering: attributes['numbering'] ?? '',
    after: integer('after'),
    ...(deletes === undefined ? {} : { deletes }),
    ...(digest === undefined ? {} : { digest }),
    ...(origin === undefined ? {} : { origin }),
  };
}

function breach(options: UnsQmOptions, what: string): LccError {
  return new LccError('peer.protocol', `${options.where}: ${what}`);
}
