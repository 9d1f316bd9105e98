// The table: pieces, their vectors (sqlite-vec, cosine), and their words (FTS5).
import * as sqliteVec from 'sqlite-vec';

// From Node 22.14 on version 13, which comes compiled; before it 12. Node 24.19 and later end when they meet 12.
const name = Number(process.versions.napi) >= 10 ? 'better-sqlite3-13' : 'better-sqlite3';
const { default: Database } = await import(name);

export function openTable(file) {
  const db = new Database(file);
  sqliteVec.load(db);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = NORMAL');
  db.exec(`
    CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT);
    CREATE TABLE IF NOT EXISTS chunks(rowid INTEGER PRIMARY KEY, doc INTEGER, n INTEGER, url TEXT, title TEXT,
      headings TEXT, markdown TEXT, text TEXT, hash TEXT, page INTEGER, UNIQUE(doc, n));
    CREATE INDEX IF NOT EXISTS chunks_hash ON chunks(hash);
    CREATE TABLE IF NOT EXISTS kept(hash TEXT PRIMARY KEY, vector BLOB);
    CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, title, tokenize = 'porter unicode61');
  `);
  return db;
}

/** Vectors have a table once it is known how long they are. */
export function makeVectors(db, size) {
  db.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS vectors USING vec0(vector float[${size}] distance_metric=cosine)`);
}

export const metaOf = (db, key) => db.prepare('SELECT value FROM meta WHERE key = ?').pluck().get(key);
export const setMeta = (db, key, value) => db.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)').run(key, String(value));
