/** The real lccd-bm and its robots, with a store of their own, between a source and a site that a test plays. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'node:test';
import type { FetchOk } from '../../src/wire/fetch.js';
import { Daemons, type Daemon } from './daemon.js';
import { TestSite } from './site.js';
import { TestSource } from './source.js';

/** Home of the test that runs. */
export let home: string;
export let source: TestSource;
export let site: TestSite;
let daemons: Daemons;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'lcc-bm-cmd-'));
  configure();
  daemons = new Daemons();
  source = await TestSource.listen(join(home, 'qm.sock'));
  site = await TestSite.listen((request, response) => response.end(contentOf(request.url ?? '')));
});
afterEach(async () => {
  await daemons.end();
  source.close();
  site.close();
  rmSync(home, { recursive: true, force: true });
});

/** For the next start: more of lcc.toml. What waits for a robot waits for it however long that takes to start. */
export function configure(more = ''): void {
  writeFileSync(
    join(home, 'lcc.toml'),
    `[bm]\ngrace_ms = 0\nname_block = 3\nmin_free_disk_percent = 0\nrobot_wait_ms = "5m"\n${more}`,
  );
}

export const contentOf = (path: string) => `content of ${path}\n`.repeat(50);
export const md5 = (text: string) => createHash('md5').update(text).digest('hex');
export const fileOf = (result: FetchOk) => join(home, 'store', result.fileId);

export function startManager(env: NodeJS.ProcessEnv = {}, more: string[] = []): Daemon {
  const args = [`--source=unix:${home}/qm.sock`, `--listen=unix:${home}/bm.sock`, '--machineid=m1', ...more];
  return daemons.start('lccd-bm', home, args, env);
}
export function startRobot(name: string, slots: number): Daemon {
  const args = [
    `--bm=unix:${home}/bm.sock`,
    `--slots=${slots}`,
    '--allow-address=127.0.0.0/8',
    `--name=${name}`,
  ];
  return daemons.start('lccbot', home, args);
}
export async function fetchOk(path: string, lane = path): Promise<FetchOk> {
  const result = await source.fetch({ lane, url: site.urlOf(path) });
  assert.equal(result?.status, 'ok', JSON.stringify(result));
  return result;
}

/** Waits until the store holds this many files: the sweep has no event a test could wait for. */
export async function untilFiles(count: number): Promise<void> {
  for (;;) {
    const names = readdirSync(join(home, 'store'), { recursive: true }).map(String);
    if (names.filter(name => /^[0-9a-f]{2}\/[0-9a-f]{2}\/[0-9a-f]{8}\./.test(name)).length === count) return;
    await new Promise(resolve => void setTimeout(resolve, 20));
  }
}
