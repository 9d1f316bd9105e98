/** Feeds with a kill -9 of lccd-rs at each durable step: what was answered, and what was read, is pushed. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { openReadOnly } from '../../src/db/sqlite/open.js';
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
  const db = openReadOnly(join(home, 'rs/rs.db'));
  try {
    return db.prepare<[], string>('SELECT curl FROM push_waiting').pluck().all();
  } finally {
    db.close();
  }
}

describe('lccd-rs killed', () => {
  for (const step of ['rs.feed.read', 'rs.feed.prompted', 'rs.hub.asked', 'rs.hub.verified'])
    it(`at ${step} pushes what a feed says, by poll, by push and by ping`, async () => {
      const home = mkdtempSync(join(tmpdir(), 'lcc-feeds-'));
      const hub = await TestHub.listen();
      const site = await TestSite.listen();
      const port = await freePort();
      const root = `${site.url}/`;
      const show = (...paths: string[]) =>
        site.pages.set(
          '/feed',
          rss(
            Object.fromEntries(paths.map(path => [site.urlOf(path), 'x'])),
            `<atom:link rel="hub" href="${hub.url}"/>`,
          ),
        );
      writeFileSync(
        join(home, 'lcc.toml'),
        `[rs]\nlisten = ["127.0.0.1:${port}"]\nurl = "http://127.0.0.1:${port}/"\nports = ["${new URL(root).port}", "${hub.port}"]\n[bot]\nallow_addresses = ["127.0.0.0/8"]\n`,
      );
      const run = async (...args: [string, ...string[]]) => {
        const [name, ...rest] = args;
        const done = await runCommandLater(home, name, rest);
        assert.equal(done.status, 0, done.stderr);
      };
      await run('lccpidb', 'add', '--pid=7', `--root=${root}`);
      await daemons.start('lccd-qm', home).ready;
      const { env, happened } = killAt(step);
      let isOver = false;
      let last: ReturnType<Daemons['start']> | undefined;
      const keep = async (): Promise<void> => {
        last = daemons.start('lccd-rs', home, [], env);
        void last.ended.then(how => (how === 'SIGKILL' && !isOver ? keep() : undefined));
        await last.ready.catch(() => undefined);
      };
      await keep();
      show('/a');
      await run('lccrs', 'feed', 'add', '--pid=7', `${root}feed`);
      await until('the poll is pushed', () => pushed(home).includes(`${root}a`));
      if (step === 'rs.hub.asked') await until('it was killed', happened);
      else {
        await until('the hub is asked', () => hub.asked.length > 0);
        await until('a hub that got no answer is none', async () => {
          await hub.settled().catch(() => undefined);
          return hub.subscriptions.size > 0 || happened();
        });
      }
      for (const subscription of hub.subscriptions.values()) {
        show('/a', '/b');
        await until('a push is answered', () =>
          hub.deliver(subscription).then(
            ({ status }) => status === 202,
            () => false,
          ),
        );
      }
      show('/a', '/b', '/c');
      const ping = new URLSearchParams({ 'hub.mode': 'publish', 'hub.url': `${root}feed` });
      await until('a ping is answered', () =>
        fetch(`http://127.0.0.1:${port}/ping`, { method: 'POST', body: ping }).then(
          ({ status }) => status === 204,
          () => false,
        ),
      );
      await until('what was pinged is pushed', () => pushed(home).includes(`${root}c`));
      await until('it was killed', happened);
      isOver = true;
      await daemons.end();
      hub.close();
      site.close();
      rmSync(home, { recursive: true, force: true });
    });
});
