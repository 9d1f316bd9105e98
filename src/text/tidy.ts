/** White space as a reader sees it. */

/** Characters in words that are none of them: NUL, hyphens that show only where a line is broken, byte order
 * marks. */
const NOT_IN_WORDS = /[\0\u00ad\ufeff]/g;
/** White space that is not one blank. */
const WIDE = /[^\S ]\s*| \s+/g;
const LINE_ENDS = new Set('\n\r\f');
/** Replacing takes memory for each match: a long text is gone through in pieces. */
const PIECE = 16 * 1024;

/** One blank between words. */
export function tidy(text: string): string {
  return narrowed(text).trim();
}

/** The same of a part of a text: a blank at its beginning or end stays. */
export function narrowed(text: string): string {
  if (text.length <= PIECE) return narrow(text);
  const pieces: string[] = [];
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = Math.min(text.length, from + PIECE);
    while (to < text.length && isWhite(text, to)) to++;
    pieces.push(flat(narrow(text.slice(from, to))));
  }
  return pieces.join('');
}

/** Lines and their indentation as they are, without blanks at their ends or empty lines around them. */
export function tidyLines(text: string): string {
  const pieces: string[] = [];
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = afterLine(text, from + PIECE);
    const lines = withoutUnseen(text.slice(from, to)).replace(/\r\n?|\f/g, '\n');
    pieces.push(lines.split('\n').map(withoutEnd).join('\n'));
  }
  return trimLines(pieces.join(''));
}

/** Where the line ends that `at` is in. */
function afterLine(text: string, at: number): number {
  let end = at;
  while (end < text.length && !LINE_ENDS.has(text.charAt(end))) end++;
  return Math.min(text.length, text.startsWith('\r\n', end) ? end + 2 : end + 1);
}

/** Not by a pattern: it would try each blank of a long run that is not at the end of its line. */
function withoutEnd(line: string): string {
  return line.trimEnd();
}

/** Not by a pattern: one that looks for the end tries every line on its way there. */
function trimLines(text: string): string {
  let from = 0;
  let to = text.length;
  while (text[from] === '\n') from++;
  while (to > from && text[to - 1] === '\n') to--;
  return text.slice(from, to);
}

/**
 * V8 keeps a text put together from parts as a chain of them, four times as large and more. Looking for a
 * pattern makes one string of it; looking at a character does so no longer on Node 24, and not everywhere on
 * Node 20.
 */
export function flat(text: string): string {
  /^$/.test(text);
  return text;
}

function narrow(text: string): string {
  return withoutUnseen(text).replace(WIDE, ' ');
}

function withoutUnseen(text: string): string {
  const isIn = text.includes('\u00ad') || text.includes('\0') || text.includes('\ufeff');
  return isIn ? text.replace(NOT_IN_WORDS, '') : text;
}

function isWhite(text: string, at: number): boolean {
  return /\s/.test(text.charAt(at));
}
