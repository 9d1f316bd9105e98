/**
 * A hundred providers with a set of 100 000 urls each, and one of them alone: what ten million waiting urls cost in memory,
 * on disk and at a restart, and whether taking them grows slower as the queue grows. And one provider with a million sets of
 * a url each: what those cost in memory and at a restart, and when all of them have waited for an hour of the day that
 * begins.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Outcome } from './harness.js';
import { addProviders } from './lcc.js';
import { BenchQm, PREFIX, urlTag } from './qm.js';

const SET_URLS = 100_000;
const MOST_URLS = Number(process.env['LCC_BENCH_SCALE_URLS'] ?? 10_000_000);
/**
 * The page cache (40 MiB, db/sqlite/open.ts) is full with ten million urls and not with 100 000; when a million sets are
 * put back, too.
 */
const MAX_MORE_MB = 80;
/** Sets of one url each; the page cache is full with them. */
const SMALL_SETS = 1_000_000;
const FEW_SMALL_SETS = 10_000;
const MAX_MORE_MB_OF_SMALL = 60;
/**
 * Until the first of them is fetched when all wait for an hour that has begun: their provider waits for so long, others do
 * not.
 */
const MAX_JOINING_MS = 120_000;
/** Fetched after the restart, for more than the first sets to be looked at. */
const FETCHED = 5000;
const MB = 1024 * 1024;

interface Measured {
  urlsPerSecond: number;
  rssMb: number;
  restartMs: number;
  stateBytes: number;
}

export async function bench(): Promise<Outcome[]> {
  const few = await measure(SET_URLS);
  const many = await measure(MOST_URLS);
  const fewSmall = await measureSmall(FEW_SMALL_SETS);
  const manySmall = await measureSmall(SMALL_SETS);
  const hour = new Date().getHours();
  const fewWaiting = await measureSmall(FEW_SMALL_SETS, hour);
  const manyWaiting = await measureSmall(SMALL_SETS, hour);
  const count = (urls: number) => urls.toLocaleString('en-US');
  const small = `with ${count(SMALL_SETS)} sets of one url`;
  const joined = `with ${count(SMALL_SETS)} sets of one url whose hour has begun`;
  const line = (urls: number, { urlsPerSecond, rssMb }: Measured) => ({
    name: `lccd-qm, up to ${count(urls)} urls`,
    ratePerSecond: urlsPerSecond,
    maxRssBytes: rssMb * MB,
  });
  const what = `with ${count(MOST_URLS)} urls queued`;
  return [
    {
      work: `QM: ${count(MOST_URLS)} urls queued, ${count(SET_URLS)} of each provider`,
      unit: 'urls',
      rounds: 1,
      lines: [line(MOST_URLS, many), line(SET_URLS, few)],
      bounds: [
        { what: `restart to first fetch ${what}`, value: many.restartMs, atMost: 1000, unit: 'ms' },
        {
          what: `memory of lccd-qm ${what}, beyond that with ${count(SET_URLS)}`,
          value: many.rssMb - few.rssMb,
          atMost: MAX_MORE_MB,
          unit: 'MB',
        },
        {
          what: `queue state beyond the urls’ own text ${what}`,
          value: many.stateBytes,
          atMost: 120,
          unit: 'bytes a url',
        },
        { what: `restart to first fetch ${small}`, value: manySmall.restartMs, atMost: 1000, unit: 'ms' },
        {
          what: `memory of lccd-qm ${small}, beyond that with ${count(FEW_SMALL_SETS)}`,
          value: manySmall.rssMb - fewSmall.rssMb,
          atMost: MAX_MORE_MB_OF_SMALL,
          unit: 'MB',
        },
        {
          what: `start to first fetch ${joined}`,
          value: manyWaiting.restartMs,
          atMost: MAX_JOINING_MS,
          unit: 'ms',
        },
        {
          what: `memory of lccd-qm ${joined}, beyond that with ${count(FEW_SMALL_SETS)}`,
          value: manyWaiting.rssMb - fewWaiting.rssMb,
          atMost: MAX_MORE_MB,
          unit: 'MB',
        },
      ],
    },
  ];
}

async function measure(urls: number): Promise<Measured> {
  const home = mkdtempSync(join(tmpdir(), 'lcc-bench-scale-'));
  const qm = new BenchQm(home);
  try {
    writeFileSync(join(home, 'lcc.toml'), `[qm]\nmax_queue_urls = ${2 * MOST_URLS}\n`);
    const providers = urls / SET_URLS;
    addProviders(join(home, 'lcc.db'), providers, PREFIX);
    await qm.start();
    const link = await qm.connectUns();
    const startedMs = performance.now();
    for (let pid = 1; pid <= providers; pid++) await link.set(pid, SET_URLS, tags());
    const seconds = (performance.now() - startedMs) / 1000;
    let rssMb = qm.peakRssBytes / MB;
    link.close();
    await qm.stop('SIGKILL');
    const restartMs = await qm.startToFirstFetch();
    rssMb = Math.max(rssMb, qm.peakRssBytes / MB);
    await qm.stop('SIGTERM');
    return { urlsPerSecond: urls / seconds, rssMb, restartMs, stateBytes: qm.stateBytesPerUrl() };
  } finally {
    await qm.stop('SIGKILL');
    rmSync(home, { recursive: true });
  }
}

/**
 * One provider with `sets` of one url each, as they stand in the queue, or all waiting for the hour of the day that has
 * begun.
 */
async function measureSmall(sets: number, hour = -1): Promise<Pick<Measured, 'rssMb' | 'restartMs'>> {
  const home = mkdtempSync(join(tmpdir(), 'lcc-bench-scale-'));
  const qm = new BenchQm(home);
  try {
    addProviders(join(home, 'lcc.db'), 1, PREFIX);
    qm.queueSmallSets(sets, hour);
    const restartMs = await qm.startToFirstFetch();
    const socket = await qm.fetchSome(FETCHED, 1);
    const rssMb = qm.peakRssBytes / MB;
    socket.destroy();
    await qm.stop('SIGTERM');
    return { rssMb, restartMs };
  } finally {
    await qm.stop('SIGKILL');
    rmSync(home, { recursive: true });
  }
}

function* tags(): Generator<string> {
  for (let i = 0; i < SET_URLS; i++)
    yield urlTag(
      `docs/section${String(Math.floor(i / 1000)).padStart(4, '0')}/page-${String(i).padStart(8, '0')}.html`,
      1000 + (i % 5000),
    );
}
