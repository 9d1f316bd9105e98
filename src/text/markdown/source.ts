/** Units of a document that is plain text, or Markdown already. */
import { tidy } from '../tidy.js';
import { escaped, escapedStart } from './inline.js';
import type { Line, MarkdownUnit } from './units.js';

/** A line takes as much memory as a mark of a page (page-marks.ts). */
const MOST_LINES = 600_000;
/** A part of a text, up to the end of a word. */
const WORDS = /\S[^]{0,1000}(?!\S)|\S+/g;

/** Units of words alone, for a document in which more stands apart than memory is for. */
export function unitsOfWords(text: string): MarkdownUnit[] {
  const lines: Line[] = [];
  for (const [words] of text.matchAll(WORDS)) lines.push(plainLine(tidy(words)));
  return lines.length === 0 ? [] : [{ kind: 'text', lines }];
}

function hasTooManyLines(text: string): boolean {
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0 && lines <= MOST_LINES; at = text.indexOf('\n', at + 1)) lines++;
  return lines > MOST_LINES;
}

/** Paragraphs are parted by empty lines, pages by form feeds, if there are any. */
export function unitsOfPlain(text: string): MarkdownUnit[] {
  if (hasTooManyLines(text)) return unitsOfWords(text);
  const pages = text.split('\f');
  return pages.flatMap((page, i) =>
    page
      .split(/\n(?:[^\S\n]*\n)+/)
      .map(paragraph => paragraph.split('\n').map(plainLine).filter(isLine))
      .filter(lines => lines.length > 0)
      .map(lines => ({ kind: 'text' as const, lines, page: pages.length > 1 ? i + 1 : undefined })),
  );
}

function plainLine(line: string): Line {
  const text = line.trim();
  return { text, written: escapedStart(escaped(text)) };
}

function isLine({ text }: Line): boolean {
  return text !== '';
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#-]{0,20})/;
const HEADING = /^ {0,3}(#{1,6})(?:[^\S\n]+(.*?))?(?:[^\S\n]+#+)?[^\S\n]*$/;

/** Headings, fenced code, and paragraphs of the lines between empty ones, which stay as they are. */
export function unitsOfMarkdown(text: string): MarkdownUnit[] {
  if (hasTooManyLines(text)) return unitsOfWords(text);
  const units: MarkdownUnit[] = [];
  let lines: Line[] = [];
  const endParagraph = () => {
    if (lines.length > 0) units.push({ kind: 'text', lines });
    lines = [];
  };
  const all = text.split('\n');
  for (let at = 0; at < all.length; at++) {
    const line = all[at]?.trimEnd() ?? '';
    const [, fence, language] = FENCE.exec(line) ?? [];
    const [, hashes, title] = HEADING.exec(line) ?? [];
    if (fence !== undefined) {
      endParagraph();
      const from = at + 1;
      const isEnd = (each: string) => /^ {0,3}[`~]+\s*$/.test(each) && each.trim().startsWith(fence);
      for (at = from; at < all.length && !isEnd(all[at] ?? ''); at++);
      const code = all.slice(from, at).join('\n');
      units.push({ kind: 'code', lines: [{ text: code }], language });
    } else if (hashes !== undefined) {
      endParagraph();
      const heading = { text: wordsIn(title ?? ''), written: title ?? '' };
      if (isLine(heading)) units.push({ kind: 'heading', lines: [heading], level: hashes.length });
    } else if (line === '') endParagraph();
    else lines.push({ text: wordsIn(line), written: line });
  }
  endParagraph();
  return units;
}

/** The words of a line of Markdown. */
function wordsIn(line: string): string {
  return line
    .replace(/!\[[^\]]{0,1000}\]\([^)]{0,2048}\)/g, '')
    .replace(/\[([^\]]{0,1000})\](?:\([^)]{0,2048}\)|\[[^\]]{0,200}\])/g, '$1')
    .replace(/(\*{1,3}|_{2,3}|~~|`+)(?=\S)|(?<=\S)(\*{1,3}|_{2,3}|~~|`+)/g, '')
    .replace(/^(?:\s*>)+\s?/, '')
    .replace(/\\([!-/:-@[-`{-~])/g, '$1')
    .replace(/<\/?[a-z][^<>]{0,1000}>/gi, ' ')
    .trim();
}
