/**
 * CU ↔ LCC: queries of a content user in, answers out (lcc-protocol(5)). The order of what each side
 * may say:
 *
 *     start ─[<reader/>]─▶ known ─<query/>─▶ answered ─<query/>─▶ …
 *
 * One query after the other; the answer to one is complete before the next is looked at. After its last query
 * a client ends its own side, or says so in the query (`last`) where it cannot: `openssl s_client` does not
 * pass on the end of its input and wait for an answer as well. Prefixes are not needed. An attribute that is
 * not known is refused: a filter that was misspelt would select everything.
 */
import { LccError } from '../lib/errors.js';
import { escapeText, formatAttributes } from '../lib/xml/escape.js';
import { XmlReader } from '../lib/xml/reader.js';
import type { Attributes, XmlLimits } from '../lib/xml/types.js';
import type { LccCode } from './codes.js';
import { localName, NAMESPACE } from './xml-prefix.js';
import { problemOf, STRAY_TEXT, violation, type Problem } from './problem.js';

/** Where content users connect when an endpoint names no port. */
export const CU_PORT = 9010;

/** Place of a content user: written `STORE:SEQ`, or `STORE:SEQ:BEGAN` while it reads everything at first. */
export interface CuCursor {
  storeId: string;
  seq: number;
  began?: number;
}

export interface CuQuery {
  /** Changes after this. */
  cursor?: CuCursor;
  /** Times as people write them (lib/when.ts). */
  since?: string;
  until?: string;
  pid?: number;
  /** Beginning of the conceptual URL. */
  prefix?: string;
  /** A glob for the mimetype. */
  mime?: string;
  /** Deletions alone, none, or both (undefined: both where the query is about changes). */
  deleted?: 'only' | 'no' | 'yes';
  /** True if the content is sent, too; `text`: where it is of a type that is text. */
  content: boolean | 'text';
  /** At most that many urls. */
  limit?: number;
  /** Nothing else is asked on this connection: the LCC ends it after the answer. */
  last?: boolean;
  /** Columns of the rows that the answer is made of (cu-rows.ts); with it the following ones. */
  fields?: readonly string[];
  /** Rows as they are, those that are shown under a URL, or the pages that URLs show. */
  by?: 'row' | 'shown' | 'url';
  /** The last whole row of an answer to this query that was cut: it goes on after that. */
  after?: CuCursor;
}

export type CuEvent =
  | { kind: 'reader'; name: string; password: string }
  | { kind: 'query'; query: CuQuery }
  | Problem;

const CURSOR = /^([0-9a-f-]{36}):(\d{1,15})(?::(\d{1,15}))?$/;
const NUMBER = /^[1-9]\d{0,14}$/;
/** Most bytes of a glob; SQLite takes none of 50 000 bytes. */
const MAX_MIME_LENGTH = 1000;
/** Most stars in it: with each more, a long type may take fifty times as long. */
const MAX_MIME_STARS = 3;
/** Most names of columns; SQLite takes none of more than 2000. */
const MAX_FIELDS = 100;

export class CuReader {
  readonly #where: string;
  readonly #reader: XmlReader;
  #events: CuEvent[] = [];
  /** An element without its end tag yet: nothing is answered that may still turn out to be cut. */
  #begun: CuEvent | undefined;
  #done = false;

