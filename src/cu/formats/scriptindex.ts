/**
 * Records for Xapian Omega: `scriptindex DB examples/xapian-omega/lcc.script`, version 1 of lccq-indexers(5).
 *
 * A record is a line `field=value` per field, continued by lines that begin with `=`, ended by an empty one;
 * one of the key alone deletes. The key is the row's id and stands last: a record cut before it is skipped,
 * not taken for a deletion.
 */
import { textOf } from '../../text/content.js';
import { pageWriter } from './page.js';
import type { Format } from './types.js';

export const scriptindex: Format = {
  sides: ['held', 'gone'],
  takesFields: false,
  open: context =>
    pageWriter(context, textOf, (page, found) => {
      const key = `id=${page.id}\n\n`;
      if (found === undefined) return key;
      const changed = page.mtime === undefined ? page.changedTime : Date.parse(page.mtime) / 1000;
      return (
        field('mime', page.mimetype) +
        field('mtime', String(changed)) +
        field('size', String(page.len)) +
        field('title', found.title) +
        field('text', found.text) +
        field('url', page.burl) +
        key
      );
    }),
};

function field(name: string, value: string): string {
  return value === '' ? '' : `${name}=${value.replaceAll('\n', '\n=')}\n`;
}
