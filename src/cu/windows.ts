/**
 * Reading along the change sequence with somebody slow at the other end: a window of it at a time, from a
 * snapshot that is let go before anybody waits. So the database is held for a few milliseconds, however long
 * the reading takes.
 *
 * What changes while it is read moves after the end that was fixed at the beginning, and comes with the next
 * reading: a row may be missing from one answer and is then in the next, never in none.
 */
import type { ColumnName, ColumnValue } from '../db/cache/fields.js';
import type { CacheReader, LineBlock, Selection } from '../db/cache/read.js';
import type { LineTemplate } from '../db/cache/template.js';
import { LccError } from '../lib/errors.js';

/**
 * Numbers of the change sequence looked at in one snapshot: few milliseconds even where nothing is selected.
 */
const WINDOW_CHANGES = 5000;
/** Text kept of one window. */
const WINDOW_LENGTH = 256 * 1024;
const WINDOW_ROWS = 250;

export interface Window<T> {
  items: readonly T[];
  /** Rows in the items. */
  count: number;
  /** Everything up to this number has been read. */
  reachedSeq: number;
}

/** A window of rows, or of lines. */
export type RowWindow = Window<LineBlock | ColumnValue[]>;

/** Numbers of the change sequence: after `since`, to `to`; at most `limit` rows. `began`: see `beganOf`. */
export interface Range {
  since: number;
  to: number;
  limit: number;
  began: number;
}

/** `read` looks at the beginning of a range, within one snapshot, and says how far it came. */
function* windows<T>(
  reader: CacheReader,
  { since, to, limit, began }: Range,
  read: (range: Omit<Range, 'began'>) => Window<T>,
): Generator<Window<T>, void> {
  let left = limit;
  for (let at = reader.startOf({ sinceSeq: since }); at < to && left > 0;) {
    reader.renew();
    let window: Window<T>;
    try {
      if (reader.purged > Math.max(at, began))
        throw new LccError(
          'data.refused',
          'deletions were forgotten before they were read; full resync needed',
        );
      window = read({ since: at, to: Math.min(to, at + WINDOW_CHANGES), limit: left });
    } finally {
      reader.rest();
    }
    at = window.reachedSeq;
    left -= window.count;
    yield window;
  }
}

/** Rows as `CacheReader.rows` and its likes, each with its `seq` in front. */
export function rowWindows(
  reader: CacheReader,
  selection: Selection,
  range: Range,
  columns: readonly ColumnName[],
  kind: 'rows' | 'pages' | 'oldPaths' = 'rows',
  windowLength = WINDOW_LENGTH,
): Generator<Window<ColumnValue[]>, void> {
  return windows(reader, range, ({ since, to, limit }) => {
    const items: ColumnValue[][] = [];
    let length = 0;
    const { streamSinceSeq = range.since } = selection;
    const some = { ...selection, streamSinceSeq, sinceSeq: since, toSeq: to };
    for (const row of reader[kind](some, ['seq', ...columns])) {
      items.push(row);
      for (const value of row) if (typeof value === 'string') length += value.length;
      if (items.length === Math.min(WINDOW_ROWS, limit) || length >= windowLength)
        return { items, count: items.length, reachedSeq: Number(row[0]) };
    }
    return { items, count: items.length, reachedSeq: to };
  });
}

/** Lines as `CacheReader.lines`. */
export function lineWindows(
  reader: CacheReader,
  selection: Selection,
  range: Range,
  template: LineTemplate,
): Generator<Window<LineBlock>, void> {
  let rows = 1;
  return windows(reader, range, ({ since, to, limit }) => {
    const some = { ...selection, sinceSeq: since, toSeq: to };
    for (const block of reader.lines(some, template, Math.min(rows, limit))) {
      // As many as fit, judged by those before.
      const fit = Math.floor((WINDOW_LENGTH * block.count) / Math.max(1, block.bytes.length));
      rows = Math.max(1, Math.min(WINDOW_ROWS, fit));
      return { items: [block], count: block.count, reachedSeq: block.lastSeq };
    }
    return { items: [], count: 0, reachedSeq: to };
  });
}
