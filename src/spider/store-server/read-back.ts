/**
 * A start of the store server: store.db and the files are made to agree. Files that store.db does not know
 * are read back, and never removed: a kill before a commit leaves some, whose records were not acknowledged
 * yet and may be kept all the same; a store.db that is older, empty or new does not know many, on which all
 * depends that was acknowledged. A file that it knows and that is not there takes its documents with it.
 * Failures and empty documents are in no file.
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { crc32, inflateRawSync } from 'node:zlib';
import type { StoreDatabase } from '../../db/spider/database.js';
import type { DocumentFile } from '../../db/spider/documents.js';
import { errnoOf, LccError, messageOf } from '../../lib/errors.js';
import type { Log } from '../../lib/log.js';
import { RecordReader } from '../../wire/spider-record.js';
import { rowOf, type RecordPlace } from './group-writer.js';
import { lastOf, type ReceivedRecord } from './received-record.js';
import type { RecordFiles } from './record-files.js';
import { changesOf } from './what-counts.js';

/** Bytes of a file that are read at a time; the longest compressed part of a file is shorter than the
 * largest. */
const CHUNK_BYTES = 1024 * 1024;
const LARGEST_CHUNK_BYTES = 64 * CHUNK_BYTES;
/** Files that are looked for in one go. */
const PAGE_FILES = 1000;
/** A compressed part as gzip(1) writes it: a header without names, and the checksum and length at the end. */
const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0]);
const GZIP_HEAD_BYTES = 10;
const GZIP_END_BYTES = 8;

interface ReadBackParts {
  db: StoreDatabase;
  files: RecordFiles;
  log: Log;
}

/** A record as it stands in a file. */
interface Found {
  record: ReceivedRecord;
  place: RecordPlace;
}

/** Resolves when every document that is in a file is in a row. @throws LccError as `write` of the database;
 * system errors of the disk */
export async function readBack({ db, files, log }: ReadBackParts): Promise<void> {
  const counts = { files: 0, documents: 0, missing_files: 0, lost_documents: 0 };
  for (let after = 0, page: DocumentFile[]; (page = db.documents.files(after, PAGE_FILES)).length > 0;) {
    after = page.at(-1)?.id ?? after;
    const gone = page.filter(file => !files.has(file));
    counts.missing_files += gone.length;
    for (const { id } of gone) counts.lost_documents += db.write(() => db.documents.lose(id));
  }
  for (const file of files.after(db.documents.lastFile())) {
    counts.files++;
    counts.documents += readFile(db, files, file, log);
    await turn();
  }
  await db.synced();
  if (counts.files > 0 || counts.missing_files > 0)
    log.warn('store.db did not agree with the files of records, which were read back', counts);
}

/** Puts the documents of a file into rows. @returns how many */
function readFile(
  db: StoreDatabase,
  files: RecordFiles,
  file: Omit<DocumentFile, 'bytes'>,
  log: Log,
): number {
  const path = files.pathOf(file);
  const keptMs = Math.round(statSync(path).mtimeMs);
  const found: Found[] = [];
  let bytes = 0;
  try {
    bytes = readRecords(path, file, found);
  } catch (error) {
    if (!(error instanceof LccError)) throw error;
    // Without a length it is never taken for one that has room to give back.
    log.error('a file of records is damaged: what stands before that is read back, and the file stays', {
      path,
      records: found.length,
      error: messageOf(error),
    });
  }
  const places = new Map(found.map(({ record, place }) => [record.content, place]));
  const find = (docId: number) => db.documents.get(docId);
  return db.write(() => {
    db.documents.addFile({ ...file, bytes });
    const { changes } = changesOf(
      found.map(({ record }) => record),
      find,
      keptMs,
    );
    db.documents.putAll(
      changes.map(change => ({
        row: rowOf(change, change.content && places.get(change.content)),
        before: change.before,
      })),
    );
    return changes.length;
  });
}

/** Reads all records of a file. @returns its length @throws LccError `data.malformed` or `data.cut` after
 * those that are whole */
