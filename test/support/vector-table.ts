/** Tables that examples/vectors keeps: SQLite by its program, PostgreSQL by the statements of its README. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { load } from 'sqlite-vec';
import { openSqlite } from '../../src/lib/sqlite.js';
import { ROOT } from './tree.js';

export const VECTORS = join(ROOT, 'examples/vectors');

/** Of 256 numbers, as the README's table has them; each is exact in any form. */
export const vectorOf = (text: string): number[] => [
  ...createHash('sha256').update(text).digest(),
  ...Array.from({ length: 224 }, () => 0),
];

/** All that a table of SQLite holds, but for the numbers of its rows. */
export function sqliteRows(file: string): Record<string, unknown>[] {
  const db = openSqlite(file);
  try {
    load(db);
    // Nothing was ever embedded.
    if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'vectors'").get() === undefined) return [];
    const rows = db
      .prepare(
        `SELECT doc, n, url, chunks.title, headings, markdown, chunks.text, hash, vec_to_json(vector) AS vector, words.text AS words
         FROM chunks LEFT JOIN vectors ON vectors.rowid = chunks.rowid LEFT JOIN words ON words.rowid = chunks.rowid ORDER BY doc, n`,
      )
      .all() as Record<string, unknown>[];
    for (const table of ['vectors', 'words'])
      assert.equal(
        db.prepare(`SELECT count(*) FROM ${table}`).pluck().get(),
        rows.length,
        `${table} without a piece`,
      );
    return rows;
  } finally {
    db.close();
  }
}

/** The statements of the README, in their order. */
export function postgresStatements() {
  const readme = readFileSync(join(VECTORS, 'README.md'), 'utf8');
  const section = readme.slice(readme.indexOf('## PostgreSQL'), readme.indexOf('## LangChain'));
  const statements = [...section.matchAll(/^ {4}(.*;)$/gm)].map(([, statement = '']) => statement);
  assert.equal(statements.length, 7);
  const [extension = '', table = '', index = '', reset = '', there = '', upsert = '', remove = ''] =
    statements;
  const search = /`(SELECT url, text[^`]*)`/.exec(section)?.[1] ?? '';
  return { schema: [extension, table, index], reset, there, upsert, remove, search };
}

/** @param folder where it stays; in memory without one */
export const openPostgres = (folder?: string): Promise<PGlite> =>
  PGlite.create({ ...(folder !== undefined && { dataDir: folder }), extensions: { vector } });

export async function postgresRows(folder: string): Promise<Record<string, unknown>[]> {
  const db = await openPostgres(folder);
  try {
    const { rows } = await db.query<Record<string, unknown>>(
      `SELECT doc, n, url, title, text, hash, embedding::text AS vector FROM chunks ORDER BY doc, n`,
    );
    return rows;
  } finally {
    await db.close();
  }
}
