/**
 * Paired measurements: every contender does the same work, in turn, in one run, so that a drifting machine drifts for
 * all of them. Only medians and ratios are reported.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, fstatSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Sample {
  seconds: number;
  /** Largest resident set of any one process of the contender. */
  maxRssBytes?: number;
  /** The same of every process, where they have names worth telling. */
  rssBytesOf?: Record<string, number>;
  /** Time of the processor, its children's too. */
  cpuSeconds?: number;
}

export interface Contender {
  name: string;
  /** Runs between rounds, not timed (removing what the last round wrote). */
  prepare?: () => void | Promise<void>;
  run: () => Sample | Promise<Sample>;
  /** So slow, and so far from its floor, that one round says enough. */
  once?: boolean;
}

export interface Comparison {
  /** What is done: a heading of the results page. */
  work: string;
  /** How much of it, for rates. */
  amount: number;
  unit: string;
  ours: Contender;
  /** `atLeast`: the ratio of rates (ours / theirs) that must be reached; absent where the peer is only shown. */
  peers: { contender: Contender; atLeast?: number }[];
  rounds?: number;
}

export interface Line {
  name: string;
  ratePerSecond: number;
  maxRssBytes: number | undefined;
  rssBytesOf?: Record<string, number>;
  /** Our rate divided by this contender's; undefined on our own line. */
  ratio?: number;
  atLeast?: number | undefined;
}

export interface Bound {
  what: string;
  value: number;
  unit: string;
  /** One of the two. */
  atMost?: number;
  atLeast?: number;
}

export interface Outcome {
  work: string;
  unit: string;
  rounds: number;
  lines: Line[];
  /** A bound of another kind than a ratio of rates: memory, bytes per url, start-up. */
  bounds: Bound[];
  /** What else was seen, in words. */
  notes?: string[];
}

/** Runs all contenders `rounds` times (default 5) in turn, after one uncounted round. */
export async function compare(comparison: Comparison): Promise<Outcome> {
  const rounds = comparison.rounds ?? 5;
  const contenders = [comparison.ours, ...comparison.peers.map(peer => peer.contender)];
  const samples = contenders.map(() => [] as Sample[]);
  for (let round = -1; round < rounds; round++) {
    for (const [index, contender] of contenders.entries()) {
      if (contender.once === true && round !== 0) continue;
      await contender.prepare?.();
      // Pages that the contender before left unwritten would be written in this one's time, and delay its syncs.
      spawnSync('sync');
      const sample = await contender.run();
      if (round >= 0) samples[index]?.push(sample);
    }
  }
  const medians = samples.map(list => median(list.map(sample => sample.seconds)));
  const lines = contenders.map((contender, index): Line => {
    const seconds = medians[index] ?? NaN;
    const memory =
      samples[index]?.map(sample => sample.maxRssBytes ?? NaN).filter(value => !Number.isNaN(value)) ?? [];
    const perProcess = samples[index]?.at(-1)?.rssBytesOf;
    return {
      name: contender.name,
      ...(perProcess === undefined ? {} : { rssBytesOf: perProcess }),
      ratePerSecond: comparison.amount / seconds,
      maxRssBytes: memory.length === 0 ? undefined : Math.max(...memory),
      ...(index === 0
        ? {}
        : { ratio: seconds / (medians[0] ?? NaN), atLeast: comparison.peers[index - 1]?.atLeast }),
    };
  });
  return { work: comparison.work, unit: comparison.unit, rounds, lines, bounds: [] };
}

/** A contender that is a shell command line, timed and measured from outside by time(1). @throws when it exits non-zero */
export function shell(
  name: string,
  command: string,
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Contender {
  return { name, run: () => timeShell(command, options) };
}

/** Wall seconds and largest resident set of a shell command line. @throws Error when it exits non-zero */
export function timeShell(command: string, options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}): Sample {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-'));
  try {
    const report = join(dir, 'time');
    // In a file: a contender may say something of each row.
    const said = openSync(join(dir, 'errors'), 'w+');
    const result = spawnSync(
      '/usr/bin/time',
      ['-o', report, '-f', '%e %M %U %S', 'bash', '-o', 'pipefail', '-c', command],
      {
        stdio: ['ignore', 'ignore', said],
        cwd: options.cwd,
        env: options.env ?? process.env,
      },
    );
    const last = lastOf(said);
    closeSync(said);
    if (result.error !== undefined) throw result.error;
    if (result.status !== 0) {
      throw new Error(`exit ${result.status} from: ${command}\n${last}`);
    }
    const [seconds = NaN, kilobytes = NaN, user = NaN, system = NaN] = readFileSync(report, 'utf8')
      .trim()
      .split(' ')
      .map(Number);
    return { seconds, maxRssBytes: kilobytes * 1024, cpuSeconds: user + system };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const LAST_BYTES = 2000;

/** The end of what is in an open file. */
function lastOf(fd: number): string {
  const { size } = fstatSync(fd);
  const bytes = Buffer.alloc(Math.min(size, LAST_BYTES));
  readSync(fd, bytes, 0, bytes.length, size - bytes.length);
  return bytes.toString();
}

/** Peak resident set of a running process. */
export function peakRssBytes(pid: number): number {
  const found = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(found?.[1]) * 1024;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? NaN)
    : ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2;
}

/**
 * Removes a folder when all benchmarks are done. For some minutes after many files were deleted ext4 takes 0.5 ms to
 * create one, so whatever writes files next would be measured wrong.
 */
export function removeAtEnd(path: string): void {
  process.once('exit', () => rmSync(path, { recursive: true, force: true }));
}

/** Whether a bound is kept. */
export function isKept({ value, atMost = Infinity, atLeast = -Infinity }: Bound): boolean {
  return value <= atMost && value >= atLeast;
}

/** Whether a program is installed; benches need their peers from apt. */
export function requireProgram(name: string, aptPackage: string): void {
  if (spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0) {
    throw new Error(`${name} is missing: apt-get install ${aptPackage}`);
  }
}