  constructor(limits: XmlLimits, where: string) {
    this.#where = where;
    this.#reader = new XmlReader(
      {
        open: (name, attributes, empty) => {
          if (this.#begun !== undefined) throw violation(`<${localName(name)}> inside another element`);
          const event = eventOf(localName(name, attributes), attributes);
          if (empty) this.#events.push(event);
          else this.#begun = event;
        },
        close: () => {
          if (this.#begun !== undefined) this.#events.push(this.#begun);
          this.#begun = undefined;
        },
        text: text => {
          if (STRAY_TEXT.test(text)) throw violation(`text: "${text.trim().slice(0, 40)}"`);
        },
      },
      limits,
      { where },
    );
  }

  /** Events of the next bytes, in order. A `problem` is the last event there will be. */
  read(chunk: Uint8Array): CuEvent[] {
    return this.#collect(() => this.#reader.write(chunk));
  }

  /** Nothing more comes: a `problem` when something was begun and not finished. */
  end(): CuEvent[] {
    return this.#collect(() => this.#reader.end());
  }

  #collect(action: () => void): CuEvent[] {
    if (this.#done) return [];
    this.#events = [];
    try {
      action();
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      this.#done = true;
      this.#events.push(problemOf(error, this.#where, this.#reader.position));
    }
    return this.#events;
  }
}

function eventOf(name: string, attributes: Attributes): CuEvent {
  if (name === 'reader') {
    const { name: reader = '', passwd, password = passwd ?? '' } = attributes;
    return { kind: 'reader', name: reader, password };
  }
  if (name === 'query') return { kind: 'query', query: queryOf(attributes) };
  throw violation(`<${name}> is not expected here; there are <reader> and <query>`);
}

/** What messages call a part of a query. */
interface QueryWords {
  /** One with a value that it cannot have. */
  given: (name: string, value: string) => string;
  /** Said of one that there is not. */
  unknown: (name: string) => string;
}

const ATTRIBUTES: QueryWords = {
  given: (name, value) => `<query ${name}="${value.slice(0, 40)}">`,
  unknown: name => `<query>: no attribute ${name}`,
};

/** @throws LccError `peer.protocol` in those words */
export function queryOf(attributes: Attributes, words = ATTRIBUTES): CuQuery {
  const wrong = (name: string, value: string, wanted: string) =>
    violation(`${words.given(name, value)}: give ${wanted}`);
  const query: CuQuery = { content: false };
  for (const [name, value] of Object.entries(attributes)) {
    switch (name) {
      case 'cursor':
      case 'after': {
        // A shell that has no cursor yet writes an empty one: everything.
        if (value === '') break;
        const cursor = parseCuCursor(value);
        if (cursor === undefined)
          throw wrong(name, value, 'one that an answer had, STORE:SEQ, or leave it out for everything');
        query[name] = cursor;
        break;
      }
      case 'since':
      case 'until':
      case 'prefix':
      case 'mime':
        if (name === 'mime' && value.length > MAX_MIME_LENGTH)
          throw wrong(name, '(…)', `at most ${MAX_MIME_LENGTH} characters`);
        if (name === 'mime' && value.split('*').length > MAX_MIME_STARS + 1)
          throw wrong(name, value, `at most ${MAX_MIME_STARS} stars`);
        query[name] = value;
        break;
      case 'pid':
      case 'limit':
        if (!NUMBER.test(value)) throw wrong(name, value, 'a number from 1');
        query[name] = Number(value);
        break;
      case 'deleted':
        if (value !== 'only' && value !== 'no' && value !== 'yes')
          throw wrong(name, value, 'only, no or yes');
        query.deleted = value;
        break;
      case 'content':
      case 'last':
        if (value === 'text' && name === 'content') query.content = 'text';
        else if (value !== 'yes' && value !== 'no') throw wrong(name, value, 'yes or no');
        else query[name] = value === 'yes';
        break;
      case 'fields':
        query.fields = [...new Set(value.split(','))];
        if (query.fields.length > MAX_FIELDS) throw wrong(name, value, `at most ${MAX_FIELDS} names`);
        break;
      case 'by':
        if (value !== 'row' && value !== 'shown' && value !== 'url')
          throw wrong(name, value, 'row, shown or url');
        query.by = value;
        break;
      default:
        if (name !== 'xmlns' && !name.startsWith('xmlns:')) throw violation(words.unknown(name));
    }
  }
  if (query.cursor !== undefined && query.since !== undefined && query.fields === undefined)
    throw violation('<query>: give cursor or since');
  const alone = (['by', 'after'] as const).find(name => query[name] !== undefined);
  if (query.fields === undefined && (alone !== undefined || query.content === 'text'))
    throw violation(`<query ${alone ?? 'content'}>: give fields as well`);
  return query;
}

/** undefined for a text that is none. */
export function parseCuCursor(text: string): CuCursor | undefined {
  const [, storeId, seq, began] = CURSOR.exec(text) ?? [];
  if (storeId === undefined) return undefined;
  return { storeId, seq: Number(seq), ...(began !== undefined && { began: Number(began) }) };
}

export function formatCuCursor({ storeId, seq, began }: CuCursor): string {
  return began === undefined ? `${storeId}:${seq}` : `${storeId}:${seq}:${began}`;
}

// Answers

/**
 * The beginning of an answer; `<url>` elements follow.
 * @param cursor what the client asks with the next time, once it has read this answer whole; undefined
 *   where a limit decides how far the answer goes
 */
export function resultStart(storeId: string, cursor: CuCursor | undefined): string {
  const attributes = {
    'xmlns:lococa': NAMESPACE,
    store: storeId,
    cursor: cursor && formatCuCursor(cursor),
  };
  return `<lococa:result${formatAttributes(attributes)}>\n`;
}

/** In the place of a url that cannot be sent as it was asked for: its content is missing. */
export function omitted(url: { curl: string; seq: number }, why: string): string {
  return `<omitted${formatAttributes({ curl: url.curl, seq: url.seq })}>${escapeText(why)}</omitted>\n`;
}

/** Where an answer ends because of its limit: what the client goes on with. */
export function resultLimited(cursor: CuCursor): string {
  return `<limited cursor="${formatCuCursor(cursor)}"/>\n`;
}

export const RESULT_END = '</lococa:result>\n';

/** The last word to a client that is sent away, in the middle of an answer, too: that one has no end. */
export function refused(code: LccCode, text: string): string {
  return `<lococa:refused xmlns:lococa="${NAMESPACE}" code="${code}">${escapeText(text)}</lococa:refused>\n`;
}
