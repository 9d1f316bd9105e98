/**
 * RS → QM: what a Registration Server asks for, over `run/qm-rs.sock`. A line of JSON each way, answered in
 * order:
 *
 *     RS  {"op":"register","id":UUID,"pid":100007,"password":"sha256:…",
 *          "roots":["http://www.example.org/"],"bandwidth":…,"timeofday":"…"}
 *     RS  {"op":"password","id":UUID,"pid":100007,"password":"sha256:…","generation":1}
 *                                                                the generation that it replaces
 *     RS  {"op":"password",…,"roots":[…]}
 *                                                                of its roots these stay; the answer
 *                                                                has the others: "given":[…],"until":S
 *     RS  {"op":"root-add","id":UUID,"pid":100007,"roots":[…]}   {"op":"root-rm",…}
 *     RS  {"op":"terms","id":UUID,"pid":100007,"filesmax":…,…}
 *     RS  {"op":"leave","id":UUID,"pid":100007}   {"op":"stay",…}             it stays after all
 *     RS  {"op":"pause","id":UUID,"pid":7}   resume   flush   want-full   disable   enable
 *                                                                the operator's, for any provider
 *     RS  {"op":"limits","id":UUID,"pid":7,"filesmax":…,…}            terms by an operator, for any provider
 *     RS  {"op":"find","url":"http://…"}   {"op":"show","pid":100007}   {"op":"status"}
 *     RS  {"op":"overview"}   {"op":"providers","search":"example","after":0}         rs-looks.ts
 *     RS  {"op":"life","pid":100007,"url":"http://…"}                                       url-life.ts
 *     RS  {"op":"push","pid":0,"host":"www.example.org"}                        push.ts
 *     RS  {"op":"urls","pid":100007,"urls":["http://…",…]}
 *     RS  {"op":"errors","pid":100007,"after":0,"limit":100,"code":404,"prefix":"http://…"}
 *          QM  {"ok":{…}}                                        done, or done before under this id
 *          QM  {"refused":"taken","text":"…"}                    it never will be
 *          QM  {"later":"…"}                                     again after a while, under the same id
 *          QM  {"error":"…"} and close: too many connections, or a breach of this
 *
 * The id of a changing operation is remembered with its answer for `REMEMBERED_MS`: sent again, it changes
 * nothing and is answered as before. There are no secrets in answers.
 */
import { hash } from 'node:crypto';
import { LccError } from '../lib/errors.js';
import { MAX_SEARCH_LENGTH, type RsLook } from './rs-looks.js';

/** For which an operation is known again. */
export const REMEMBERED_MS = 30 * 86_400_000;
/** Longest line: a provider with all its roots. */
export const MAX_RS_LINE_LENGTH = 256 * 1024;
/** Longest answer. */
export const MAX_RS_ANSWER_LENGTH = 4 * 1024 * 1024;
/** Urls in a question at most, and rows of an answer about each of them; errors in an answer. */
export const MAX_RS_URLS = 1000;
export const MAX_RS_ROWS = 4;
export const MAX_RS_ERRORS = 1000;
/** Longest url in a question. */
export const MAX_URL_LENGTH = 8192;
const MAX_ROOTS = 1000;

/** Terms of a provider; left out: as they are, or as the Queue Manager gives them to new ones. */
export interface RsTerms {
  filesmax?: number;
  /** Bytes. */
  spacemax?: number;
  fullsetsallowed?: number;
  /** Bytes per second, 0 = unlimited. */
  bandwidth?: number;
  priority?: number;
  /** 24 or 168 characters 0/1, '' = always. */
  timeofday?: string;
}

/** An operation that changes something. */
export type RsChange =
  | ({ op: 'register'; pid: number; password: string; roots: readonly string[] } & RsTerms)
  /** @param roots that stay; left out: all */
  | { op: 'password'; pid: number; password: string; generation: number; roots?: readonly string[] }
  | { op: 'root-add' | 'root-rm'; pid: number; roots: readonly string[] }
  | ({ op: 'terms'; pid: number } & RsTerms)
  /** The operator's, for any provider. */
  | ({ op: 'limits'; pid: number } & Omit<RsTerms, 'timeofday'>)
  | { op: 'leave' | 'stay'; pid: number }
  | { op: RsControl; pid: number };

/** Controls of an operator over any provider, as lccctl and `lccpidb set --enabled` have them. */
export const RS_CONTROLS = ['pause', 'resume', 'flush', 'want-full', 'disable', 'enable'] as const;
export type RsControl = (typeof RS_CONTROLS)[number];

