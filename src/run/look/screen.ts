/** The part of a text that fits on a terminal: the beginning, where what matters stands. */

/**
 * @param columns of the terminal; longer lines take several rows of it
 * @returns lines for at most `rows`, the last of which says how many lines are left off; no newline at the
 *   end, which would make the terminal scroll
 */
export function fitScreen(text: string, columns: number, rows: number): string {
  const lines = text.replace(/\n$/, '').split('\n');
  const rowsOf = (line: string) => Math.max(1, Math.ceil(line.length / columns));
  const taken = lines.map(rowsOf);
  if (sum(taken) <= rows) return lines.join('\n');
  let shown = 0;
  for (let left = rows - 1; (taken[shown] ?? Infinity) <= left; shown++) left -= taken[shown] ?? 0;
  const more = lines.length - shown;
  return [...lines.slice(0, shown), `(${more} ${more === 1 ? 'line' : 'lines'} more)`.slice(0, columns)].join(
    '\n',
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
