/** Units as the lines of a Markdown document. */
import type { Addresses } from './addresses.js';
import { escaped, escapedStart, inline, longestRun } from './inline.js';
import type { Container } from './places.js';
import type { MarkdownUnit } from './units.js';

/** @param addresses undefined: words alone, for a page of which anything else would be too much */
export function written(units: readonly MarkdownUnit[], addresses: Addresses | undefined): string {
  const lines: string[] = [];
  let open: readonly Container[] = [];
  let before: MarkdownUnit | undefined;
  for (const unit of units) {
    const path = addresses === undefined ? [] : (unit.containers ?? []);
    let common = 0;
    while (common < path.length && path[common] === open[common]) common++;
    const inCommon = path.slice(0, common).map(continued).join('');
    if (before !== undefined && !isTight(before, unit, open, path, common)) lines.push(inCommon.trimEnd());
    const first =
      inCommon +
      path
        .slice(common)
        .map(({ marker }) => marker)
        .join('');
    const rest = path.map(continued).join('');
    for (const [i, line] of linesOf(unit, addresses).entries())
      lines.push(((i === 0 ? first : rest) + line).trimEnd());
    open = path;
    before = unit;
  }
  return lines.map(line => `${line}\n`).join('');
}

/** How a container goes on in its further lines. */
function continued({ marker, isItem }: Container): string {
  return isItem ? ' '.repeat(marker.length) : marker;
}

/** True if an item follows the one before, or the words that it is under, without an empty line. */
function isTight(
  before: MarkdownUnit,
  unit: MarkdownUnit,
  open: readonly Container[],
  path: readonly Container[],
  common: number,
): boolean {
  const next = path[common];
  if (before.kind !== 'text' || unit.kind !== 'text' || next?.isItem !== true) return false;
  if (open.length > common) return open[common]?.isItem === true;
  // Among the lines of a paragraph no other number begins a list.
  return path[common - 1]?.isItem === true && (next.marker === '- ' || next.marker === '1. ');
}

/** Without what they stand in. */
function linesOf(unit: MarkdownUnit, addresses: Addresses | undefined): string[] {
  const { kind, lines } = unit;
  if (kind === 'code') {
    const code = lines.map(({ text }) => text).join('\n');
    const fence = '`'.repeat(Math.max(3, longestRun(code) + 1));
    return [fence + (unit.language ?? ''), ...code.split('\n'), fence];
  }
  if (addresses === undefined) return [escapedStart(escaped(lines.map(({ text }) => text).join(' ')))];
  switch (kind) {
    case 'heading':
      return [`${'#'.repeat(unit.level ?? 1)} ${headingOf(unit, addresses)}`];
    case 'table': {
      const [head, ...rows] = lines.map(line => line.written ?? '');
      return [head ?? '', `|${' --- |'.repeat(unit.columns ?? 0)}`, ...rows];
    }
    case 'text':
      return paragraphOf(unit, addresses);
  }
}

function headingOf({ lines }: MarkdownUnit, addresses: Addresses): string {
  const words = lines.map(line => line.written ?? inline(line, addresses)).join(' ');
  // The sign would be taken for the end of the heading.
  return words.replace(/(^|\s)(#+)$/, '$1\\$2');
}

function paragraphOf({ lines }: MarkdownUnit, addresses: Addresses): string[] {
  const written: string[] = [];
  for (const line of lines) {
    if (line.written !== undefined) {
      written.push(line.written);
      continue;
    }
    const words = inline(line, addresses);
    if (words === '') continue;
    const last = written.length - 1;
    if (line.isGoingOn === true && last >= 0) written[last] += ` ${words}`;
    else {
      if (last >= 0) written[last] += '\\';
      written.push(escapedStart(words));
    }
  }
  return written;
}
