/**
 * What a million urls of one provider do to the others: fifty small providers announce a page every 2.5 seconds, and the wait
 * from the first byte of the notification to the row in lccurl is taken, without and with the million being accepted,
 * absorbed and fetched at the same time.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSite, type Site } from '../test/support/nginx.js';
import { openReadOnly } from '../src/db/sqlite/open.js';
import { median, requireProgram, type Outcome } from './harness.js';
import { piecesOf, startLcc, type BenchLcc } from './lcc.js';

const SMALL_PROVIDERS = 50;
const BIG_PROVIDER = SMALL_PROVIDERS + 1;
const BIG_URLS = Number(process.env['LCC_BENCH_URLS'] ?? 1_000_000);
const EVERY_MS = 50;
const NOTIFICATIONS = 600;
const ROUNDS = 3;
const POLL_MS = 5;
const PATIENCE_MS = 120_000;

export async function bench(): Promise<Outcome[]> {
  requireProgram('nginx', 'nginx-light');
  const scratch = mkdtempSync(join(tmpdir(), 'lcc-bench-fair-'));
  const docroot = join(scratch, 'docs');
  mkdirSync(docroot);
  writeFileSync(join(docroot, 'page.html'), `<html>${'word '.repeat(800)}`);
  const site = await startSite(docroot, join(scratch, 'nginx'));
  const p50: Record<string, number[]> = { alone: [], beside: [] };
  const p99: Record<string, number[]> = { alone: [], beside: [] };
  try {
    for (let round = 0; round < ROUNDS; round++) {
      for (const kind of ['alone', 'beside']) {
        const waits = await waitsMs(join(scratch, `home-${kind}-${round}`), site, kind === 'beside');
        p50[kind]?.push(quantile(waits, 0.5));
        p99[kind]?.push(quantile(waits, 0.99));
      }
    }
  } finally {
    await site.stop();
    rmSync(scratch, { recursive: true });
  }
  const of = (samples: number[] | undefined) => median(samples ?? []);
  const big = `${BIG_URLS.toLocaleString('en-US')} urls of one provider`;
  return [
    {
      work: `Fairness: wait of ${SMALL_PROVIDERS} small providers, notification to row, beside ${big}`,
      unit: 'urls',
      rounds: ROUNDS,
      lines: [],
      bounds: [
        {
          what: `p99 alone (median ${of(p50['alone']).toFixed(0)} ms)`,
          value: of(p99['alone']),
          atMost: 1000,
          unit: 'ms',
        },
        {
          what: `p99 while ${big} are accepted, absorbed and fetched (median ${of(p50['beside']).toFixed(0)} ms)`,
          value: of(p99['beside']),
          atMost: 1000,
          unit: 'ms',
        },
        {
          what: 'p99 beside them ÷ p99 alone',
          value: of(p99['beside']) / of(p99['alone']),
          atMost: 2,
          unit: '×',
        },
      ],
    },
  ];
}

async function waitsMs(home: string, site: Site, withBig: boolean): Promise<number[]> {
  const lcc = await startLcc(home, BIG_PROVIDER, site.url);
  const db = openReadOnly(join(home, 'lcc.db'));
  const rows = db.prepare<[number], { seq: number; curl: string }>(
    'SELECT seq, curl FROM lccurl WHERE seq > ?',
  );
  const sentMs = new Map<string, number>();
  const waits: number[] = [];
  let seq = 0;
  const look = () => {
    for (const row of rows.all(seq)) {
      seq = Math.max(seq, row.seq);
      const since = sentMs.get(row.curl);
      if (since === undefined) continue;
      sentMs.delete(row.curl);
      waits.push(performance.now() - since);
    }
  };
  const looking = setInterval(look, POLL_MS);
  try {
    const big = withBig ? lcc.notify(BIG_PROVIDER, piecesOf(bigSet())) : Promise.resolve();
    await Promise.all([big, ...announce(lcc, site, sentMs)]);
    const deadline = performance.now() + PATIENCE_MS;
    while (sentMs.size > 0) {
      if (performance.now() > deadline) throw new Error(`${sentMs.size} pages were not fetched`);
      await new Promise(resolve => void setTimeout(resolve, POLL_MS));
    }
    return waits;
  } finally {
    clearInterval(looking);
    db.close();
    await lcc.stop();
  }
}

function announce(lcc: BenchLcc, site: Site, sentMs: Map<string, number>): Promise<void>[] {
  return Array.from({ length: NOTIFICATIONS }, async (_, n) => {
    await new Promise(resolve => void setTimeout(resolve, n * EVERY_MS));
    const page = `page.html?small=${n}`;
    sentMs.set(site.url + page, performance.now());
    await lcc.notify((n % SMALL_PROVIDERS) + 1, piecesOf([page]));
  });
}

function* bigSet(): Generator<string> {
  for (let i = 0; i < BIG_URLS; i++) yield `page.html?big=${i}`;
}

function quantile(values: number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))] ?? NaN;
}
