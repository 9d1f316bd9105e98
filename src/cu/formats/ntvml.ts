/**
 * A document sequence of NexTrieve, version 1 of lccq-indexers(5). The indexer is gone; its input format is
 * documented in its Perl distribution, and well-formed XML for any other reader. It knows no deletions: a row
 * that is gone, or not shown any more, is a document with an empty text and the attribute `deleted`.
 */
import { escapeText } from '../../lib/xml/escape.js';
import { PAGE_COLUMNS, pageOf, TextPages, type Page } from './page.js';
import { whenThere } from './read-text.js';
import type { Format } from './types.js';

export const ntvml: Format = {
  sides: ['held', 'gone'],
  takesFields: false,
  open(context) {
    const pages = new TextPages(context);
    return {
      columns: PAGE_COLUMNS,
      head: '<?xml version="1.0" encoding="utf-8"?>\n<ntv:docseq xmlns:ntv="http://www.nextrieve.com/1.0">\n',
      record(values) {
        const page = pageOf(values);
        return whenThere(pages.textOf(page, values), found => {
          if (found === undefined) return document(page, element('deleted', '1'), '');
          return document(page, '', `${element('title', found.title)}${element(undefined, found.text)}`);
        });
      },
      tail() {
        pages.end();
        return '</ntv:docseq>\n';
      },
    };
  },
};

function document({ id, burl, mimetype, mtime }: Page, deleted: string, text: string): string {
  const attributes =
    element('id', String(id)) +
    element('url', burl) +
    element('mimetype', mimetype) +
    (mtime === undefined ? '' : element('mtime', mtime)) +
    deleted;
  return `<document><attributes>${attributes}</attributes><text>${text}</text></document>\n`;
}

/** Character data, in an element where it has a name. */
function element(name: string | undefined, value: string): string {
  // A surrogate alone, which XML cannot carry either, becomes U+FFFD when the text is encoded.
  const text = escapeText(value);
  return name === undefined ? text : `<${name}>${text}</${name}>`;
}