export type RsQuestion =
  /** Providers with a root around a url, `pids`; and, of a directory, those that crawl it or something below
   * it, `crawlers`, and those that announce such, `announcers`. */
  | { op: 'find'; url: string }
  | { op: 'show'; pid: number }
  | { op: 'status' }
  | { op: 'urls'; pid: number; urls: readonly string[] }
  /** Enabled providers that have a root at a host; or the one with the pid, where that is not 0. */
  | { op: 'push'; pid: number; host: string }
  /** All that is known of a url; pid 0: at each provider with a root around it. */
  | { op: 'life'; pid: number; url: string }
  | ({ op: 'errors'; pid: number } & RsErrorsWanted);

/** Errors that a provider has not received, in their order. */
export interface RsErrorsWanted {
  /** Number of the last one that was seen, 0 = none. */
  after: number;
  limit: number;
  /** Errors of this code only; of urls that begin so only. */
  code?: number;
  prefix?: string;
}

/** One row of what is known of a url. */
export type UrlStanding = {
  mimetype: string;
} & (
  | { state: 'waiting'; tries: number }
  /** `at`: seconds; when it was fetched. */
  | { state: 'held'; seq: number; bytes: number; at: number }
  | { state: 'gone'; seq: number; at: number }
  | { state: 'error'; code: number; text: string }
);

/** An error that a provider has not received. */
export interface KeptError {
  /** Ascending; for the next look. */
  errseq: number;
  code: number;
  curl: string;
  mimetype: string;
  text: string;
}

/** A change has an id, a question none. */
export type RsAsk = { id: string; change: RsChange } | { id: undefined; question: RsQuestion };
/** Messages that may come: a look is a question whose answer takes a while. */
type RsAsked = RsAsk | { look: RsLook };

/** Why a change is refused for good. */
const RS_REFUSALS = [
  /** The number is another provider's, or was. */
  'taken',
  /** No provider of this number registered by itself. */
  'unknown',
  /** A root is none, there are too many, or too many providers have it. */
  'roots',
  /** More than a provider that registered by itself may be given. */
  'terms',
  /** The provider is leaving, or not leaving, or was disabled, or has left. */
  'state',
  /** Another password than the one that would be replaced. */
  'generation',
  /** The id was that of another operation. */
  'id',
] as const;
export type RsRefusal = (typeof RS_REFUSALS)[number];

export type RsAnswer =
  | { ok: Readonly<Record<string, unknown>> }
  | { refused: RsRefusal; text: string }
  | { later: string };

/** @param id of a change: a UUID that no other operation has */
export function formatRsAsk(asked: RsChange | RsQuestion | RsLook, id?: string): string {
  const { op, ...rest } = asked;
  return `${JSON.stringify({ op, ...(id === undefined ? {} : { id }), ...rest })}\n`;
}

export function formatRsAnswer(answer: RsAnswer | { error: string }): string {
  return `${JSON.stringify(answer)}\n`;
}

/** A digest of an operation, for comparison with another one of the same id. */
export function digestOf(change: RsChange): string {
  const fields = Object.entries(change).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify(fields));
}

// The Queue Manager's side

