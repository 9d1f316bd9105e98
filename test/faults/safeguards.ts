/** What is synced is what keeps it: with each safeguard a power cut loses nothing, without it something is lost. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openReadOnly } from '../../src/db/sqlite/open.js';
import { startDaemon } from '../support/daemon.js';
import { noDisk, type FileSystem } from '../support/disk.js';
import { ROOT } from '../support/tree.js';
import { until } from '../support/until.js';
import { urlTag } from '../support/lcc.js';
import { PoweredLcc } from './power-cuts.js';

const PAGES = Number(process.env['LCC_TEST_PAGES'] ?? 40);
export const HOUR_MS = 3_600_000;

interface Outcome {
  verdict: Awaited<ReturnType<PoweredLcc['judge']>> | { stopped: string };
  fetchedAgain: number;
}

const TAGS = Array.from({ length: PAGES }, (_, n) => urlTag(`p${n}.html`));
export const ALL_STORED = { stored: PAGES, lost: [], wrong: [], revived: [] };

/** What becomes of pages when the power goes once `reach` has been reached. */
export async function outcomeOf(
  type: FileSystem,
  syncIntervalMs: number,
  env: Record<string, string>,
  reach: (powered: PoweredLcc) => Promise<void>,
): Promise<Outcome> {
  const powered = await PoweredLcc.on(type, syncIntervalMs, env);
  for (let n = 0; n < PAGES; n++) powered.site.pages.set(`/p${n}.html`, `page ${n} `.repeat(500));
  try {
    await reach(powered);
    await powered.cut();
    powered.site.answers = true;
    const verdict = await powered.judge().catch((error: unknown) => ({ stopped: String(error) }));
    return { verdict, fetchedAgain: powered.fetchedAgain };
  } finally {
    await powered.close();
  }
}

/** While the UNS runs alone: what it accepts lies in its spool. It is killed afterwards. */
async function withUnsAlone<T>({ lcc, env }: PoweredLcc, action: () => Promise<T>): Promise<T> {
  const args = [`--listen=${lcc.uns}`, `--qm=unix:${lcc.home}/run/qm-uns.sock`];
  const uns = startDaemon('lccd-uns', lcc.home, args, env);
  await uns.ready;
  const result = await action();
  await uns.stop('SIGKILL');
  return result;
}

export const accepted = (powered: PoweredLcc) =>
  withUnsAlone(powered, () => powered.lcc.deliver('partial', TAGS));

/** The numbers that connections get before and after a power cut, with nothing but them written. */
async function numbersAround(type: FileSystem, env: Record<string, string>): Promise<number[]> {
  const powered = await PoweredLcc.on(type, HOUR_MS, env);
  try {
    const before = await withUnsAlone(powered, () => powered.lcc.look());
    await powered.cut();
    return [before, await powered.lcc.look()];
  } finally {
    await powered.close();
  }
}

/** The Queue Manager has the set, the UNS has forgotten it, the site does not answer yet. */
export async function absorbed(powered: PoweredLcc): Promise<void> {
  powered.site.answers = false;
  powered.start();
  await powered.lcc.deliver('partial', TAGS);
  await powered.lcc.says(new RegExp(`(?=[^]*"rows_queued":${PAGES}\\b)(?=[^]*"sets_spooled":0\\b)`));
  // That the entry is gone from the spool is on disk with the next set; else it would come again and hide what is lost.
  const { status } = spawnSync('sync', [join(powered.lcc.home, 'spool/uns/uns/new')]);
  assert.equal(status, 0);
}

async function stored(powered: PoweredLcc): Promise<void> {
  powered.start();
  await powered.lcc.deliver('partial', TAGS);
  await powered.lcc.idle();
}

async function synced(powered: PoweredLcc): Promise<void> {
  await stored(powered);
  const db = openReadOnly(join(powered.lcc.home, 'lcc.db'));
  const isSynced = db
    .prepare("SELECT syncedseq = (SELECT value FROM counter WHERE name = 'seq') FROM store")
    .pluck();
  await until('all is synced', () => isSynced.get() === 1);
  db.close();
}

const without = (safeguard: string) => ({
  NODE_OPTIONS: `--require ${join(ROOT, 'test/fixtures/without.cjs')}`,
  LCC_WITHOUT: safeguard,
});

/** All safeguards on a file system; a test file each, for both take minutes on a machine that is busy. */
export function losesNothing(type: FileSystem): void {
  describe(`after a power cut, on ${type}`, { skip: noDisk(type) }, () => {
    it('a set that a UNS accepted is fetched; without its syncs it is not', async () => {
      assert.deepEqual((await outcomeOf(type, HOUR_MS, {}, accepted)).verdict, ALL_STORED);
      const { verdict } = await outcomeOf(type, HOUR_MS, without('file-syncs'), accepted);
      assert.notDeepEqual(verdict, ALL_STORED);
    });

    it('no connection has a number that another one had; without syncs one has', async () => {
      assert.deepEqual(await numbersAround(type, {}), [1, 2]);
      assert.deepEqual(await numbersAround(type, without('file-syncs')), [1, 1]);
    });

    it('a set that the Queue Manager absorbed is fetched; without synced commits it is not', async () => {
      assert.deepEqual((await outcomeOf(type, HOUR_MS, {}, absorbed)).verdict, ALL_STORED);
      const { verdict } = await outcomeOf(type, HOUR_MS, without('commit-syncs'), absorbed);
      assert.notDeepEqual(verdict, ALL_STORED);
    });

    it('content stored since the last sync point is fetched again where it suffered; without checks it is trusted', async () => {
      const { verdict, fetchedAgain } = await outcomeOf(type, HOUR_MS, {}, stored);
      assert.deepEqual(verdict, ALL_STORED);
      assert.ok(fetchedAgain > 0, 'nothing suffered: nothing was shown');
      const trusting = await outcomeOf(type, HOUR_MS, without('checks'), stored);
      assert.notDeepEqual(trusting.verdict, ALL_STORED);
    });

    it('content from before the last sync point is there; with a sync that does nothing it is not', async () => {
      const { verdict, fetchedAgain } = await outcomeOf(type, 100, {}, synced);
      assert.deepEqual({ verdict, fetchedAgain }, { verdict: ALL_STORED, fetchedAgain: 0 });
      const pretending = await outcomeOf(type, 100, {}, async powered => {
        const bin = powered.disk.outside('sync');
        writeFileSync(bin, '#!/bin/sh\n', { mode: 0o755 });
        powered.env['PATH'] = `${powered.disk.outside('')}:${process.env['PATH']}`;
        await synced(powered);
      });
      assert.notDeepEqual(pretending.verdict, ALL_STORED);
    });
  });
}
