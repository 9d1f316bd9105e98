/**
 * SQL that keeps a full-text index (SQLite FTS5) in step: `lccq --cursor=F --format=fts5-sql -- sqlite3 -bail
 * idx.db`.
 *
 * Everything happens in one transaction whose COMMIT is the last line: a stream that is cut leaves the index
 * as it was. Rows are keyed by their id in the LCC DB, which is never used again, so a row whose browse URL
 * changed or that is gone leaves nothing in the index. The index remembers how far it is; a stream that would
 * leave a gap fails.
 */
import { textOf } from '../../text/content.js';
import { pageWriter } from './page.js';
import type { Format, FormatContext } from './types.js';

export const fts5Sql: Format = {
  sides: ['held', 'gone'],
  takesFields: false,
  tellsReached: true,
  open: context => ({
    head: head(context),
    ...pageWriter(
      context,
      textOf,
      ({ id, burl, mimetype, mtime = '' }, found) => {
        const forget = `DELETE FROM pages WHERE rowid = ${id};\n`;
        if (found === undefined) return forget;
        const row = [burl, found.title, found.text, mimetype, mtime].map(quote).join(', ');
        return `${forget}INSERT INTO pages(rowid, burl, title, text, mimetype, mtime) VALUES (${id}, ${row});\n`;
      },
      reachedSeq =>
        `INSERT INTO lcc_cursor VALUES (${quote(context.storeId)}, ${reachedSeq}) ` +
        `ON CONFLICT (store) DO UPDATE SET seq = excluded.seq;\nCOMMIT;\n`,
    ),
  }),
};

function head(context: FormatContext): string {
  const statements = [
    'BEGIN IMMEDIATE',
    'CREATE VIRTUAL TABLE IF NOT EXISTS pages USING fts5(burl UNINDEXED, title, text, mimetype UNINDEXED, mtime UNINDEXED)',
    'CREATE TABLE IF NOT EXISTS lcc_cursor(store TEXT PRIMARY KEY, seq INTEGER NOT NULL)',
    ...(context.sinceSeq === 0 ? ['DELETE FROM pages', 'DELETE FROM lcc_cursor'] : gapCheck(context)),
  ];
  return statements.map(statement => `${statement};\n`).join('');
}

/** Fails, with the constraint's name as the message, unless the index holds what came before this stream. */
function gapCheck({ storeId, sinceSeq }: FormatContext): string[] {
  return [
    'CREATE TEMP TABLE lcc_gap(seq INTEGER CONSTRAINT ' +
      `"this index lacks changes before the cursor; remove the cursor file to load it again" CHECK (seq >= ${sinceSeq}))`,
    `INSERT INTO temp.lcc_gap SELECT coalesce(max(seq), 0) FROM lcc_cursor WHERE store = ${quote(storeId)}`,
    'DROP TABLE temp.lcc_gap',
  ];
}

/** An SQL string; SQLite's shell reads lines, so there is no line break in it (`tidy` saw to that). */
function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
