/** Knowledge of a store server about its documents, and the files that they are in. */
import { SqlStore } from '../sqlite/sql-store.js';

/** The last record of a document; urls as `urlText` has them, bytes as in the record. */
export interface LastRecord {
  docId: number;
  url: string;
  newUrl: string;
  success: 0 | 1;
  reason: number;
  http: number;
  durationMs: number;
  atMs: number;
}

/** A document, and the record that brought it in a file: a document is the last `docBytes` bytes of its
 * record. */
export interface HeldDocument {
  docBytes: number;
  md5: string;
  /** Fetched well: only another one that was takes its place. */
  isGood: 0 | 1;
  /** Null: it is empty, and in no file. */
  file: number | null;
  /** Position of the record in the file, before it is uncompressed. */
  position: number;
  storedBytes: number;
}

export interface DocumentRow extends LastRecord {
  held: HeldDocument | undefined;
}

export interface DocumentFile {
  id: number;
  isCompressed: 0 | 1;
  bytes: number;
}

type Row = LastRecord & { [K in keyof HeldDocument]: HeldDocument[K] | null };

/** Columns of a document that is not there. */
const NOTHING = { docBytes: null, md5: null, isGood: 0, file: null, position: 0, storedBytes: 0 } as const;

const COLUMNS = `doc_id AS docId, url, new_url AS newUrl, success, reason, http, ms AS durationMs, at AS atMs,
  len AS docBytes, md5, is_good AS isGood, file, pos AS position, bytes AS storedBytes`;
const FILE_COLUMNS = 'id, compressed AS isCompressed, bytes';

export class DocumentStore extends SqlStore {
  readonly #put = this.sql.run<unknown[]>(
    `INSERT OR REPLACE INTO doc(doc_id, url, new_url, success, reason, http, ms, at, len, md5, is_good, file, pos, bytes)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  readonly #live = this.sql.run<[bytes: number, file: number]>(
    'UPDATE file SET live_bytes = live_bytes + ? WHERE id = ?',
  );

  readonly get = this.sql.row<[docId: number], Row, DocumentRow>(
    `SELECT ${COLUMNS} FROM doc WHERE doc_id = ?`,
    rowOf,
  );

  /** In the order of their ids, a page at a time. @param after -1: from the first on */
  readonly page = this.sql.rows<[after: number, limit: number], Row, DocumentRow>(
    `SELECT ${COLUMNS} FROM doc WHERE doc_id > ? ORDER BY doc_id LIMIT ?`,
    rowOf,
  );

  /** Those whose record is in a file. */
  readonly ofFile = this.sql.rows<[id: number], Row, DocumentRow>(
    `SELECT ${COLUMNS} FROM doc WHERE file = ? ORDER BY pos`,
    rowOf,
  );

  /** Writes rows, each in the place of the one before as `get` has it. Inside a transaction. */
  putAll(rows: readonly { row: DocumentRow; before: DocumentRow | undefined }[]): void {
    const live = new Map<number, number>();
    const count = (held: HeldDocument | undefined, sign: 1 | -1) => {
      if (typeof held?.file === 'number')
        live.set(held.file, (live.get(held.file) ?? 0) + sign * held.storedBytes);
    };
    for (const { row, before } of rows) {
      const { docId, url, newUrl, success, reason, http, durationMs, atMs, held } = row;
      const { docBytes, md5, isGood, file, position, storedBytes } = held ?? NOTHING;
      // Named parameters, an object for each row, take longer.
      this.#put(
        docId,
        url,
        newUrl,
        success,
        reason,
        http,
        durationMs,
        atMs,
        docBytes,
        md5,
        isGood,
        file,
        position,
        storedBytes,
      );
      count(before?.held, -1);
      count(held, 1);
    }
    for (const [file, bytes] of live) this.#live(bytes, file);
  }

  /** A new file, none of whose records is referred to yet. Inside a transaction. */
  readonly addFile = this.sql.run<[file: DocumentFile]>(
    'INSERT INTO file VALUES ($id, $isCompressed, $bytes, 0)',
  );

  readonly file = this.sql.row<[id: number], DocumentFile>(`SELECT ${FILE_COLUMNS} FROM file WHERE id = ?`);

  /** A file less than half of which is referred to. */
  readonly spareFile = this.sql.row<[], DocumentFile>(
    `SELECT ${FILE_COLUMNS} FROM file WHERE live_bytes * 2 < bytes AND live_bytes > 0 ORDER BY id LIMIT 1`,
  );

  /** Files nothing of which is referred to. */
  readonly deadFiles = this.sql.rows<[limit: number], DocumentFile>(
    `SELECT ${FILE_COLUMNS} FROM file WHERE live_bytes * 2 < bytes AND live_bytes = 0 ORDER BY id LIMIT ?`,
  );

  /** Numbers of files that rows may refer to. */
  readonly files = this.sql.rows<[after: number, limit: number], DocumentFile>(
    `SELECT ${FILE_COLUMNS} FROM file WHERE id > ? ORDER BY id LIMIT ?`,
  );

  readonly #letGo = this.sql.changes<[file: number]>(
    `UPDATE doc SET len = NULL, md5 = NULL, is_good = 0, file = NULL, pos = 0, bytes = 0 WHERE file = ?`,
  );
  readonly #dropFile = this.sql.run<[id: number]>('DELETE FROM file WHERE id = ?');

  /** A file is not there: its documents are not, either. Inside a transaction. @returns how many */
  lose(id: number): number {
    const lost = this.#letGo(id);
    this.#dropFile(id);
    return lost;
  }

  readonly forgetFile = this.sql.run<[id: number]>('DELETE FROM file WHERE id = ? AND live_bytes = 0');

  /** The highest number that a file has had; 0 of none. */
  readonly lastFile = this.sql.number("SELECT seq FROM sqlite_sequence WHERE name = 'file'");

  /** Counts all rows: some milliseconds for ten thousand. */
  readonly counts = this.sql.one<[], { documents: number; bytes: number }>(
    'SELECT count(*) AS documents, coalesce(sum(len), 0) AS bytes FROM doc',
  );
}

function rowOf({ docBytes, md5, isGood, file, position, storedBytes, ...last }: Row): DocumentRow {
  if (docBytes === null || md5 === null) return { ...last, held: undefined };
  return {
    ...last,
    held: {
      docBytes,
      md5,
      isGood: isGood ?? 0,
      file,
      position: position ?? 0,
      storedBytes: storedBytes ?? 0,
    },
  };
}
