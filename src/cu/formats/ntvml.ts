/**
 * A document sequence of NexTrieve, version 1 of lccq-indexers(5). The indexer is gone; its input format is
 * documented in its Perl distribution, and well-formed XML for any other reader. It knows no deletions: a row
 * that is gone, or not shown any more, is a document with an empty text and the attribute `deleted`.
 */
import { escapeText } from '../../lib/xml/escape.js';
import { textOf } from '../../text/content.js';
import { pageWriter, type Page } from './page.js';
import type { Format } from './types.js';

export const ntvml: Format = {
  sides: ['held', 'gone'],
  takesFields: false,
  open: context => ({
    head: '<?xml version="1.0" encoding="utf-8"?>\n<ntv:docseq xmlns:ntv="http://www.nextrieve.com/1.0">\n',
    ...pageWriter(
      context,
      textOf,
      (page, found) =>
        found === undefined
          ? document(page, element('deleted', '1'), '')
          : document(page, '', `${element('title', found.title)}${escapeText(found.text)}`),
      () => '</ntv:docseq>\n',
    ),
  }),
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

/** A surrogate alone, which XML cannot carry either, becomes U+FFFD when the text is encoded. */
function element(name: string, value: string): string {
  return `<${name}>${escapeText(value)}</${name}>`;
}
