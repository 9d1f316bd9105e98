/** Reading tables some rows at a time. */

/**
 * `LIMIT ?` for statements that are carried out for every url or set: SQLite plans with the value of a bare
 * one, so it compiles the statement again each time one is bound, which takes ten times as long as reading a
 * row.
 */
export const AT_MOST = 'LIMIT ? + 0';

/**
 * Pages in the order of a number that may itself be damaged: a row that says it is before others, which
 * SQLite does not notice, must not have them read for ever. Nothing is held between two pages.
 * @param read rows whose number is greater, the least first; none when there are no more
 * @param from all numbers are greater
 */
export function* pagesByNumber<T>(
  read: (after: number) => T[],
  numberOf: (row: T) => number,
  from = Number.MIN_SAFE_INTEGER,
): Generator<T[], void> {
  for (let after = from; ;) {
    const rows = read(after);
    yield rows;
    const last = Math.max(...rows.map(numberOf));
    if (!(last > after)) return;
    after = last;
  }
}

/**
 * Pages in the order of a key, the last one perhaps empty.
 * @param read the first rows after one
 * @param rows of the next page, asked for when that is read
 */
export function* pagesAfter<Key, Row extends Key>(
  read: (after: Key, limit: number) => Row[],
  first: Key,
  rows: () => number,
): Generator<Row[], void> {
  for (let after = first; ;) {
    const limit = rows();
    const page = read(after, limit);
    yield page;
    if (page.length < limit) return;
    after = page.at(-1) ?? after;
  }
}
