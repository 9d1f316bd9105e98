/**
 * CU ↔ LCC, for a program that makes records itself (`lccq --from`): a query that names columns (`fields`),
 * and an answer whose `<url>` elements have them as attributes; one that is not there is NULL.
 */
import { LccError, messageOf } from '../lib/errors.js';
import { formatAttributes } from '../lib/xml/escape.js';
import { XmlReader } from '../lib/xml/reader.js';
import type { Attributes } from '../lib/xml/types.js';
import { formatCuCursor, parseCuCursor, type CuCursor, type CuQuery } from './cu.js';
import { localName, NAMESPACE } from './xml-prefix.js';

/** Why a url has no content: attributes beside its columns. */
export const PROBLEM = 'problem';
export const REPLACED = 'replaced';
/** The same where the machine of the content does not answer. */
export const AWAY = 'away';
/** In the place of a column: other types under which a page may be known, divided by blanks. */
export const FORMER_TYPES = 'formertypes';

/** Elements are small, contents are not. */
const LIMITS = {
  maxTokenBytes: 1024 * 1024,
  maxTextBytes: Infinity,
  maxDepth: 8,
  maxAttributes: 64,
  maxNameBytes: 256,
};

export function formatReader(name: string, password: string): string {
  return `<lococa:reader xmlns:lococa="${NAMESPACE}"${formatAttributes({ name, passwd: password })}/>\n`;
}

export function formatQuery(query: CuQuery & { fields: readonly string[] }): string {
  const { cursor, after, content, fields, deleted, last, ...rest } = query;
  const attributes = {
    fields: fields.join(','),
    cursor: cursor && formatCuCursor(cursor),
    after: after && formatCuCursor(after),
    content: content === false ? undefined : content === true ? 'yes' : content,
    deleted,
    ...rest,
    last: last === true ? 'yes' : undefined,
  };
  return `<lococa:query xmlns:lococa="${NAMESPACE}"${formatAttributes(attributes)}/>\n`;
}

/** The beginning of such an answer. @param high how far the sequence is @param dir of the store there */
export function rowsStart(store: string, high: number, dir: string): string {
  return `<lococa:result xmlns:lococa="${NAMESPACE}"${formatAttributes({ store, high, dir })}>\n`;
}

export type CuAnswerEvent =
  | { kind: 'result'; storeId: string; high: number; dir: string }
  /** `hasContent`: it follows, in pieces. */
  | { kind: 'url'; attributes: Attributes; hasContent: boolean }
  /** Base64, of the url before. */
  | { kind: 'content'; text: string }
  | { kind: 'url-end' }
  | { kind: 'limited'; cursor: CuCursor }
  | { kind: 'end' }
  | { kind: 'refused'; code: number; text: string };

export class CuAnswerReader {
  readonly #reader: XmlReader;
  #events: CuAnswerEvent[] = [];
  #isInUrl = false;
  #refused: { code: number; text: string } | undefined;

  /** @param where names the server in messages */
  constructor(where: string) {
    const add = (event: CuAnswerEvent) => void this.#events.push(event);
    this.#reader = new XmlReader(
      {
        open: (name, attributes, empty) => {
          switch (localName(name, attributes)) {
            case 'result':
              return add(resultOf(attributes));
            case 'url':
              add({ kind: 'url', attributes, hasContent: !empty });
              if (empty) add({ kind: 'url-end' });
              this.#isInUrl = !empty;
              return;
            case 'limited':
              return add({ kind: 'limited', cursor: cursorOf(attributes['cursor']) });
            case 'refused':
              this.#refused = { code: Number(attributes['code']), text: '' };
          }
        },
        close: name => {
          const local = name.replace(/^.*:/, '');
          if (local === 'url') add({ kind: 'url-end' });
          if (local === 'result') add({ kind: 'end' });
          if (local === 'refused' && this.#refused !== undefined) add({ kind: 'refused', ...this.#refused });
          this.#isInUrl = false;
        },
        text: text => {
          if (this.#isInUrl) add({ kind: 'content', text });
          else if (this.#refused !== undefined) this.#refused.text += text.slice(0, 1000);
        },
      },
      LIMITS,
      { where },
    );
  }

  /** The events of the next bytes. @throws LccError `peer.protocol` for what is no answer */
  read(chunk: Uint8Array): CuAnswerEvent[] {
    this.#events = [];
    try {
      this.#reader.write(chunk);
    } catch (error) {
      throw new LccError('peer.protocol', messageOf(error), { cause: error });
    }
    return this.#events;
  }
}

function resultOf({ store = '', high, dir = '' }: Attributes): CuAnswerEvent {
  return { kind: 'result', storeId: store, high: Number(high), dir };
}

function cursorOf(text = ''): CuCursor {
  const cursor = parseCuCursor(text);
  if (cursor === undefined) throw new LccError('peer.protocol', `no cursor: "${text.slice(0, 60)}"`);
  return cursor;
}