/** @throws LccError `peer.protocol` naming what is wrong; nothing that may be a secret is repeated */
export function readRsAsk(line: string): RsAsked {
  const fields = new Fields(line);
  const op = fields.text('op', /^[a-z-]{1,20}$/);
  switch (op) {
    case 'register': {
      const { pid, roots } = { pid: fields.pid(), roots: fields.roots() };
      return fields.change({ op, pid, password: fields.password(), roots, ...fields.terms() });
    }
    case 'password':
      return fields.change({
        op,
        pid: fields.pid(),
        password: fields.password(),
        generation: fields.number('generation'),
        ...(fields.has('roots') && { roots: fields.roots() }),
      });
    case 'root-add':
    case 'root-rm':
      return fields.change({ op, pid: fields.pid(), roots: fields.roots() });
    case 'leave':
    case 'stay':
    case 'pause':
    case 'resume':
    case 'flush':
    case 'want-full':
    case 'disable':
    case 'enable':
      return fields.change({ op, pid: fields.pid() });
    case 'terms':
      return fields.change({ op, pid: fields.pid(), ...fields.terms() });
    case 'limits': {
      const { timeofday: _hours, ...limits } = fields.terms();
      return fields.change({ op, pid: fields.pid(), ...limits });
    }
    case 'find':
      return { id: undefined, question: { op, url: fields.text('url', /^.+$/s) } };
    case 'show':
      return { id: undefined, question: { op, pid: fields.pid() } };
    case 'status':
      return { id: undefined, question: { op } };
    case 'overview':
      return { look: { op } };
    case 'providers':
      return { look: { op, search: fields.search(), after: fields.number('after') } };
    case 'life':
      return { id: undefined, question: { op, pid: fields.number('pid'), url: fields.text('url', /^.+$/s) } };
    case 'push':
      return { id: undefined, question: { op, pid: fields.number('pid'), host: fields.text('host', /^/) } };
    case 'urls':
      return { id: undefined, question: { op, pid: fields.pid(), urls: fields.list('urls', MAX_RS_URLS) } };
    case 'errors':
      return {
        id: undefined,
        question: {
          op,
          pid: fields.pid(),
          after: fields.number('after'),
          limit: Math.min(fields.number('limit'), MAX_RS_ERRORS),
          ...(fields.has('code') && { code: fields.number('code') }),
          ...(fields.has('prefix') && { prefix: fields.text('prefix', /^/) }),
        },
      };
    default:
      throw breach(`unknown op "${op}"`);
  }
}

export const TERM_NUMBERS = ['filesmax', 'spacemax', 'fullsetsallowed', 'bandwidth', 'priority'] as const;

/** The members of one line. */
class Fields {
  readonly #members: Readonly<Record<string, unknown>>;

  constructor(line: string) {
    this.#members = membersOf(line);
  }

  change(change: RsChange): RsAsk {
    return { id: this.text('id', /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/), change };
  }

  text(name: string, form: RegExp): string {
    const value = this.#members[name];
    if (typeof value !== 'string' || value.length > MAX_URL_LENGTH || !form.test(value))
      throw breach(`${name} is missing or malformed`);
    return value;
  }

  has(name: string): boolean {
    return this.#members[name] !== undefined;
  }

  password(): string {
    return this.text('password', /^sha256:[0-9a-f]{32}:[0-9a-f]{64}$/);
  }

  number(name: string): number {
    const value = this.#members[name];
    if (!Number.isSafeInteger(value) || Number(value) < 0) throw breach(`${name} is no whole number`);
    return Number(value);
  }

  pid(): number {
    const pid = this.number('pid');
    if (pid === 0) throw breach('pid is 0');
    return pid;
  }

  search(): string {
    const text = this.text('search', /^[^\p{Cc}]*$/u);
    if (text.length > MAX_SEARCH_LENGTH) throw breach('search is too long');
    return text;
  }

  roots(): string[] {
    return this.list('roots', MAX_ROOTS);
  }

  list(name: 'roots' | 'urls', most: number): string[] {
    const value = this.#members[name];
    if (!Array.isArray(value) || value.length === 0 || value.length > most)
      throw breach(`${name} is no list of urls`);
    return value.map(url => {
      if (typeof url !== 'string' || url.length > MAX_URL_LENGTH) throw breach(`one of ${name} is no url`);
      return url;
    });
  }

  terms(): RsTerms {
    const terms: RsTerms = {};
    for (const name of TERM_NUMBERS) if (this.#members[name] !== undefined) terms[name] = this.number(name);
    if (this.#members['timeofday'] !== undefined)
      terms.timeofday = this.text('timeofday', /^(?:[01]{24}|[01]{168})?$/);
    return terms;
  }
}

// The Registration Server's side

/** @throws LccError `peer.protocol`; `peer.rejected` for an error, after which the connection closes */
export function readRsAnswer(line: string): RsAnswer {
  const members = membersOf(line);
  const { ok, refused, later, text, error } = members;
  if (typeof error === 'string') throw new LccError('peer.rejected', `the Queue Manager: ${error}`);
  if (typeof ok === 'object' && ok !== null) return { ok: ok as Record<string, unknown> };
  if (typeof later === 'string') return { later };
  const why = RS_REFUSALS.find(one => one === refused);
  if (why === undefined) throw breach('an answer that is none');
  return { refused: why, text: typeof text === 'string' ? text : why };
}

function membersOf(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // The words of a parser may quote the line.
  }
  throw breach('a line is no JSON object');
}

function breach(what: string): LccError {
  return new LccError('peer.protocol', `qm-rs: ${what}`);
}
