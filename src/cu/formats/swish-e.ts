/**
 * Documents for SWISH-E 2.4: `swish-e -S prog -i stdin`, version 1 of lccq-indexers(5).
 *
 * An index of SWISH-E cannot be changed, only merged with another, where of two documents with one path the
 * one with the later Last-Mtime wins: that is the time of the change in the LCC, for documents may come with
 * any date. A deletion is a document of one word. Within one index equal paths stay beside each other, so
 * every page is told once.
 */
import { decodedOf, textOf, type TextSource } from '../../text/content.js';
import { asciiHtml, asciiPieces, latin1Text } from '../../text/encode.js';
import { escapeText } from '../../lib/xml/escape.js';
import { pageWriter, type Page } from './page.js';
import type { Format, Part } from './types.js';

/** All that a deleted page consists of: an index of nothing but empty documents cannot be made. */
const TOMBSTONE = Buffer.from('lccdeletedpage\n');

export const swishE: Format = {
  sides: ['held', 'gone'],
  takesFields: false,
  keyedByUrl: true,
  open: context =>
    pageWriter(context, bodyOf, (page, body) => {
      if (body !== undefined) return document(page, ...body);
      // A first load has nothing to forget.
      return context.sinceSeq > 0 ? document(page, 'TXT*', [TOMBSTONE]) : '';
    }),
};

function* document({ burl, changedTime }: Page, type: string, body: Buffer[]): Generator<Part, void> {
  const length = body.reduce((sum, piece) => sum + piece.length, 0);
  yield `Path-Name: ${burl}\nContent-Length: ${length}\nLast-Mtime: ${changedTime}\nDocument-Type: ${type}\n\n`;
  yield* body;
}

/** HTML as it is, for its headings and keywords count; of XML the text, for the parser gives up at the first
 * mistake. */
function bodyOf(bytes: Buffer, source: TextSource): [type: string, body: Buffer[]] | undefined {
  const { mimetype } = source;
  if (mimetype === 'text/html' || mimetype === 'application/xhtml+xml') {
    const document = decodedOf(bytes, source);
    return document === undefined ? undefined : ['HTML*', asciiHtml(document.text)];
  }
  const found = textOf(bytes, source);
  if (found === undefined) return undefined;
  const { title, text } = found;
  if (!/[/+]xml$/.test(mimetype)) return ['TXT*', [latin1Text(text)]];
  const xml =
    '<?xml version="1.0" encoding="us-ascii"?>\n' +
    `<page><swishtitle>${escapeText(title)}</swishtitle>\n${escapeText(text)}</page>\n`;
  return ['XML*', asciiPieces(xml)];
}
