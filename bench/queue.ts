/**
 * The queue of a Queue Manager beside what one would use instead: Scrapy's scheduler with JOBDIR, and a table in SQLite.
 * A million urls go in and come out again; ours are given to a Bot Manager that answers at once, and each has its row in
 * lccurl before it counts. Then each is filled and killed, and what it still has is counted.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../src/db/sqlite/open.js';
import { requireProgram, timeShell, type Line, type Outcome, type Sample } from './harness.js';
import { addProviders } from './lcc.js';
import { BenchQm, PREFIX, urlTag } from './qm.js';

const URLS = 1_000_000;
const PROVIDERS = 100;
const SLOTS = 64;
const peers = join(dirname(fileURLToPath(import.meta.url)), '../../bench/peers');

interface Measured {
  name: string;
  fill: Sample;
  drain: Sample;
  /** Size of the full queue, per url, the urls included. */
  bytes: number;
  leftAfterKill: number;
}

export async function bench(): Promise<Outcome[]> {
  requireProgram('scrapy', 'python3-scrapy');
  const ours = await measureQm();
  const all = [
    ours,
    measurePeer('SQLite table', 'sqlite_queue.py'),
    measurePeer('Scrapy', 'scrapy_queue.py'),
  ];
  const outcome = (work: string, part: 'fill' | 'drain', notes: string[]): Outcome => ({
    work: `A queue of ${URLS.toLocaleString('en-US')} urls: ${work}`,
    unit: 'urls',
    rounds: 1,
    lines: all.map(one => lineOf(one, part, ours)),
    bounds: [],
    notes,
  });
  return [
    outcome('taken in', 'fill', [
      ...all.map(
        ({ name, bytes }) => `${name}: ${bytes.toFixed(0)} bytes on disk per url, its text included`,
      ),
      ...all.map(
        ({ name, leftAfterKill }) =>
          `${name}: killed (-9) with all of them taken in, lost ${URLS - leftAfterKill} of ${URLS}`,
      ),
    ]),
    outcome('given out and done', 'drain', []),
  ];
}

function lineOf(one: Measured, part: 'fill' | 'drain', ours: Measured): Line {
  return {
    name: one.name,
    ratePerSecond: URLS / one[part].seconds,
    maxRssBytes: one[part].maxRssBytes,
    ...(one === ours ? {} : { ratio: one[part].seconds / ours[part].seconds }),
  };
}

async function measureQm(): Promise<Measured> {
  const home = mkdtempSync(join(tmpdir(), 'lcc-bench-queue-'));
  const qm = new BenchQm(home);
  const timed = async (work: () => Promise<void>): Promise<Sample> => {
    const startedMs = performance.now();
    await work();
    return { seconds: (performance.now() - startedMs) / 1000, maxRssBytes: qm.peakRssBytes };
  };
  try {
    addProviders(join(home, 'lcc.db'), PROVIDERS, PREFIX);
    await qm.start();
    const fill = await timed(async () => {
      const link = await qm.connectUns();
      const each = URLS / PROVIDERS;
      for (let pid = 1; pid <= PROVIDERS; pid++) await link.set(pid, each, tags((pid - 1) * each, each));
      link.close();
    });
    await qm.stop('SIGKILL');
    const leftAfterKill = qm.count('qdb');
    // The last process that closes the database leaves it like this, without its log.
    openDatabase(join(home, 'lcc.db')).close();
    const bytes = sizeBytes(home) / URLS;
    await qm.start();
    const drain = await timed(() => qm.fetchAll(URLS, SLOTS));
    if (qm.count('lccurl') !== URLS) throw new Error(`${qm.count('lccurl')} of ${URLS} rows`);
    return { name: 'lccd-qm', fill, drain, bytes, leftAfterKill };
  } finally {
    await qm.stop('SIGKILL');
    rmSync(home, { recursive: true });
  }
}

function* tags(first: number, count: number): Generator<string> {
  for (let i = first; i < first + count; i++)
    yield urlTag(
      `docs/section${String(Math.floor(i / 1000)).padStart(4, '0')}/page-${String(i).padStart(8, '0')}.html`,
      4096,
    );
}

function measurePeer(name: string, script: string): Measured {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-queue-'));
  const run = (action: string, path: string) =>
    `/usr/bin/python3 ${join(peers, script)} ${action} ${join(dir, path)}`;
  try {
    const fill = timeShell(`${run('fill', 'a')} ${URLS}`);
    const bytes = sizeBytes(dir) / URLS;
    const drain = timeShell(`test $(${run('drain', 'a')}) = ${URLS}`);
    spawnSync('sh', ['-c', `${run('fill-and-die', 'b')} ${URLS}`]);
    const left = spawnSync('sh', ['-c', run('drain', 'b')]).stdout.toString();
    return { name, fill, drain, bytes, leftAfterKill: Number(left) };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function sizeBytes(dir: string): number {
  return readdirSync(dir, { recursive: true })
    .map(file => statSync(join(dir, String(file))))
    .reduce((sum, stats) => sum + (stats.isFile() ? stats.size : 0), 0);
}
