/** `<url …/>` lines as every tool of the LCC reads them, in a root element between the marks of a whole stream. */
import { escapeAttribute } from '../../lib/xml/escape.js';
import type { Piece } from '../../db/cache/template.js';
import type { ColumnName } from '../../db/cache/columns.js';
import type { FieldName } from '../fields.js';
import { STREAM_END, streamHead } from '../../wire/url-stream.js';
import type { Format } from './types.js';

/** In the canonical order of `wire/url.ts`. What equals its default (burl, furl) is left out, as providers do. */
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
  ['fetched_time', 'fetched_time'],
  ['fetched_machineid', 'fetched_machineid'],
  ['fetched_fileid', 'fetched_fileid'],
  ['file', 'localfileid'],
  ['status', 'status'],
  ['deleted_time', 'deleted_time'],
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
  takesFields: true,
  open(context) {
    const wanted = [...REQUIRED, ...(context.fields ?? DEFAULT)];
    const attributes = ATTRIBUTES.filter(([name]) => wanted.includes(name));
    const store = escapeAttribute(`${context.storeDir}/`);
    const pieces = (deletion: boolean): Piece[] => [
      '<url',
      ...attributes.flatMap(([name, column]): Piece[] => {
        if (name === 'op') return deletion ? [' op="delete"'] : [];
        return [{ before: ` ${name}="${name === 'file' ? store : ''}`, column, after: '"' }];
      }),
      '/>',
    ];
    return {
      head: `${streamHead({ store: context.storeId, since: context.sinceSeq })}<urls>\n`,
      template: {
        held: pieces(false),
        gone: pieces(true),
        end: '\n',
        escapes: ESCAPES,
      },
      tail: () => `</urls>\n${STREAM_END}`,
    };
  },
};