function readRecords(path: string, file: Omit<DocumentFile, 'bytes'>, found: Found[]): number {
  const reader = new RecordReader();
  const records = new RecordsOf(file.id, found);
  const fd = openSync(path, 'r');
  try {
    const length =
      file.isCompressed === 1 ? readParts(fd, path, reader, records) : readPlain(fd, reader, records);
    reader.end();
    return length;
  } finally {
    closeSync(fd);
  }
}

function readPlain(fd: number, reader: RecordReader, records: RecordsOf): number {
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  for (let at = 0; ;) {
    const read = readSync(fd, chunk, 0, chunk.length, at);
    if (read === 0) return at;
    records.take(reader, chunk.subarray(0, read), () => reader.offset);
    at += read;
  }
}

/** Part after part: a record ends with one. */
function readParts(fd: number, path: string, reader: RecordReader, records: RecordsOf): number {
  let chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  for (let at = 0; ;) {
    const read = readSync(fd, chunk, 0, chunk.length, at);
    if (read === 0) return at;
    let taken = 0;
    for (let part; (part = partAt(chunk.subarray(taken, read))) !== undefined;) {
      taken += part.size;
      const end = at + taken;
      records.take(reader, part.content, () => end);
    }
    if (taken === 0) {
      // The part goes on beyond what was read, unless it is none.
      if (read < chunk.length || chunk.length >= LARGEST_CHUNK_BYTES)
        throw new LccError('data.malformed', `${path}: byte ${at}: no part of a compressed file`);
      chunk = Buffer.allocUnsafeSlow(chunk.length * 4);
    }
    at += taken;
  }
}

/** The content of a compressed part at the beginning of some bytes, and its size there; undefined: there is
 * no whole part. */
function partAt(bytes: Buffer): { content: Buffer; size: number } | undefined {
  if (!bytes.subarray(0, GZIP_HEAD.length).equals(GZIP_HEAD)) return undefined;
  const { content, consumed } = inflated(bytes.subarray(GZIP_HEAD_BYTES)) ?? {};
  if (content === undefined || consumed === undefined) return undefined;
  const end = GZIP_HEAD_BYTES + consumed;
  const size = end + GZIP_END_BYTES;
  if (bytes.length < size || bytes.readUInt32LE(end) !== crc32(content)) return undefined;
  return { content, size };
}

function inflated(bytes: Buffer): { content: Buffer; consumed: number } | undefined {
  try {
    const { buffer, engine } = inflateRawSync(bytes, { info: true }) as unknown as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    return { content: buffer, consumed: engine.bytesWritten };
  } catch (error) {
    if (errnoOf(error)?.startsWith('Z_') === true) return undefined;
    throw error;
  }
}

/** Records that come one after the other, each as what is known of one that was received. */
class RecordsOf {
  readonly #file: number;
  readonly #found: Found[];
  #hash = createHash('md5');
  #last: ReceivedRecord['last'] | undefined;
  #docBytes = 0;
  #headBytes = 0;
  #position = 0;

  constructor(file: number, found: Found[]) {
    this.#file = file;
    this.#found = found;
  }

  /** @param endOf where in the file what was read until now ends */
  take(reader: RecordReader, bytes: Buffer, endOf: () => number): void {
    for (const part of reader.read(bytes)) {
      if (part.kind === 'body') this.#hash.update(part.bytes);
      else if (part.kind === 'end') this.#end(endOf());
      else {
        this.#hash = createHash('md5');
        this.#docBytes = part.record.docBytes;
        this.#headBytes = part.bytes.length;
        this.#last = lastOf(part.record);
      }
    }
  }

  #end(end: number): void {
    if (this.#last === undefined) return;
    const record: ReceivedRecord = {
      kind: 'received',
      last: this.#last,
      docBytes: this.#docBytes,
      md5: this.#hash.digest('hex'),
      content: { kind: 'short', pieces: [] },
      bytes: this.#headBytes + this.#docBytes,
      kept: () => undefined,
      lost: () => undefined,
    };
    const place = { file: this.#file, position: this.#position, storedBytes: end - this.#position };
    this.#position = end;
    this.#found.push({ record, place });
  }
}
