/** Provider 7 of a Queue Manager with a fuse, its sets, and what is held back of them. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach } from 'node:test';
import { silentLog } from '../../src/lib/log.js';
import { decidedRemovals } from '../../src/qm/housekeeping/decided-removals.js';
import type { SetHead } from '../../src/wire/uns-qm.js';
import { Bench, url, type BenchOptions } from './support.js';

/** More than half of the content, and more than four urls. */
const FUSE = { percent: 50, urls: 4 };
const SLICE = 3;

/** Another one before each test, and at every new start. */
export let bench: Bench;
beforeEach(() => start());
afterEach(() => bench.close());

export function start(options: BenchOptions = {}): void {
  bench = new Bench({ fuse: FUSE, sliceUrls: SLICE, ...options });
  bench.db.pragma('synchronous = OFF');
  bench.provider(7);
}

export const names = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `p${from + i}`);
export const held = () =>
  bench.all<{ curl: string }>('SELECT curl FROM lccurl ORDER BY curl').map(r => r.curl.slice(17));
export const waiting = () =>
  bench.all<{ curl: string }>('SELECT curl FROM qdb WHERE op = 1 ORDER BY pos').map(r => r.curl.slice(17));
export const heldSets = () =>
  bench.all('SELECT psetid, state, isfull, urls, digest FROM held ORDER BY psetid');
export const codes = () =>
  bench.all<{ code: number }>('SELECT code FROM pierr ORDER BY errseq').map(r => r.code);
export const deletes = (...which: string[]) => which.map(name => url(name, { op: 'delete' }));

/** Stores these pages. */
export async function store(...which: string[]): Promise<void> {
  await bench.send(
    7,
    which.map(name => url(name)),
  );
  for (const name of which) assert.equal(bench.fetch(7, name), 'done');
}

/** Sends a set with what a UNS says of it. */
export function send(urls: Parameters<Bench['send']>[1], more: Partial<SetHead> = {}) {
  const digest = JSON.stringify([urls, more]).slice(0, 200);
  return bench.send(7, urls, { digest, deletes: urls.filter(one => one.op === 'delete').length, ...more });
}

export const sendFull = (...which: string[]) =>
  send(
    which.map(name => url(name, { len: '1' })),
    { set: 'full' },
  );

/** What the Queue Manager does with what was decided. @returns steps it took */
export function carryOut(most = Infinity): number {
  const chore = decidedRemovals({
    store: bench.store,
    clock: bench.clock,
    log: silentLog,
    sliceUrls: SLICE,
    onCommit: () => undefined,
  });
  let steps = 0;
  while (bench.store.held.decided() !== undefined && steps < most) {
    chore.run();
    steps++;
  }
  return steps;
}

export const decide = (what: 'release' | 'discard', pid?: number) =>
  bench.store.transaction(() => bench.store.held[what](pid));
