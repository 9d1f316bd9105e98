/**
 * How long a change takes from its commit to its line in `lccq --follow`, while fifty of them are committed a second and a
 * second lccq reads all there is, again and again.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../src/db/sqlite/open.js';
import { median, type Outcome } from './harness.js';
import { fill, rowInserter } from './lccq.js';

const bin = join(dirname(fileURLToPath(import.meta.url)), '../../bin');
const HELD = 100_000;
const CHANGES = 1000;
const EVERY_MS = 20;
const PATIENCE_MS = 30_000;

export async function bench(): Promise<Outcome[]> {
  const home = mkdtempSync(join(tmpdir(), 'lcc-bench-freshness-'));
  try {
    fill(home, HELD);
    const waits = await waitsMs(home);
    waits.sort((a, b) => a - b);
    const p99 = waits[Math.floor(waits.length * 0.99)] ?? NaN;
    return [
      {
        work: `lccq --follow: ${CHANGES.toLocaleString('en-US')} changes, ${1000 / EVERY_MS} a second, beside full exports`,
        unit: 'changes',
        rounds: 1,
        lines: [],
        bounds: [{ what: 'from commit to line, 99th percentile', value: p99, atMost: 1000, unit: 'ms' }],
        notes: [`from commit to line, median: ${median(waits).toFixed(1)} ms`],
      },
    ];
  } finally {
    rmSync(home, { recursive: true });
  }
}

async function waitsMs(home: string): Promise<number[]> {
  const env = { ...process.env, LCC_HOME: home };
  const db = openDatabase(join(home, 'lcc.db'));
  const insert = rowInserter(db);
  const raise = db.prepare("UPDATE counter SET value = ? WHERE name = 'seq'");
  const committedAt = new Map<number, number>();
  const waits: number[] = [];
  const state = { seen: 0, isLoaded: true };
  const follower = spawn(join(bin, 'lccq'), ['--follow', '--format=tsv', '--fields=seq'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let exporter: ChildProcess = spawn('true');
  const load = () => {
    if (!state.isLoaded) return;
    exporter = spawn(join(bin, 'lccq'), ['--format=xml'], { env, stdio: 'ignore' });
    exporter.once('exit', load);
  };
  const followed = new Promise<void>((resolve, reject) => {
    let rest = '';
    follower.once('exit', status => reject(new Error(`lccq --follow ends with ${status}`)));
    follower.stdout.on('data', (chunk: Buffer) => {
      const now = performance.now();
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const at = committedAt.get(Number(line));
        if (at !== undefined) waits.push(now - at);
      }
      state.seen += lines.length;
      if (state.seen === HELD + CHANGES) resolve();
    });
  });
  const timeout = setTimeout(() => follower.kill(), CHANGES * EVERY_MS + PATIENCE_MS);
  try {
    while (state.seen < HELD && follower.exitCode === null)
      await new Promise(resolve => void setTimeout(resolve, 5));
    load();
    for (let seq = HELD + 1; seq <= HELD + CHANGES; seq++) {
      db.transaction(() => {
        insert(seq);
        raise.run(seq);
      })();
      committedAt.set(seq, performance.now());
      await new Promise(resolve => void setTimeout(resolve, EVERY_MS));
    }
    await followed;
  } finally {
    clearTimeout(timeout);
    state.isLoaded = false;
    exporter.kill();
    follower.removeAllListeners('exit').kill();
    db.close();
  }
  return waits;
}
