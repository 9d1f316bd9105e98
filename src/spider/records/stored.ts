/**
 * The contents of a store as a stream of records, in the order of their ids: of each document the record that
 * brought it, and after that the last one, where that was a failure. Sent to an empty store server it makes
 * the same store.
 */
import { join } from 'node:path';
import { StoreDatabase } from '../../db/spider/database.js';
import type { DocumentRow } from '../../db/spider/documents.js';
import { readReasonByte } from '../../wire/spider-codes.js';
import { formatRecordHead } from '../../wire/spider-record.js';
import { LccError } from '../../lib/errors.js';
import { isGone, RecordFiles } from '../store-server/record-files.js';

const PAGE_ROWS = 1000;
/** A document may be replaced while its file is opened. */
const TRIES = 10;

/**
 * @param docId of one document alone
 * @throws LccError `input.missing` when there is no store, `data.malformed` when a file of it is damaged;
 * system errors of the disk
 */
export function* storedRecords(dir: string, docId?: number): Generator<Buffer, void> {
  const db = StoreDatabase.openForReading(join(dir, 'store.db'));
  const files = new RecordFiles(dir);
  try {
    if (docId !== undefined) {
      const row = db.documents.get(docId);
      if (row !== undefined) yield* recordsOf(db, files, row);
      return;
    }
    for (let after = -1; ;) {
      const rows = db.documents.page(after, PAGE_ROWS);
      for (const row of rows) yield* recordsOf(db, files, row);
      const last = rows.at(-1);
      if (last === undefined) return;
      after = last.docId;
    }
  } finally {
    db.close();
  }
}

function* recordsOf(db: StoreDatabase, files: RecordFiles, found: DocumentRow): Generator<Buffer, void> {
  let row = found;
  for (let tries = 1; ; tries++) {
    const { held } = row;
    const file = held?.file == null ? undefined : db.documents.file(held.file);
    if (held === undefined || file === undefined) return yield headOf(row);
    try {
      const record = files.recordOf(file, held);
      yield record;
      if (row.success !== held.isGood || (row.success === 0 && held.docBytes > 0))
        yield* laterFailure(row, record);
      return;
    } catch (error) {
      if (!isGone(error) || tries === TRIES) throw error;
      row = db.documents.get(row.docId) ?? row;
    }
  }
}

/** The last record where it brought no document. */
function* laterFailure(row: DocumentRow, record: Buffer): Generator<Buffer, void> {
  const head = headOf(row);
  // The record of a failure with a document is the last one itself, unless another came after it.
  const isItself = record.subarray(0, 12).equals(head.subarray(0, 12));
  if (!isItself) yield head;
}

/** The last record of a document, without any document. */
function headOf(row: DocumentRow): Buffer {
  const end = readReasonByte(row.reason);
  if (end === undefined)
    throw new LccError('data.malformed', `document ${row.docId}: reason ${row.reason} is reserved`);
  return formatRecordHead({ ...row, ...end, success: row.success === 1, docBytes: 0 });
}
