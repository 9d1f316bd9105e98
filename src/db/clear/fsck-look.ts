/** Questions of lccfsck to clear.db, and its changes there: the caller has the locks of both daemons then. */
import type { Db } from '../../lib/sqlite.js';
import { Sql } from '../sqlite/sql-store.js';

/** Lines of each check of SQLite that are reported; damage seldom comes alone. */
const MAX_LINES = 20;
/** Publications between a backup and what was put back in its place are fewer. */
const SKIPPED_SEQS = 10_000_000;

interface ClearFault {
  kind: 'database' | 'counter';
  what: string;
  /** Puts it right. Inside a transaction. */
  mend: () => void;
}

/** Faults of the file and its indexes that SQLite finds. @throws SQLITE_CORRUPT and its like */
export function integrityOf(db: Db): string[] {
  const lines = db.pragma(`integrity_check(${MAX_LINES})`) as { integrity_check: string }[];
  return lines.map(line => line.integrity_check).filter(line => line !== 'ok');
}

/** Rows that do not agree with each other. @throws SQLITE_CORRUPT and its like */
export function faultsOf(db: Db, nowMs: number): ClearFault[] {
  const faults: ClearFault[] = [];
  const strays = db.pragma('foreign_key_check') as { table: string; rowid: number | null; parent: string }[];
  const tables = new Map(strays.map(({ table, parent }) => [table, parent]));
  for (const [table, parent] of tables)
    faults.push({
      kind: 'database',
      what: `table ${table} has rows without their ${parent}`,
      mend: () => removeStrays(db, table),
    });
  const sql = new Sql(db);
  const stateless = sql.values<[], string>(
    'SELECT name FROM rail WHERE name NOT IN (SELECT rail FROM rail_status)',
  );
  for (const name of stateless())
    faults.push({
      kind: 'database',
      what: `rail ${name} has no state, and is not cleared`,
      mend: () => {
        db.prepare("INSERT INTO rail_status VALUES (?, 'UP', ?, 'admin', '')").run(name, nowMs);
      },
    });
  for (const [counter, given] of [
    [
      'publish_seq',
      `max((SELECT coalesce(max(publish_seq), 0) FROM page_publish_info), (SELECT coalesce(max(seq), 0) FROM rail_backlog))`,
    ],
    ['last_stamp', '(SELECT coalesce(max(made_ms), 0) FROM generated_page)'],
  ] as const) {
    const is = sql.value<[], number>(`SELECT value FROM counter WHERE name = '${counter}'`)() ?? -1;
    const should = sql.number(`SELECT ${given}`)();
    if (is < should)
      faults.push({
        kind: 'counter',
        what: `${counter} is ${Math.max(is, 0)}, and ${should} has been given out`,
        mend: () => {
          db.prepare('INSERT OR REPLACE INTO counter VALUES (?, ?)').run(counter, should);
        },
      });
  }
  return faults;
}

/** Lets the database begin again with what it knows: other marks, numbers and names that were never given
 * out, and every page that was ever published is published once more. Inside a transaction. */
export function beginClearAnew(db: Db, nowMs: number): void {
  db.exec("INSERT OR REPLACE INTO meta VALUES ('store_id', lower(hex(randomblob(16))))");
  const last = new Sql(db).number("SELECT value FROM counter WHERE name = 'publish_seq'")();
  const base = last + SKIPPED_SEQS;
  const pages = db
    .prepare<{ base: number; nowMs: number }>(
      `UPDATE page_publish_info SET publish_seq = $base + place, published_ms = $nowMs, attempts = 0, next_try_ms = 0
       FROM (SELECT url AS u, target AS t, row_number() OVER (ORDER BY publish_seq) AS place FROM page_publish_info)
       WHERE url = u AND target = t`,
    )
    .run({ base, nowMs }).changes;
  const put = db.prepare<[string, number]>(
    'INSERT INTO counter VALUES (?, ?) ON CONFLICT DO UPDATE SET value = max(value, excluded.value)',
  );
  put.run('publish_seq', base + pages);
  put.run('last_stamp', nowMs);
  put.run('mark', 0);
}

function removeStrays(db: Db, table: string): void {
  const keys = db.prepare<[string], { id: number; to: string; from: string; parent: string }>(
    'SELECT id, "from", "to", "table" AS parent FROM pragma_foreign_key_list(?)',
  );
  for (const { from, to, parent } of keys.all(table))
    db.exec(`DELETE FROM ${table} WHERE ${from} NOT IN (SELECT ${to} FROM ${parent})`);
}
