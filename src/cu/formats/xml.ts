/** `<url …/>` lines as every tool of the LCC reads them, in a root element between the marks of a whole
 * stream. With content, `<url …>` holds it as base64. */
import { escapeAttribute } from '../../lib/xml/escape.js';
import type { ColumnName, ColumnValue } from '../../db/cache/fields.js';
import { columnsOf, type Piece } from '../../db/cache/template.js';
import type { FieldName } from '../fields.js';
import type { StoredContent } from '../stored-content.js';
import { STREAM_END, streamHead } from '../../wire/url-stream.js';
import { base64Of } from './base64.js';
import { CONTENT_COLUMNS, type Format, type FormatContext, type Part, type RowWriter } from './types.js';

/** In the canonical order of `wire/url.ts`. What equals its default (burl, furl) is left out, as providers
 * do. */
const ATTRIBUTES: readonly [FieldName, ColumnName][] = [
  ['curl', 'curl'],
  ['mimetype', 'mimetype'],
  ['subtype', 'subtype'],
  ['burl', 'givenburl'],
  ['furl', 'givenfurl'],
  ['md5', 'md5'],
  ['len', 'len'],
  ['mtime', 'mtime'],
  ['op', 'op'],
  ['pid', 'pid'],
  ['seq', 'seq'],
  ['http_charset', 'http_charset'],
  ['fetched_time', 'fetched_time'],
  ['fetched_machineid', 'fetched_machineid'],
  ['fetched_fileid', 'fetched_fileid'],
  ['file', 'localfileid'],
  ['status', 'status'],
  ['deleted_time', 'deleted_time'],
  ['hops', 'hops'],
  ['finalurl', 'finalurl'],
  ['robots', 'robots'],
  ['id', 'id'],
];
/** As `escapeAttribute`, without what XML cannot carry: that never came in. */
const ESCAPES = ['&', '<', '>', '"', '\t', '\n', '\r'].map(c => [c, escapeAttribute(c)] as const);
/** A record without these would not be one. */
const REQUIRED: readonly FieldName[] = ['curl', 'mimetype', 'op'];
/** Not in a record unless asked for: `id` is the LCC's own. */
const DEFAULT = ATTRIBUTES.map(([name]) => name).filter(name => name !== 'id');

export const xml: Format = {
  sides: ['held', 'gone'],
  independent: ['held', 'gone'],
  takesFields: true,
  takesContent: true,
  betweenStreams: '',
  open(context) {
    const wanted = [...REQUIRED, ...(context.fields ?? DEFAULT)];
    const attributes = ATTRIBUTES.filter(([name]) => wanted.includes(name));
    const files = escapeAttribute(`${context.storeDir}/`);
    const pieces = (deletion: boolean): Piece[] => [
      '<url',
      ...attributes.flatMap(([name, column]): Piece[] => {
        if (name === 'op') return deletion ? [' op="delete"'] : [];
        return [{ before: ` ${name}="${name === 'file' ? files : ''}`, column, after: '"' }];
      }),
    ];
    const { storeId: store, sinceSeq: since, isPart } = context;
    const head = `${streamHead({ store, since, set: isPart === true ? 'partial' : undefined })}<urls>\n`;
    const tail = () => `</urls>\n${STREAM_END}`;
    if (context.content) return { head, tail, ...withContent(context, pieces) };
    const line = (deletion: boolean) => [...pieces(deletion), '/>'];
    return {
      head,
      template: { held: line(false), gone: line(true), end: '\n', escapes: ESCAPES },
      tail,
    };
  },
};

function withContent(context: FormatContext, pieces: (deletion: boolean) => Piece[]): RowWriter {
  const held = pieces(false);
  const gone = pieces(true);
  const columns = columnsOf(held);
  const before = [...CONTENT_COLUMNS, 'op'] as const;
  const element = (isDelete: boolean, values: readonly ColumnValue[]) => {
    let at = before.length;
    return (isDelete ? gone : held)
      .map(piece => {
        if (typeof piece === 'string') return piece;
        const value = values[at++] ?? null;
        return value === null ? '' : piece.before + escapeAttribute(String(value)) + piece.after;
      })
      .join('');
  };
  return {
    columns: [...before, ...columns],
    record(values) {
      const isDelete = values[CONTENT_COLUMNS.length] === 'delete';
      if (isDelete) return `${element(true, values)}/>\n`;
      const content = context.openContent(values);
      return content === undefined ? '' : filled(element(false, values), content);
    },
  };
}

function* filled(element: string, content: StoredContent): Generator<Part> {
  try {
    yield `${element}>`;
    yield* base64Of(content);
    yield '</url>\n';
  } finally {
    content.close();
  }
}
