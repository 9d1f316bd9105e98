/** Rows that do not agree with their sums, found a page at a time by reading all of them. */
import { ROW_COLUMNS, type QueueRow } from './queue/row.js';
import type { Db } from './open.js';
import { pagesByNumber } from './paging.js';
import {
  checkWaiting,
  CONTENT_SUM_TEXT,
  DELETION_SUM_TEXT,
  type ErrorRow,
  isSoundError,
  isSoundText,
  OLD_PATH_SUM_TEXT,
} from './sums.js';

const PAGE_ROWS = 1000;

export interface DamagedRow {
  /** Its rowid: qdb.pos, lccurl.id. */
  id: number;
  pid: number;
  curl: string;
}

/** One of what content users are told to be gone. */
export interface DamagedDeletion {
  table: 'tombstone' | 'oldpath';
  /** As it stands there: it may be what is damaged. */
  seq: number;
  pid: number;
}

export interface DamagedError {
  errseq: number;
  pid: number;
}

/** As SQLite says of a damaged table: the next start looks at all of the database. */
export function corrupt(message: string): Error {
  return Object.assign(new Error(message), { code: 'SQLITE_CORRUPT' });
}

/** Of qdb. A page is read whole before its damaged rows are given out: they may be removed. */
export function* damagedWaiting(db: Db): Generator<DamagedRow, void> {
  const page = db.prepare<[number, number], QueueRow>(
    `SELECT ${ROW_COLUMNS} FROM qdb WHERE pos > ? ORDER BY pos LIMIT ?`,
  );
  const pages = pagesByNumber(
    after => page.all(after, PAGE_ROWS),
    row => row.pos,
  );
  for (const rows of pages)
    for (const row of rows)
      if (checkWaiting(row) === undefined) yield { id: row.pos, pid: row.pid, curl: row.curl };
}

/** Of lccurl. */
export function* damagedContent(db: Db): Generator<DamagedRow, void> {
  for (const found of damagedContentPages(db)) yield* found;
}

/** Of lccurl, a page at a time, as `damagedDeletions`. @param pageRows rows read at a time */
export function* damagedContentPages(db: Db, pageRows = PAGE_ROWS): Generator<DamagedRow[], void> {
  const page = db.prepare<[number, number], DamagedRow & { text: string; sum: number | null }>(
    `SELECT id, pid, curl, sum, ${CONTENT_SUM_TEXT} AS text FROM lccurl WHERE id > ? ORDER BY id LIMIT ?`,
  );
  const pages = pagesByNumber(
    after => page.all(after, pageRows),
    row => row.id,
  );
  for (const rows of pages)
    yield rows
      .filter(({ text, sum }) => !isSoundText(text, sum))
      .map(({ id, pid, curl }) => ({ id, pid, curl }));
}

/** Of tombstone and oldpath, a page at a time: one may have none. */
export function* damagedDeletions(db: Db): Generator<DamagedDeletion[], void> {
  for (const [table, sumText] of [
    ['tombstone', DELETION_SUM_TEXT],
    ['oldpath', OLD_PATH_SUM_TEXT],
  ] as const) {
    const page = db.prepare<[number, number], { seq: number; pid: number; text: string; sum: number | null }>(
      `SELECT seq, pid, sum, ${sumText} AS text FROM ${table} WHERE seq > ? ORDER BY seq LIMIT ?`,
    );
    const pages = pagesByNumber(
      after => page.all(after, PAGE_ROWS),
      row => row.seq,
    );
    for (const rows of pages)
      yield rows
        .filter(({ text, sum }) => !isSoundText(text, sum))
        .map(({ seq, pid }) => ({ table, seq, pid }));
  }
}

/** Of pierr, a page at a time, as `damagedDeletions`. */
export function* damagedErrors(db: Db): Generator<DamagedError[], void> {
  const page = db.prepare<[number, number], ErrorRow>(
    'SELECT errseq, pid, code, text, attrs, sum FROM pierr WHERE errseq > ? ORDER BY errseq LIMIT ?',
  );
  const pages = pagesByNumber(
    after => page.all(after, PAGE_ROWS),
    row => row.errseq,
  );
  for (const rows of pages)
    yield rows.filter(row => !isSoundError(row)).map(({ errseq, pid }) => ({ errseq, pid }));
}
