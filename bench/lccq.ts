/** lccq xml against the sqlite3 shell listing the same columns of the same database, 500 000 rows. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../src/db/open.js';
import { compare, requireProgram, shell, timeShell, type Outcome } from './harness.js';

const lccq = join(dirname(fileURLToPath(import.meta.url)), '../../bin/lccq');
const ROWS = 500_000;
/** A tenth of the rows: what memory is compared with, for it must not grow. */
const FEW = ROWS / 10;
/** What lccq prints of every row, `file` and `status` included. */
const COLUMNS =
  'curl, mimetype, subtype, burl, givenfurl, md5, len, mtime, pid, seq, fetched_time, fetched_machineid, ' +
  "fetched_fileid, '/srv/lcc/store/' || fetched_fileid, iif(verified, 'ok', 'unverified')";

export async function bench(): Promise<Outcome[]> {
  requireProgram('sqlite3', 'sqlite3');
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-lccq-'));
  try {
    const many = join(dir, 'many');
    const few = join(dir, 'few');
    fill(many, ROWS);
    fill(few, FEW);
    const options = (home: string) => ({ env: { ...process.env, LCC_HOME: home } });
    const outcome = await compare({
      work: `lccq: ${ROWS / 1000} k rows as xml`,
      amount: ROWS,
      unit: 'rows',
      ours: shell('lccq --format=xml', `${lccq} --format=xml >/dev/null`, options(many)),
      peers: [
        {
          contender: shell(
            'sqlite3 (list)',
            `sqlite3 -readonly ${many}/lcc.db "SELECT ${COLUMNS} FROM lccurl ORDER BY seq" >/dev/null`,
          ),
          atLeast: 0.5,
        },
        { contender: shell('lccq --format=tsv', `${lccq} --format=tsv >/dev/null`, options(many)) },
        { contender: shell('lccq --format=jsonl', `${lccq} --format=jsonl >/dev/null`, options(many)) },
      ],
    });
    const small = timeShell(`${lccq} --format=xml >/dev/null`, options(few)).maxRssBytes ?? NaN;
    const big = timeShell(`${lccq} --format=xml >/dev/null`, options(many)).maxRssBytes ?? NaN;
    outcome.bounds.push({
      what: `memory with ${ROWS / 1000} k rows beyond that with ${FEW / 1000} k`,
      value: (big - small) / 1024 ** 2,
      atMost: 24,
      unit: 'MB',
    });
    return [outcome];
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** A database with the real schema; a row in ten has a browse URL of its own, one in a hundred an `&` in it. */
function fill(home: string, rows: number): void {
  mkdirSync(home, { recursive: true });
  const db = openDatabase(join(home, 'lcc.db'));
  const insert = db.prepare(
    `INSERT INTO lccurl(id, pid, curl, mimetype, burl, md5, len, mtime, fetched_time, fetched_machineid,
       fetched_fileid, psetid, seq) VALUES (?, ?, ?, 'text/html', ?, ?, ?, '2026-11-20T10:13:01Z', ?, 'local', ?, 1, ?)`,
  );
  db.transaction(() => {
    for (let i = 1; i <= rows; i++) {
      const hex = i.toString(16).padStart(32, '0');
      const site = `http://www${i % 16}.example.org`;
      const burl = i % 100 === 0 ? `${site}/?page=${i}&view=full` : i % 10 === 0 ? `${site}/p${i}` : null;
      const file = `${hex.slice(-2)}/${hex.slice(-4, -2)}/${hex.slice(-8)}.1`;
      const curl = `${site}/docs/chapter${i % 100}/page${i}.html`;
      insert.run(i, 1 + (i % 16), curl, burl, hex, 4000 + (i % 1000), 1_795_000_000 + i, file, i);
    }
    db.prepare("UPDATE counter SET value = ? WHERE name = 'seq'").run(rows);
  })();
  db.close();
}
