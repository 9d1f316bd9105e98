/**
 * The store server of the Spider: one connection brings a stream of records, from the first byte to the last acknowledgement,
 * which follows the syncs. The peer writes the same bytes to a file and syncs it every 20 ms, and has no socket to read from.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatRecordHead } from '../../src/wire/spider-record.js';
import {
  compare,
  peakRssBytes,
  removeAtEnd,
  requireProgram,
  shell,
  timeShell,
  type Outcome,
} from '../harness.js';

const TOTAL_BYTES = Number(process.env['LCC_BENCH_BYTES'] ?? 400 * 1024 * 1024);
const MAX_RSS_BYTES = 256 * 1024 * 1024;
const AT_LEAST = 0.5;
const HELLO_BYTES = 8;
const ACK_BYTES = 4;
const bin = join(dirname(fileURLToPath(import.meta.url)), '../../../bin');

/** Bytes of a page, and what such pages are. */
const SIZES: readonly [bytes: number, what: string][] = [
  [10 * 1024, 'pages of 10 KB'],
  [1024 * 1024, 'documents of 1 MB'],
];

/** cat, with an fsync every 20 ms and one at the end. */
const CAT = `
import os, sys, time
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
last = time.monotonic()
while data := os.read(0, 131072):
    os.write(out, data)
    if time.monotonic() - last >= 0.02:
        os.fsync(out)
        last = time.monotonic()
os.fsync(out)
`;

export async function benchStore(): Promise<Outcome[]> {
  requireProgram('python3', 'python3');
  const outcomes: Outcome[] = [];
  for (const [docBytes, what] of SIZES) outcomes.push(await benchSize(docBytes, what));
  return outcomes;
}

async function benchSize(docBytes: number, what: string): Promise<Outcome> {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-stored-'));
  removeAtEnd(dir);
  const stream = join(dir, 'stream');
  const records = writeStream(stream, docBytes);
  let daemon: { child: ChildProcess; port: number } | undefined;
  let rssBytes = 0;
  let round = 0;
  const stop = async () => {
    if (daemon === undefined) return;
    rssBytes = Math.max(rssBytes, peakRssBytes(daemon.child.pid ?? 0));
    daemon.child.kill('SIGTERM');
    await once(daemon.child, 'exit');
    daemon = undefined;
    rmSync(join(dir, `home-${round}`), { recursive: true });
  };
  const outcome = await compare({
    work: `Store server: one connection, ${records} ${what}, each acknowledged when it is on disk`,
    amount: records,
    unit: 'records',
    ours: {
      name: 'lccstored',
      async prepare() {
        await stop();
        daemon = await startStore(join(dir, `home-${++round}`));
      },
      run() {
        const answerBytes = HELLO_BYTES + ACK_BYTES * records;
        const sample = timeShell(
          `exec 3<>/dev/tcp/127.0.0.1/${daemon?.port}; cat ${stream} >&3 & head -c ${answerBytes} <&3 | wc -c | grep -qx ${answerBytes}; wait $!`,
        );
        return { ...sample, maxRssBytes: peakRssBytes(daemon?.child.pid ?? 0) };
      },
    },
    peers: [
      {
        contender: shell('cat, fsync every 20 ms', `python3 -c '${CAT}' ${dir}/copy <${stream}`),
        atLeast: AT_LEAST,
      },
      { contender: shell('cp, sync', `cp ${stream} ${dir}/copy && sync ${dir}/copy`) },
    ],
  });
  await stop();
  outcome.bounds.push({
    what: `largest resident set of lccstored, ${what}`,
    value: rssBytes / 1024 / 1024,
    atMost: MAX_RSS_BYTES / 1024 / 1024,
    unit: 'MB',
  });
  return outcome;
}

/** @returns how many records */
function writeStream(path: string, docBytes: number): number {
  const records = Math.ceil(TOTAL_BYTES / docBytes);
  const fd = openSync(path, 'w');
  for (let docId = 0; docId < records; docId++) {
    const url = `http://www.example.org/pages/${docId}.html`;
    const head = formatRecordHead({
      docId,
      success: true,
      reason: 'ok',
      redirected: false,
      cut: false,
      http: 20,
      durationMs: 100,
      url,
      newUrl: '',
      docBytes,
    });
    writeSync(fd, Buffer.concat([head, randomBytes(docBytes)]));
  }
  closeSync(fd);
  return records;
}

async function startStore(home: string): Promise<{ child: ChildProcess; port: number }> {
  const child = spawn(process.execPath, [join(bin, 'lccstored'), '--listen=127.0.0.1:0'], {
    env: { ...process.env, LCC_HOME: home, LCC_CONFIG: '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  for await (const text of child.stderr.setEncoding('utf8')) {
    log += String(text);
    if (log.includes('"event":"ready"')) break;
  }
  return { child, port: Number(/"endpoint":"127\.0\.0\.1:(\d+)"/.exec(log)?.[1]) };
}
