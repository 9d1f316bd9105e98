/**
 * lccq against what does the same with a database or with files: the sqlite3 shell listing the same columns, the same as
 * JSON, GNU tar of the same files; and a run over one change in a hundred against a full one.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fileIdOf } from '../src/db/names/naming.js';
import { openDatabase, type Db } from '../src/db/sqlite/open.js';
import { compare, median, requireProgram, shell, timeShell, type Outcome } from './harness.js';

const lccq = join(dirname(fileURLToPath(import.meta.url)), '../../bin/lccq');
const ROWS = 500_000;
const PAGES = 20_000;
/** Rows of a transaction while filling. */
const FILL_ROWS = 50_000;
const FILL_CACHE_KIB = 6 * 1024 * 1024;
const FILL_CHECKPOINT_PAGES = 250_000;
/** Identity of each store, by its home. */
const STORES = new Map<string, string>();
/** What memory is compared with, for it must not grow: as many as are made by two threads, too. */
const FEW = ROWS / 5;
/** Rows of which one in a hundred has changed. */
const MILLION = 1_000_000;
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
        {
          contender: shell(
            'sqlite3 -json',
            `sqlite3 -readonly -json ${many}/lcc.db "SELECT ${COLUMNS} FROM lccurl ORDER BY seq" >/dev/null`,
          ),
        },
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
    const million = join(dir, 'million');
    fill(million, MILLION);
    return [outcome, await increment(million, options(million)), await archive(dir)];
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** One change in a hundred, told by a cursor, against all of them; what a run costs where nothing changed is told apart. */
async function increment(home: string, options: { env: NodeJS.ProcessEnv }): Promise<Outcome> {
  const storeId = STORES.get(home);
  const cursor = join(home, 'cursor');
  const changed = MILLION / 100;
  const command = `${lccq} --cursor=${cursor} --format=xml >/dev/null`;
  const since = (changes: number) => () =>
    writeFileSync(cursor, `lcc-cursor 1 ${storeId} ${MILLION - changes}\n`);
  const unchanged: number[] = [];
  const ours = shell('lccq --cursor, 1 % changed', command, options);
  const outcome = await compare({
    work: `lccq: ${changed / 1000} k changes of a million rows since a cursor`,
    amount: changed,
    unit: 'changes',
    ours: { ...ours, prepare: since(changed) },
    peers: [
      {
        contender: {
          ...shell('lccq, all of them', `${lccq} --format=xml >/dev/null`, options),
          prepare: () => {
            since(0)();
            unchanged.push(timeShell(command, options).seconds);
          },
        },
      },
    ],
  });
  const start = median(unchanged);
  const [one = NaN, all = NaN] = outcome.lines.map(line => changed / line.ratePerSecond);
  outcome.bounds.push({
    what: 'time beyond that of a run without changes, of that of all rows',
    value: (100 * (one - start)) / (all - start),
    atMost: 3,
    unit: '%',
  });
  outcome.notes = [
    `a run without changes: ${(1000 * start).toFixed(0)} ms; with it, ${((100 * one) / all).toFixed(1)} % of the time of all rows`,
  ];
  return outcome;
}

/**
 * Content written as tar, md5 checked on the way, against GNU tar of the same files, which checks nothing. All write into a
 * pipe: tar(1) reads no file when it writes to /dev/null.
 */
async function archive(dir: string): Promise<Outcome> {
  const home = join(dir, 'archive');
  const bytes = Buffer.alloc(4096, 'content of a page, four kilobytes of it. ');
  fill(home, PAGES, (file, i) => {
    bytes.writeUInt32LE(i);
    mkdirSync(dirname(join(home, 'store', file)), { recursive: true });
    writeFileSync(join(home, 'store', file), bytes);
    return createHash('md5').update(bytes).digest('hex');
  });
  const options = { env: { ...process.env, LCC_HOME: home } };
  const run = (format: string) =>
    shell(`lccq --format=${format}`, `${lccq} --format=${format} | cat >/dev/null`, options);
  return compare({
    work: `lccq: ${PAGES / 1000} k pages of 4 KB as an archive`,
    amount: PAGES,
    unit: 'pages',
    ours: run('tar'),
    peers: [
      { contender: shell('GNU tar', `tar -C ${home}/store -cf - . | cat >/dev/null`), atLeast: 0.7 },
      { contender: run('warc') },
      { contender: run('jsonl --content') },
      { contender: run('jsonl --text') },
    ],
  });
}

/** A database with the real schema. @param write makes the file of a row; returns its md5 */
export function fill(home: string, rows: number, write?: (file: string, i: number) => string): void {
  mkdirSync(home, { recursive: true });
  const db = openDatabase(join(home, 'lcc.db'));
  // Keys come scattered: the pages of the indexes stay in memory until all is written.
  db.pragma('synchronous = OFF');
  db.pragma(`cache_size = -${FILL_CACHE_KIB}`);
  db.pragma(`wal_autocheckpoint = ${FILL_CHECKPOINT_PAGES}`);
  const insert = rowInserter(db, write);
  // A transaction of ten million rows would be kept in the write-ahead log as a whole.
  for (let from = 1; from <= rows; from += FILL_ROWS) {
    db.transaction(() => {
      for (let i = from; i < from + FILL_ROWS && i <= rows; i++) insert(i);
    })();
  }
  db.prepare("UPDATE counter SET value = ? WHERE name = 'seq'").run(rows);
  const storeId = db.prepare("SELECT value FROM meta WHERE key = 'store_id'").pluck().get();
  STORES.set(home, String(storeId));
  db.close();
}

/** Inserts row i: one in ten has a browse URL of its own, one in a hundred an `&` in it. */
export function rowInserter(db: Db, write?: (file: string, i: number) => string): (i: number) => void {
  const insert = db.prepare(
    `INSERT INTO lccurl(id, pid, curl, mimetype, burl, md5, len, mtime, fetched_time, fetched_machineid,
       fetched_fileid, psetid, seq)
     VALUES ($id, $pid, $curl, $mimetype, $burl, $md5, $len, $mtime, $fetched_time, $fetched_machineid,
       $fetched_fileid, 1, $seq)`,
  );
  return i => {
    const hex = i.toString(16).padStart(32, '0');
    const site = `http://www${i % 16}.example.org`;
    const file = fileIdOf({ id: i, gen: 1 });
    const url = {
      pid: 1 + (i % 16),
      curl: `${site}/docs/chapter${i % 100}/page${i}.html`,
      mimetype: 'text/html',
      subtype: null,
      burl: i % 100 === 0 ? `${site}/?page=${i}&view=full` : i % 10 === 0 ? `${site}/p${i}` : null,
      furl: null,
    };
    const content = {
      id: i,
      seq: i,
      md5: write?.(file, i) ?? hex,
      len: write === undefined ? 4000 + (i % 1000) : 4096,
      mtime: '2026-11-20T10:13:01Z',
      saidmd5: null,
      saidlen: null,
      etag: null,
      lastmodified: null,
      verified: 1,
      fetched_time: 1_795_000_000 + i,
      fetched_machineid: 'local',
      fetched_fileid: file,
    };
    insert.run({ ...url, ...content });
  };
}
