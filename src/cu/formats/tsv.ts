/** One line a row, fields separated by tabs, no header; tab, newline, return and backslash as \t \n \r \\. */
import type { Piece } from '../../db/cache/template.js';
import { FIELDS, USUAL_FIELDS } from '../fields.js';
import type { Format } from './types.js';

const ESCAPES = [
  ['\\', '\\\\'],
  ['\t', '\\t'],
  ['\n', '\\n'],
  ['\r', '\\r'],
] as const;
const escape = (text: string) => ESCAPES.reduce((value, [from, to]) => value.replaceAll(from, to), text);

export const tsv: Format = {
  sides: ['held', 'gone'],
  independent: ['held', 'gone'],
  takesFields: true,
  open(context) {
    const store = escape(`${context.storeDir}/`);
    const pieces = (context.fields ?? USUAL_FIELDS).flatMap((name, i): Piece[] => [
      i === 0 ? '' : '\t',
      { before: name === 'file' ? store : '', column: FIELDS[name], after: '' },
    ]);
    return { template: { held: pieces, gone: pieces, end: '\n', escapes: ESCAPES } };
  },
};
