import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { BotManagerHome, contentOf } from '../support/bot-manager.js';
import type { Daemon } from '../support/daemon.js';
import { lifeWithKill, type KillEnv } from '../support/kills.js';

const STEPS = [
  'bm.store.claimed',
  'bm.names.marked',
  'bm.names.made',
  'bm.mark.noted',
  'bm.names.reserved',
  'bm.names.noted',
  'bm.deletions.acknowledged',
  'bm.files.unlinked',
  'bm.names.freed',
  'bm.names.released',
];
const SLOTS = 4;
const URLS = 12;
const ROUNDS = 2;

/** A Bot Manager that is started again whenever it is killed. */
class KeptManager {
  crashes = 0;
  #stopping = false;
  #daemon: Daemon;
  readonly #start: () => Daemon;
  constructor(start: () => Daemon) {
    this.#start = start;
    this.#daemon = this.#keep();
  }
  async restart(): Promise<void> {
    this.#stopping = true;
    if ((await this.#daemon.stop()) === 'SIGKILL') this.crashes++;
    this.#stopping = false;
    this.#daemon = this.#keep();
  }
  async kill(): Promise<void> {
    this.#stopping = true;
    await this.#daemon.stop('SIGKILL');
  }
  #keep(): Daemon {
    const daemon = this.#start();
    void daemon.ended.then(how => {
      if (this.#stopping) return;
      assert.equal(how, 'SIGKILL', daemon.log);
      this.crashes++;
      this.#daemon = this.#keep();
    });
    return daemon;
  }
}

/** Urls come, half of them go, others come, with a restart between; gives what the store must hold and what it does. */
async function history(env: KillEnv) {
  const bm = await BotManagerHome.make(7);
  const { source, site } = bm;
  const manager = new KeptManager(() => bm.startManager(env));
  bm.startRobot('lccbot', SLOTS);
  try {
    const held = new Map<string, string>();
    const named = new Map<string, string>();
    // Whatever was not answered is asked for again, as a Queue Manager does.
    const add = async (path: string): Promise<void> => {
      await source.slots(SLOTS);
      const result = await source.fetch({ lane: path, url: site.urlOf(path) });
      if (result === undefined) return add(path);
      assert.ok(result.status === 'ok' && result.fileId !== undefined, JSON.stringify(result));
      const before = named.get(result.fileId);
      assert.equal(before, undefined, `${result.fileId} names ${path} and has named ${before}`);
      named.set(result.fileId, path);
      held.set(result.fileId, contentOf(path));
    };
    const remove = async (fileId: string): Promise<void> => {
      await source.slots(SLOTS);
      const result = await source.delete('m1', fileId);
      if (result === undefined) return remove(fileId);
      assert.equal(result.status, 'ok');
      held.delete(fileId);
    };
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all(Array.from({ length: URLS }, (_, i) => add(`/${round}/${i}`)));
      await Promise.all([...held.keys()].filter((_, i) => i % 2 === 0).map(remove));
      await bm.swept(held.size + manager.crashes * SLOTS);
      await manager.restart();
    }
    await source.slots(SLOTS);
    for (const [fileId, content] of held) {
      assert.equal(readFileSync(join(bm.home, 'store', fileId), 'utf8'), content, fileId);
    }
    return { urls: held.size, files: bm.files().length, crashes: manager.crashes };
  } finally {
    await manager.kill();
    await bm.remove();
  }
}

describe('lccd-bm killed at any durable step', { concurrency: 2 }, () => {
  const uninterrupted = history({});
  for (const step of STEPS) {
    it(`never gives a name to two contents: ${step}`, async () => {
      const killed = await lifeWithKill(step, history);
      assert.equal(killed.crashes, 1);
      const { urls, files, crashes } = await uninterrupted;
      assert.equal(crashes, 0);
      assert.equal(files, urls);
      assert.equal(killed.urls, urls);
      // Files with results that were on their way: they were never reported, lccfsck finds them.
      assert.ok(
        killed.files >= urls && killed.files <= urls + SLOTS,
        `${killed.files} files for ${urls} urls`,
      );
    });
  }
});

describe('lccd-bm whose names.db was lost', () => {
  for (const step of ['bm.names.marked', 'bm.names.made'])
    it(`makes it again, and gives no name to two contents, killed at ${step}, too`, async () => {
      const bm = await BotManagerHome.make();
      const named = new Set<string>();
      const fetch = async (path: string): Promise<void> => {
        await bm.source.slots(SLOTS);
        const { fileId } = await bm.fetchOk(path);
        assert.ok(!named.has(fileId), fileId);
        named.add(fileId);
      };
      try {
        const first = bm.startManager();
        bm.startRobot('lccbot', SLOTS);
        for (const n of [1, 2, 3]) await fetch(`/first/${n}`);
        await first.stop('SIGKILL');
        for (const part of ['', '-wal', '-shm'])
          rmSync(join(bm.home, `store/names.db${part}`), { force: true });
        assert.equal(await bm.startManager({ LCC_CRASH_AT: step }).ended, 'SIGKILL');
        const last = bm.startManager();
        for (const n of [1, 2, 3]) await fetch(`/last/${n}`);
        assert.equal(bm.files().length, named.size);
        await last.stop();
      } finally {
        await bm.remove();
      }
    });
});
