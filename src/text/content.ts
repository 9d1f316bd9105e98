/** The text in content, by its type. */
import { decodeDocument } from './decode.js';
import { pageText, tidy, type PageText, type TextWanted } from './html.js';

/** Whether there is text in content of this type. */
export function holdsText(mimetype: string): boolean {
  return mimetype.startsWith('text/') || isMarkup(mimetype);
}

/** What was found in a document, and the encoding it was in (a name of the Encoding Standard). */
export interface DocumentText extends PageText {
  charset: string;
}

/**
 * @param mimetype one that `holdsText`
 * @param wanted `all`: every word on one line; `readable`: the content of a page, a line per paragraph
 */
export function textOf(bytes: Uint8Array, mimetype: string, wanted: TextWanted = 'all'): DocumentText {
  const markup = isMarkup(mimetype);
  const { text: document, charset } = decodeDocument(bytes, markup);
  if (markup) return { ...pageText(document, wanted, mimetype !== 'text/html'), charset };
  return { title: '', text: wanted === 'all' ? tidy(document) : tidyLines(document), charset };
}

function tidyLines(text: string): string {
  return text
    .split(/[\r\n]+/)
    .map(line => tidy(line))
    .filter(line => line !== '')
    .join('\n');
}

/** Whether content of this type is HTML or XML. */
export function isMarkup(mimetype: string): boolean {
  return /^(text\/(html|xml)|application\/xml|.*\+xml)$/.test(mimetype);
}
