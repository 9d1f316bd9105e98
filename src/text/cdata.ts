/**
 * `<![CDATA[` in HTML. It begins a comment that ends with the next `>`; in drawings and formulas it is a
 * section of text, as in XML. The tokenizer has it everywhere as in XML, so it is shown another name, under
 * which it is such a comment.
 */
export const CDATA = '<![CDATA[';
/** As long. */
const HIDDEN = '<!_CDATA_';
const END = ']]>';
/** Length of what the tokenizer calls the beginning of a comment. */
const BEFORE = '<!'.length;

/** A document as long, for the tokenizer. */
export function hideCdata(html: string): string {
  return html.includes(CDATA) ? html.replaceAll(CDATA, HIDDEN) : html;
}

/** Text in place of frames is read, as that in place of scripts is: the tokenizer takes it for text without
 * tags, unless the element has another name for it. */
export function hideNoframes(html: string): string {
  return html.replace(/<noframes/gi, '<no_rames');
}

/** The section of text whose comment begins there, without which the document goes on at `end`. */
export function sectionAt(source: string, commentStart: number): { text: string; end: number } | undefined {
  if (!source.startsWith(CDATA, commentStart - BEFORE)) return undefined;
  const start = commentStart - BEFORE + CDATA.length;
  const end = source.indexOf(END, start);
  if (end < 0) return { text: source.slice(start), end: source.length };
  return { text: source.slice(start, end), end: end + END.length };
}
