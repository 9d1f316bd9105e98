/**
 * The QM absorbs a set of a million urls: lccd-qm, from the first byte a UNS sends to `absorbed`, which follows the last
 * commit. The peer is the sqlite3 shell putting the same rows into the same table, indexes and all, durably, from CSV in
 * one transaction. Scattered keys with duplicates are upserted by the shell from a table in memory.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../src/db/open.js';
import { setStart, unsHello, SET_END } from '../src/wire/uns-qm.js';
import { compare, peakRssBytes, requireProgram, timeShell, type Outcome } from './harness.js';

const URLS = Number(process.env['LCC_BENCH_URLS'] ?? 1_000_000);
const PREFIX = 'http://www.example.org/';
/** Of so many distinct keys drawn at random, 45 of 100 draws are repetitions. */
const DISTINCT = 0.71;
const MTIME = '2026-11-20T10:13:01Z';
const MTIME_S = Date.parse(MTIME) / 1000;
const bin = join(dirname(fileURLToPath(import.meta.url)), '../../bin');

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
  let daemon: ChildProcess | undefined;
  let stateBytes = NaN;
  let restartMs = NaN;
  const fresh = () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(peerDb + suffix, { force: true });
    openDatabase(peerDb).close();
  };
  const stop = async (signal: NodeJS.Signals) => {
    if (daemon === undefined) return;
    daemon.kill(signal);
    await once(daemon, 'exit');
    daemon = undefined;
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
          await stop('SIGKILL');
          rmSync(home, { recursive: true, force: true });
          mkdirSync(join(home, 'run'), { recursive: true });
          const db = openDatabase(join(home, 'lcc.db'));
          db.prepare("INSERT INTO pidb(pid, password, filesmax) VALUES (7, 'x', 1e9)").run();
          db.close();
          daemon = await startDaemon(home);
        },
        async run() {
          const seconds = await sendSet(home, set);
          return { seconds, maxRssBytes: peakRssBytes(daemon?.pid ?? 0) };
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
    await stop('SIGKILL');
    restartMs = await timeToFirstFetch(home, child => (daemon = child));
    await stop('SIGTERM');
    stateBytes = stateBytesPerUrl(join(home, 'lcc.db'));
    outcome.bounds.push(
      { what: 'queue state beyond the urls’ own text', value: stateBytes, atMost: 120, unit: 'bytes a url' },
      {
        what: 'restart to first fetch, start of the process included',
        value: restartMs,
        atMost: 1000,
        unit: 'ms',
      },
    );
    return outcome;
  } finally {
    await stop('SIGKILL');
    rmSync(dir, { recursive: true });
  }
}

function writeInputs(order: 'ordered' | 'scattered', set: string, csv: string): void {
  const setFd = openSync(set, 'w');
  const csvFd = openSync(csv, 'w');
  writeSync(
    setFd,
    unsHello('bench') +
      setStart({
        entry: 'e1',
        pid: 7,
        seq: 1,
        set: 'partial',
        urlprefix: PREFIX,
        received: URLS,
        errseen: 0,
        ip: '',
        atS: 1,
      }),
  );
  let xml = '';
  let rows = '';
  let state = 1;
  for (let i = 0; i < URLS; i++) {
    // A linear congruential generator: the same keys in every run.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const key = order === 'ordered' ? i : Math.floor((state / 2 ** 32) * URLS * DISTINCT);
    const curl = `docs/section${String(Math.floor(key / 1000)).padStart(4, '0')}/page-${String(key).padStart(8, '0')}.html`;
    xml += `<url curl="${curl}" mimetype="text/html" len="${1000 + (i % 5000)}" mtime="${MTIME}"/>\n`;
    rows += `${i + 1},7,${PREFIX}${curl},text/html,1,,-1,0,1,1,0,,,,,${1000 + (i % 5000)},${MTIME_S},,${Math.imul(i, 2654435761)}\n`;
    if (xml.length > 1 << 20) {
      writeSync(setFd, xml);
      writeSync(csvFd, rows);
      xml = rows = '';
    }
  }
  writeSync(setFd, xml + SET_END);
  writeSync(csvFd, rows);
  closeSync(setFd);
  closeSync(csvFd);
}

function importCommand(order: 'ordered' | 'scattered', db: string, csv: string): string {
  const columns =
    'pos,pid,curl,mimetype,psetid,named,slot,tries,gen,op,flags,subtype,burl,furl,md5,len,mtime,tod,sum';
  const statements =
    order === 'ordered'
      ? [`.import --csv ${csv} qdb`]
      : [
          'PRAGMA temp_store = MEMORY',
          `CREATE TEMP TABLE staged(${columns})`,
          `.import --csv ${csv} staged`,
          `INSERT INTO qdb SELECT * FROM staged WHERE true ON CONFLICT(pid, curl, mimetype)
             DO UPDATE SET gen = gen + 1, len = excluded.len, mtime = excluded.mtime`,
        ];
  const quoted = ['PRAGMA synchronous = FULL', ...statements].map(sql => `"${sql}"`);
  return `sqlite3 ${db} ${quoted.join(' ')}`;
}

async function startDaemon(home: string): Promise<ChildProcess> {
  const child = spawn(
    join(bin, 'lccd-qm'),
    [`--listen-uns=unix:${home}/run/uns.sock`, `--listen-bm=unix:${home}/run/bm.sock`],
    { env: { ...process.env, LCC_HOME: home }, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  const { stderr } = child;
  stderr?.on('data', data => (log += String(data)));
  while (!log.includes('"ready"')) {
    if (child.exitCode !== null) throw new Error(`lccd-qm ended: ${log}`);
    await new Promise(resolve => setTimeout(resolve, 5));
  }
  return child;
}

async function sendSet(home: string, set: string): Promise<number> {
  const socket = connect(`${home}/run/uns.sock`);
  await once(socket, 'connect');
  const startedMs = performance.now();
  createReadStream(set, { highWaterMark: 1 << 16 }).pipe(socket, { end: false });
  let text = '';
  for await (const data of socket) {
    text += String(data);
    if (text.includes('<lococa:absorbed')) break;
    if (text.includes('<lococa:busy')) throw new Error('lccd-qm is busy');
  }
  if (!text.includes('<lococa:absorbed')) throw new Error(`lccd-qm closed the connection: ${text}`);
  return (performance.now() - startedMs) / 1000;
}

/** From starting the process on the full queue until a Bot Manager is sent the first url. */
async function timeToFirstFetch(home: string, started: (child: ChildProcess) => void): Promise<number> {
  rmSync(`${home}/run/bm.sock`, { force: true });
  const startedMs = performance.now();
  const ready = startDaemon(home);
  while (!existsSync(`${home}/run/bm.sock`)) await new Promise(resolve => setTimeout(resolve, 1));
  const socket = connect(`${home}/run/bm.sock`);
  socket.write('<lococa:bm machineid="m1" slots="1"/>\n');
  await once(socket, 'data');
  const ms = performance.now() - startedMs;
  socket.destroy();
  started(await ready);
  return ms;
}

function stateBytesPerUrl(path: string): number {
  const db = openDatabase(path);
  try {
    const one = (sql: string) => Number(db.prepare(sql).pluck().get());
    const urls = one('SELECT count(*) FROM qdb');
    const text = urls * MTIME.length + one('SELECT total(length(curl) + length(mimetype)) FROM qdb');
    db.pragma('wal_checkpoint(TRUNCATE)');
    return (one('PRAGMA page_count') * one('PRAGMA page_size') - text) / urls;
  } finally {
    db.close();
  }
}
