/**
 * The UNS: one connection sends a set of a million urls, from the first byte to `set_accepted`, which follows the sync.
 * The peer writes the same bytes to a file while xmllint parses them, and syncs the file.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../src/db/sqlite/open.js';
import { addProvider } from '../src/db/providers/pidb.js';
import { generatePassword, hashPassword } from '../src/lib/password.js';
import { initMessage } from '../src/wire/cp-uns/client.js';
import { compare, peakRssBytes, requireProgram, shell, timeShell, type Outcome } from './harness.js';

const URLS = 1_000_000;
const ROOT = 'http://www.example.org/';
const LOGINS = 50;
const STRANGERS = 30;
const MAX_LOGIN_MS = 500;
const MAX_RSS_BYTES = 100 * 1024 * 1024;
const bin = join(dirname(fileURLToPath(import.meta.url)), '../../bin');

export async function bench(): Promise<Outcome[]> {
  requireProgram('xmllint', 'libxml2-utils');
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-uns-'));
  const document = join(dir, 'set.xml');
  const password = generatePassword();
  writeDocument(document, password);
  const home = join(dir, 'home');
  let daemon: { child: ChildProcess; port: number } | undefined;
  let rssBytes = 0;
  const stop = async () => {
    if (daemon === undefined) return;
    rssBytes = Math.max(rssBytes, peakRssBytes(daemon.child.pid ?? 0));
    daemon.child.kill('SIGTERM');
    await once(daemon.child, 'exit');
    daemon = undefined;
    rmSync(home, { recursive: true });
  };
  try {
    const outcome = await compare({
      work: `UNS: one connection, ${URLS} urls, synced at the end`,
      amount: URLS,
      unit: 'urls',
      ours: {
        name: 'lccd-uns',
        async prepare() {
          await stop();
          daemon = await startDaemon(home, password);
        },
        run() {
          const sample = timeShell(
            `exec 3<>/dev/tcp/127.0.0.1/${daemon?.port}; cat ${document} >&3; grep -q 'set_accepted received="${URLS}"' <&3`,
          );
          return { ...sample, maxRssBytes: peakRssBytes(daemon?.child.pid ?? 0) };
        },
      },
      peers: [
        {
          contender: shell(
            'tee | xmllint --stream, sync',
            `tee ${dir}/copy < ${document} | xmllint --stream --noout - && sync ${dir}/copy`,
          ),
          atLeast: 0.65,
        },
      ],
    });
    await stop();
    const setRssBytes = rssBytes;
    daemon = await startDaemon(home, password);
    outcome.bounds.push({
      what: `slowest of ${LOGINS} logins beside ${STRANGERS} floods of comments`,
      value: await slowestLoginMs(daemon.port, password),
      atMost: MAX_LOGIN_MS,
      unit: 'ms',
    });
    await stop();
    daemon = await startDaemon(home, password);
    const withQueueManager = await rssBytesWithQueueManager(home, document, daemon);
    await stop();
    outcome.bounds.push({
      what: 'memory of lccd-uns with a Queue Manager that takes the set',
      value: withQueueManager / 2 ** 20,
      atMost: MAX_RSS_BYTES / 2 ** 20,
      unit: 'MB',
    });
    outcome.bounds.push({
      what: 'memory of lccd-uns',
      value: setRssBytes / 2 ** 20,
      atMost: MAX_RSS_BYTES / 2 ** 20,
      unit: 'MB',
    });
    return [outcome];
  } finally {
    daemon?.child.kill('SIGKILL');
    rmSync(dir, { recursive: true });
  }
}

const FLOOD = `
  const { connect } = require('node:net');
  const block = Buffer.from('<!-- x -->\\n'.repeat(6000));
  const begin = () => {
    const socket = connect(Number(process.argv[1]), '127.0.0.1');
    const write = () => { while (!socket.destroyed && socket.write(block)); };
    socket.on('connect', write).on('drain', write).on('error', () => {}).on('close', begin).resume();
  };
  for (let i = 0; i < Number(process.argv[2]); i++) begin();
  setTimeout(() => console.log('floods'), 500);
`;

/** Logins one after the other, while strangers connect, send comments until they are cut off, and connect again. */
async function slowestLoginMs(port: number, password: string): Promise<number> {
  const flood = spawn(process.execPath, ['-e', FLOOD, String(port), String(STRANGERS)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(flood.stdout, 'data');
  try {
    let slowestMs = 0;
    for (let login = 0; login < LOGINS; login++) {
      const startedMs = performance.now();
      const socket = connect(port, '127.0.0.1');
      socket.write(initMessage('1', password));
      await once(socket, 'data');
      slowestMs = Math.max(slowestMs, performance.now() - startedMs);
      socket.destroy();
    }
    return slowestMs;
  } finally {
    flood.kill('SIGKILL');
  }
}

/** The most memory of the UNS while a set comes and goes on to a Queue Manager. */
async function rssBytesWithQueueManager(
  home: string,
  document: string,
  { child, port }: { child: ChildProcess; port: number },
): Promise<number> {
  const qm = spawn(
    join(bin, 'lccd-qm'),
    [`--listen-uns=unix:${home}/none.sock`, `--listen-bm=unix:${home}/bm.sock`],
    { env: { ...process.env, LCC_HOME: home, LCC_CONFIG: '' }, stdio: 'ignore' },
  );
  try {
    timeShell(`exec 3<>/dev/tcp/127.0.0.1/${port}; cat ${document} >&3; grep -q set_accepted <&3`);
    while (!readFileSync(join(home, 'log'), 'utf8').includes('"set absorbed"'))
      await new Promise(resolve => void setTimeout(resolve, 50));
    return peakRssBytes(child.pid ?? 0);
  } finally {
    qm.kill('SIGTERM');
    await once(qm, 'exit');
  }
}

/** One well-formed document for both: the one-shot form, which has one root. */
function writeDocument(path: string, password: string): void {
  const fd = openSync(path, 'w');
  writeSync(
    fd,
    `<notify><init><provider id="1" passwd="${password}"/></init>\n<set set="full" urlprefix="${ROOT}">\n`,
  );
  let lines: string[] = [];
  for (let i = 0; i < URLS; i++) {
    lines.push(
      `<url curl="guide/section-${i >> 8}/page-${i}.html" mimetype="text/html" len="${4000 + (i % 3000)}" mtime="2026-11-20T10:${String(i % 60).padStart(2, '0')}:01Z"/>\n`,
    );
    if (lines.length === 10_000) {
      writeSync(fd, lines.join(''));
      lines = [];
    }
  }
  writeSync(fd, `${lines.join('')}</set></notify>\n`);
  closeSync(fd);
}

/** A daemon with a spool of its own and no Queue Manager, so that the set stays where it was put. */
async function startDaemon(home: string, password: string): Promise<{ child: ChildProcess; port: number }> {
  mkdirSync(home, { recursive: true });
  const db = openDatabase(join(home, 'lcc.db'));
  addProvider(db, 1, hashPassword(password), {}, [ROOT]);
  db.close();
  const log = join(home, 'log');
  const child = spawn(join(bin, 'lccd-uns'), ['--listen=127.0.0.1:0', `--qm=unix:${home}/none.sock`], {
    env: { ...process.env, LCC_HOME: home, LCC_CONFIG: '' },
    stdio: ['ignore', 'ignore', openSync(log, 'w')],
  });
  for (;;) {
    const found = /"endpoint":"127\.0\.0\.1:(\d+)"/.exec(readFileSync(log, 'utf8'));
    if (found !== null) return { child, port: Number(found[1]) };
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}
