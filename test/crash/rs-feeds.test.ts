/** Feeds with a kill -9 of lccd-rs at each durable step: what was answered, and what was read, is pushed. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { openSqlite } from '../../src/lib/sqlite.js';
import { rss } from '../rs/feed-scene.js';
import { Daemons } from '../support/daemon.js';
import { freePort } from '../support/free-port.js';
import { TestHub } from '../support/hub.js';
import { killAt } from '../support/kills.js';
import { runCommandLater } from '../support/command.js';
import { TestSite } from '../support/site.js';
import { until } from '../support/until.js';

const daemons = new Daemons();
after(() => daemons.end());

/** Urls that wait, or were taken by a UNS, in rs.db. */
function pushed(home: string): string[] {
  const db = openSqlite(join(home, 'rs/rs.db'));
  try {
    return db.prepare<[], string>('SELECT curl FROM push_waiting').pluck().all();
  } finally {
    db.close();
  }
}

interface Scene {
  home: string;
  site: TestSite;
  hub: TestHub;
  /** The feed has items of these pages. */
  show: (...paths: string[]) => void;
  /** Again and again, until it is answered. */
  ping: () => Promise<void>;
  /** A page of the site waits in rs.db. */
  waits: (path: string) => Promise<unknown>;
  killed: () => Promise<unknown>;
  end: () => Promise<void>;
}

/** A Queue Manager with provider 7, and a lccd-rs with a feed of it, killed once at the step and started again. */
async function start(step: string, hasHub: boolean): Promise<Scene> {
  const home = mkdtempSync(join(tmpdir(), 'lcc-feeds-'));
  const hub = await TestHub.listen();
  const site = await TestSite.listen();
  const port = await freePort();
  const link = hasHub ? `<atom:link rel="hub" href="${hub.url}"/>` : '';
  const show = (...paths: string[]) =>
    void site.pages.set('/feed', rss(Object.fromEntries(paths.map(path => [site.urlOf(path), 'x'])), link));
  writeFileSync(
    join(home, 'lcc.toml'),
    `[rs]
listen = ["127.0.0.1:${port}"]
url = "http://127.0.0.1:${port}/"
ports = ["${new URL(site.url).port}", "${hub.port}"]
[bot]
allow_addresses = ["127.0.0.0/8"]
`,
  );
  const run = async (name: string, ...args: string[]) => {
    const { status, stderr } = await runCommandLater(home, name, args);
    assert.equal(status, 0, stderr);
  };
  await run('lccpidb', 'add', '--pid=7', `--root=${site.url}/`);
  await daemons.start('lccd-qm', home, [
    `--listen-uns=unix:${home}/u.sock`,
    `--listen-bm=unix:${home}/b.sock`,
    `--listen-rs=unix:${home}/run/qm-rs.sock`,
  ]).ready;
  const { env, happened } = killAt(step);
  let isOver = false;
  const keep = async (): Promise<void> => {
    const daemon = daemons.start('lccd-rs', home, [], env);
    void daemon.ended.then(how => (how === 'SIGKILL' && !isOver ? keep() : undefined));
    await daemon.ready.catch(() => undefined);
  };
  await keep();
  show('/a');
  await run('lccrs', 'feed', 'add', '--pid=7', site.urlOf('/feed'));
  const form = () => new URLSearchParams({ 'hub.mode': 'publish', 'hub.url': site.urlOf('/feed') });
  const pinged = () =>
    fetch(`http://127.0.0.1:${port}/ping`, { method: 'POST', body: form() }).then(
      ({ status }) => status === 204,
      () => false,
    );
  return {
    home,
    site,
    hub,
    show,
    ping: async () => void (await until('a ping is answered', pinged)),
    waits: path => until(`${path} waits`, () => pushed(home).includes(site.urlOf(path))),
    killed: () => until('it was killed', happened),
    async end() {
      isOver = true;
      await daemons.end();
      hub.close();
      site.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

describe('lccd-rs killed', () => {
  let scene: Scene;
  afterEach(() => scene.end());

  for (const step of ['rs.feed.read', 'rs.feed.prompted'])
    it(`at ${step} pushes what it has read, and what it was pinged for`, async () => {
      scene = await start(step, false);
      await scene.waits('/a');
      scene.show('/a', '/b');
      await scene.ping();
      await scene.waits('/b');
      await scene.killed();
    });

  it('at rs.hub.asked goes on with the feed, and asks the hub again', async () => {
    scene = await start('rs.hub.asked', true);
    await scene.waits('/a');
    await scene.killed();
    assert.equal(scene.hub.asked.length, 0);
    scene.show('/a', '/b');
    await scene.ping();
    await scene.waits('/b');
  });

  it('at rs.hub.verified asks for the feed after the verification all the same', async () => {
    scene = await start('rs.hub.verified', true);
    await scene.waits('/a');
    scene.show('/a', '/b');
    await scene.killed();
    await scene.waits('/b');
  });
});
