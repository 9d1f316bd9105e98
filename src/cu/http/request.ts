/** A request of the change feed: its parameters mean what options of lccq(1) do. */
import type { IncomingMessage } from 'node:http';
import { SECOND } from '../../config/amounts.js';
import { queryOf, type CuQuery } from '../../wire/cu.js';
import { violation } from '../../wire/problem.js';
import { parseFields, type FieldName } from '../fields.js';
import { chunks } from '../formats/chunks.js';
import { jsonl } from '../formats/jsonl.js';
import type { Asked, Format } from '../formats/types.js';

const MAX_LIMIT = 10_000;
const USUAL_LIMIT = 1000;
const MAX_WAIT_MS = 60 * SECOND;
/** A page, or its file, is carried by each line. */
const CONTENT: Readonly<Record<string, Pick<Asked, 'content' | 'text' | 'markdown'>>> = {
  text: { text: 'readable' },
  markdown: { markdown: 'readable' },
  chunks: {},
  content: { content: true },
};
/** Those of a query that the change feed has. */
const OF_QUERY = new Set(['cursor', 'limit', 'pid', 'prefix', 'mime', 'deleted']);

export interface FeedAsked extends Pick<Asked, 'fields' | 'content' | 'text' | 'markdown'> {
  query: CuQuery;
  /** Nothing that is there already. */
  fromNow: boolean;
  format: Format;
  /** How long a poll waits for something new. */
  waitMs: number;
  /** As events, without an end of their own; else a poll. */
  isStream: boolean;
}

const WORDS = {
  given: (name: string, value: string) => `${name}=${value.slice(0, 40)}`,
  unknown: (name: string) =>
    `no parameter ${name.slice(0, 40)}; there are ${[...OF_QUERY, 'wait', 'fields', 'with'].join(', ')}`,
};

/** @throws LccError `peer.protocol` and `usage`: what is wrong with it */
export function feedAsked({ url = '', headers }: Pick<IncomingMessage, 'url' | 'headers'>): FeedAsked {
  const isStream = /\btext\/event-stream\b/i.test(headers.accept ?? '');
  const given = parametersOf(url);
  const { wait = '0', fields, with: carried, ...ofQuery } = given;
  const lastId = isStream ? String(headers['last-event-id'] ?? '') : '';
  if (lastId !== '') ofQuery['cursor'] = lastId;
  const fromNow = ofQuery['cursor'] === 'now';
  if (fromNow) delete ofQuery['cursor'];
  const unknown = Object.keys(ofQuery).find(name => !OF_QUERY.has(name));
  if (unknown !== undefined) throw violation(WORDS.unknown(unknown));
  const query = queryOf(ofQuery, WORDS);
  if ((query.limit ?? 0) > MAX_LIMIT) throw wrong(given, 'limit', `a number from 1 to ${MAX_LIMIT}`);
  if (!isStream) query.limit ??= USUAL_LIMIT;
  if (!/^\d{1,2}$/.test(wait) || Number(wait) * SECOND > MAX_WAIT_MS)
    throw wrong(given, 'wait', `seconds, at most ${MAX_WAIT_MS / SECOND}`);
  const content = carried === undefined ? {} : Object.hasOwn(CONTENT, carried) && CONTENT[carried];
  if (content === false || content === undefined) throw wrong(given, 'with', Object.keys(CONTENT).join(', '));
  return {
    query,
    fromNow,
    format: carried === 'chunks' ? chunks : jsonl,
    fields: fieldsOf(fields),
    ...content,
    waitMs: Number(wait) * SECOND,
    isStream,
  };
}

function fieldsOf(text: string | undefined): FieldName[] | undefined {
  return text === undefined || text === '' ? undefined : parseFields(text);
}

/** A plus stands for itself: no value has a space in it, many a type has a plus. */
function parametersOf(url: string): Record<string, string> {
  const at = url.indexOf('?');
  const all: Record<string, string> = Object.create(null) as Record<string, string>;
  if (at < 0) return all;
  for (const [name, value] of new URLSearchParams(url.slice(at + 1).replaceAll('+', '%2B'))) {
    if (name in all) throw violation(`${name.slice(0, 40)} is there twice`);
    all[name] = value;
  }
  return all;
}

function wrong(given: Record<string, string>, name: string, wanted: string) {
  return violation(`${WORDS.given(name, given[name] ?? '')}: give ${wanted}`);
}
