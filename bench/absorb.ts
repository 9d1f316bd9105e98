/**
 * The QM absorbs a set of a million urls: lccd-qm, from the first byte a UNS sends to `absorbed`, which follows the last
 * commit. The peer is the sqlite3 shell putting the same rows into the same table, indexes and all, durably, from CSV in
 * one transaction. Scattered keys with duplicates are upserted by the shell from a table in memory.
 */
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { STEPS } from '../src/db/sqlite/open.js';
import { openSqlite } from '../src/lib/sqlite.js';
import { readChunksAt } from '../src/lib/stdio.js';
import { compare, requireProgram, timeShell, type Outcome } from './harness.js';
import { addProviders } from './lcc.js';
import { BenchQm, MTIME, PREFIX, urlTag } from './qm.js';

const URLS = Number(process.env['LCC_BENCH_URLS'] ?? 1_000_000);
/** With this many distinct keys drawn at random, 45 of 100 draws are repetitions. */
const DISTINCT = 0.71;
const MTIME_S = Date.parse(MTIME) / 1000;

/** Version of lcc.db. */
const WITH_TEXT_TWICE = 7;

export async function bench(): Promise<Outcome[]> {
  requireProgram('sqlite3', 'sqlite3');
  return [await absorb('ordered', 1.3), await absorb('scattered', 0.5)];
}

async function absorb(order: 'ordered' | 'scattered', atLeast: number): Promise<Outcome> {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-absorb-'));
  const home = join(dir, 'home');
  const set = join(dir, 'set.xml');
  const csv = join(dir, 'rows.csv');
  const peerDb = join(dir, 'peer.db');
  writeInputs(order, set, csv);
  let qm = new BenchQm(home);
  const fresh = () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(peerDb + suffix, { force: true });
    // The text in the row and in its index, as the queue itself had it before.
    const db = openSqlite(peerDb);
    db.pragma('journal_mode = WAL');
    for (const step of STEPS.slice(0, WITH_TEXT_TWICE)) db.exec(step);
    db.close();
  };
  try {
    const outcome = await compare({
      work: `QM: ${URLS} urls absorbed durably, keys ${order === 'ordered' ? 'in order' : 'scattered, 45 % of them repeated'}`,
      amount: URLS,
      unit: 'urls',
      rounds: 3,
      ours: {
        name: 'lccd-qm',
        async prepare() {
          await qm.stop('SIGKILL');
          rmSync(home, { recursive: true, force: true });
          qm = new BenchQm(home);
          addProviders(join(home, 'lcc.db'), 1, PREFIX);
          await qm.start();
        },
        async run() {
          const link = await qm.connectUns();
          const startedMs = performance.now();
          await link.set(1, URLS, contentOf(set));
          const seconds = (performance.now() - startedMs) / 1000;
          link.close();
          return { seconds, maxRssBytes: qm.peakRssBytes };
        },
      },
      peers: [
        {
          contender: {
            name: 'sqlite3',
            prepare: fresh,
            run: () => timeShell(importCommand(order, peerDb, csv)),
          },
          atLeast,
        },
      ],
    });
    await qm.stop('SIGKILL');
    const restartMs = await qm.startToFirstFetch();
    await qm.stop('SIGTERM');
    outcome.bounds.push(
      {
        what: 'queue state beyond the urls’ own text',
        value: qm.stateBytesPerUrl(),
        atMost: 64,
        unit: 'bytes a url',
      },
      {
        what: 'restart to first fetch, start of the process included',
        value: restartMs,
        atMost: 1000,
        unit: 'ms',
      },
    );
    return outcome;
  } finally {
    await qm.stop('SIGKILL');
    rmSync(dir, { recursive: true });
  }
}

function* contentOf(path: string): Generator<string> {
  const fd = openSync(path, 'r');
  try {
    for (const chunk of readChunksAt(fd, 0, path)) yield chunk.toString('latin1');
  } finally {
    closeSync(fd);
  }
}

function writeInputs(order: 'ordered' | 'scattered', set: string, csv: string): void {
  const setFd = openSync(set, 'w');
  const csvFd = openSync(csv, 'w');
  let xml = '';
  let rows = '';
  let state = 1;
  for (let i = 0; i < URLS; i++) {
    // A linear congruential generator: the same keys in every run.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const key = order === 'ordered' ? i : Math.floor((state / 2 ** 32) * URLS * DISTINCT);
    const curl = `docs/section${String(Math.floor(key / 1000)).padStart(4, '0')}/page-${String(key).padStart(8, '0')}.html`;
    xml += urlTag(curl, 1000 + (i % 5000));
    rows += `${i + 1},1,${PREFIX}${curl},text/html,1,1,-1,0,1,1,0,,,,,${1000 + (i % 5000)},${MTIME_S},\n`;
    if (xml.length > 1 << 20) {
      writeSync(setFd, xml);
      writeSync(csvFd, rows);
      xml = rows = '';
    }
  }
  writeSync(setFd, xml);
  writeSync(csvFd, rows);
  closeSync(setFd);
  closeSync(csvFd);
}

function importCommand(order: 'ordered' | 'scattered', db: string, csv: string): string {
  const columns =
    'pos,pid,curl,mimetype,psetid,named,slot,tries,gen,op,flags,subtype,burl,furl,md5,len,mtime,tod';
  const statements =
    order === 'ordered'
      ? [`.import --csv ${csv} qdb`]
      : [
          'PRAGMA temp_store = MEMORY',
          `CREATE TEMP TABLE staged(${columns})`,
          `.import --csv ${csv} staged`,
          `INSERT INTO qdb(${columns}) SELECT * FROM staged WHERE true ON CONFLICT(pid, curl, mimetype)
             DO UPDATE SET gen = gen + 1, len = excluded.len, mtime = excluded.mtime`,
        ];
  const quoted = ['PRAGMA synchronous = FULL', ...statements].map(sql => `"${sql}"`);
  return `sqlite3 ${db} ${quoted.join(' ')}`;
}
