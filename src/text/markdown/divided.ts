/** A unit in parts, where it is longer than a piece may be. */
import { cutBefore } from './cut.js';
import { escaped, escapedStart } from './inline.js';
import { partsOf } from './marks.js';
import type { Line, MarkdownUnit } from './units.js';

/** The head of a table is repeated where it takes this part of a piece at most. */
const MOST_OF_HEAD = 1 / 3;
/** After a sentence, if that leaves this part of a piece. */
const LEAST_OF_SENTENCES = 1 / 4;
const SENTENCE_END = /[.!?…。！？]['"’”)\]]*\s/g;

/** @param room characters that the next part may have; asked for each */
export function* divided(unit: MarkdownUnit, room: () => number): Generator<MarkdownUnit, void> {
  const { kind, lines } = unit;
  if (kind === 'table') yield* dividedTable(unit, room);
  else if (kind === 'code') yield* inGroups(unit, codeLines(lines, room), room);
  else yield* inGroups(unit, dividedLines(lines, room), room);
}

/** Lines put together as long as there is room. */
function* inGroups(
  unit: MarkdownUnit,
  lines: Iterable<Line>,
  room: () => number,
): Generator<MarkdownUnit, void> {
  let group: Line[] = [];
  let length = 0;
  for (const line of lines) {
    if (group.length > 0 && length + line.text.length + 1 > room()) {
      yield { ...unit, lines: group };
      group = [];
      length = 0;
    }
    group.push(group.length === 0 ? { ...line, isGoingOn: false } : line);
    length += line.text.length + 1;
  }
  if (group.length > 0) yield { ...unit, lines: group };
}

/** After a sentence, else a word, else anywhere between two characters. */
function* dividedLines(lines: readonly Line[], room: () => number): Generator<Line, void> {
  for (const line of lines) {
    if (line.text.length <= room()) {
      yield line;
      continue;
    }
    const ends: number[] = [];
    for (let from = 0; from < line.text.length;)
      ends.push((from = endOfPart(line.text, from, Math.max(1, room()))));
    for (const { text, marks } of partsOf(line, ends)) {
      const words = text.trimEnd();
      if (words === '') continue;
      if (line.written === undefined) yield { text: words, marks };
      else yield { text: words, written: escapedStart(escaped(words)) };
    }
  }
}

function endOfPart(text: string, from: number, most: number): number {
  if (text.length - from <= most) return text.length;
  const some = text.slice(from, from + most + 1);
  let end = 0;
  for (const found of some.matchAll(SENTENCE_END)) end = found.index + found[0].length;
  if (end < LEAST_OF_SENTENCES * most) end = some.lastIndexOf(' ') + 1;
  return from + (end > 0 ? Math.min(end, most) : cutBefore(text.slice(from, from + most + 64), most));
}

function* codeLines(lines: readonly Line[], room: () => number): Generator<Line, void> {
  for (const { text } of lines) {
    for (const line of text.split('\n')) {
      for (let from = 0; ;) {
        const end = endOfPart(line, from, Math.max(1, room()));
        yield { text: line.slice(from, end) };
        if ((from = end) >= line.length) break;
      }
    }
  }
}

function* dividedTable(unit: MarkdownUnit, room: () => number): Generator<MarkdownUnit, void> {
  const { columns = 0, containers, page } = unit;
  const [first = { text: '' }, ...others] = unit.lines;
  const isRepeated = first.text.length <= MOST_OF_HEAD * room();
  const head = isRepeated ? first : { text: '', written: `|${'  |'.repeat(columns)}` };
  const rows = isRepeated ? others : unit.lines;
  let group: Line[] = [];
  let length = head.text.length + 1;
  const part = () => ({ ...unit, lines: [head, ...group] });
  for (const row of rows) {
    if (group.length > 0 && length + row.text.length + 1 > room()) {
      yield part();
      group = [];
      length = head.text.length + 1;
    }
    if (length + row.text.length > room())
      // A row that is longer than a piece is words.
      yield* divided({ kind: 'text', lines: [{ text: row.text }], containers, page }, room);
    else {
      group.push(row);
      length += row.text.length + 1;
    }
  }
  if (group.length > 0) yield part();
}
