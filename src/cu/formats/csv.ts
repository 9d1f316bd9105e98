/**
 * RFC 4180: a line with the names of the fields, then one a row; text always quoted, so that '' is not NULL.
 */
import { COLUMNS } from '../../db/cache/fields.js';
import type { Piece } from '../../db/cache/template.js';
import { FIELDS, USUAL_FIELDS, type FieldName } from '../fields.js';
import type { Format } from './types.js';

export const csv: Format = {
  sides: ['held', 'gone'],
  independent: ['held', 'gone'],
  takesFields: true,
  open(context) {
    const names = context.fields ?? USUAL_FIELDS;
    const store = `${context.storeDir}/`.replaceAll('"', '""');
    const pieces = names.flatMap((name, i): Piece[] => [i === 0 ? '' : ',', piece(name, store)]);
    return {
      head: `${names.join(',')}\r\n`,
      template: { held: pieces, gone: pieces, end: '\r\n', escapes: [['"', '""']] },
    };
  },
};

function piece(name: FieldName, store: string): Piece {
  const column = FIELDS[name];
  if (name === 'file') return { before: `"${store}`, column, after: '"' };
  const quote = COLUMNS[column].free === true ? '"' : '';
  return { before: quote, column, after: quote };
}
