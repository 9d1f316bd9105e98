/** Lists read in this process, from sites on the loopback. */
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock, type Clock } from '../../src/lib/clock.js';
import { Output } from '../../src/lib/stdio.js';
import type { Extras } from '../../src/sources/found.js';
import type { SourceLimits } from '../../src/sources/limits.js';
import { writeLists, type ListOptions, type ListResult } from '../../src/sources/write-lists.js';
import { placeOf } from '../../src/sources/places.js';

export const base = mkdtempSync(join(tmpdir(), 'sources-'));
// Files of the room share a process, and this with it.
process.on('exit', () => rmSync(base, { recursive: true, force: true }));

const bound = (most: number) => ({ most, text: String(most) });
export const LIMITS: SourceLimits = {
  documents: bound(50_000),
  depth: bound(3),
  entries: bound(1_000_000),
  documentBytes: bound(256 * 1024 * 1024),
  feedBytes: bound(16 * 1024 * 1024),
  tokenBytes: bound(1024 * 1024),
  urlBytes: bound(2048),
};
export const NO_EXTRAS: Extras = { images: false, videos: false, alternates: false, enclosures: false };
export const NOW_MS = Date.parse('2026-11-23T12:00:00Z');
const MB = 1024 * 1024;

export const ENGINE: ListOptions['engine'] = {
  connectTimeoutMs: 5000,
  headersTimeoutMs: 5000,
  idleTimeoutMs: 5000,
  drainTimeoutMs: 1000,
  totalTimeoutMs: 60_000,
  keepAliveMs: 1000,
  minRateBytesPerS: 0,
  minRateText: 'any',
  minRateWindowMs: 5000,
  slowAfterMs: 5000,
  maxContentBytes: 256 * MB,
  contentLimitText: '256 MB',
  maxHeaderBytes: 64 * 1024,
  headerLimitText: '64 KB',
  maxRedirects: 5,
  redirectLimitText: '5',
  userAgent: 'test',
  allowAddresses: [],
  maxIdleConnections: 4,
  maxConnectionsPerHost: 1,
};

export interface Listed {
  /** What failed as a whole. */
  error: { code: string; message: string } | undefined;
  result: ListResult | undefined;
  /** As written. */
  stream: string;
  urls: string[];
  said: string[];
}

/** A clock that stands on the wall, whose long waits are over at once. @param waited gets each of them, in milliseconds */
export function clockAt(nowMs: number, waited: number[] = []): Clock {
  return {
    nowMs: () => nowMs,
    monotonicMs: () => systemClock.monotonicMs(),
    after(delayMs, action) {
      if (delayMs < 1000) return systemClock.after(delayMs, action);
      waited.push(delayMs);
      return systemClock.after(0, action);
    },
  };
}

let runs = 0;

/** @param operands as on the command line */
export async function list(operands: readonly string[], more: Partial<ListOptions> = {}): Promise<Listed> {
  const path = join(base, `out-${runs++}`);
  const fd = openSync(path, 'w');
  const said: string[] = [];
  let error: Listed['error'];
  let result: ListResult | undefined;
  try {
    result = await writeLists(new Output(fd, { encoding: 'latin1' }), {
      from: 'sitemap2url',
      tops: operands.map(operand => placeOf(operand, () => process.stdin)),
      site: undefined,
      stateDir: undefined,
      staleMs: 7 * 86_400_000,
      extras: NO_EXTRAS,
      limits: LIMITS,
      engine: ENGINE,
      maxRetryAfterMs: 60_000,
      clock: clockAt(NOW_MS),
      complain: message => void said.push(message),
      explain: undefined,
      progress: undefined,
      namesAll: false,
      types: new Map(),
      ignoresLastmod: false,
      revisitMs: undefined,
      dropsOutside: false,
      ...more,
    });
  } catch (thrown) {
    if (!(thrown instanceof Error) || !('code' in thrown)) throw thrown;
    error = { code: String(thrown.code), message: thrown.message };
  } finally {
    closeSync(fd);
  }
  const stream = readFileSync(path, 'latin1');
  return { error, result, stream, said, urls: stream.split('\n').filter(line => line.startsWith('<url')) };
}
