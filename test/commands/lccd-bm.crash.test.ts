import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startDaemon, type Daemon } from '../support/daemon.js';
import { TestSite } from '../support/site.js';
import { TestSource } from '../support/source.js';

const STEPS = [
  'bm.store.claimed',
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
    this.#daemon.child.kill('SIGTERM');
    if ((await this.#daemon.ended) === 'SIGKILL') this.crashes++;
    this.#stopping = false;
    this.#daemon = this.#keep();
  }
  async kill(): Promise<void> {
    this.#stopping = true;
    this.#daemon.child.kill('SIGKILL');
    await this.#daemon.ended;
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
async function history(crashAt: string | undefined) {
  const home = mkdtempSync(join(tmpdir(), 'lcc-bm-crash-'));
  writeFileSync(
    join(home, 'lcc.toml'),
    '[bm]\ngrace_ms = 0\nname_block = 7\nmin_free_disk_percent = 0\nrobot_wait_ms = "5m"\n',
  );
  const site = await TestSite.listen((request, response) => response.end(`content of ${request.url}`));
  const source = await TestSource.listen(join(home, 'qm.sock'));
  const ends = [`--source=unix:${home}/qm.sock`, `--listen=unix:${home}/bm.sock`, '--machineid=m1'];
  const env = crashAt === undefined ? {} : { LCC_CRASH_AT: crashAt, LCC_CRASH_ONCE: join(home, 'crashed') };
  const manager = new KeptManager(() => startDaemon('lccd-bm', home, ends, env));
  const robot = startDaemon('lccbot', home, [
    `--bm=unix:${home}/bm.sock`,
    `--slots=${SLOTS}`,
    '--allow-address=127.0.0.0/8',
  ]);
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
      held.set(result.fileId, `content of ${path}`);
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
      await untilFiles(join(home, 'store'), held.size + manager.crashes * SLOTS);
      await manager.restart();
    }
    await source.slots(SLOTS);
    for (const [fileId, content] of held) {
      assert.equal(readFileSync(join(home, 'store', fileId), 'utf8'), content, fileId);
    }
    return {
      urls: [...held.values()].length,
      files: filesIn(join(home, 'store')).length,
      crashes: manager.crashes,
    };
  } finally {
    await manager.kill();
    robot.child.kill('SIGKILL');
    await robot.ended;
    source.close();
    site.close();
    rmSync(home, { recursive: true, force: true });
  }
}

function filesIn(store: string): string[] {
  return readdirSync(store, { recursive: true })
    .map(String)
    .filter(name => /^[0-9a-f]{2}\/[0-9a-f]{2}\/[0-9a-f]{8}\.\d+$/.test(name));
}

/** Waits until at most this many files are left: the sweep has no event a test could wait for. */
async function untilFiles(store: string, atMost: number): Promise<void> {
  while (filesIn(store).length > atMost) await new Promise(resolve => void setTimeout(resolve, 20));
}

describe('lccd-bm killed at any durable step', { concurrency: 2 }, () => {
  const uninterrupted = history(undefined);
  for (const step of STEPS) {
    it(`never gives a name to two contents: ${step}`, async () => {
      const killed = await history(step);
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
