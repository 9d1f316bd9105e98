/** Varnish before the rails of a target, as examples/clear/varnish sets it up, with both daemons: A12. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import {
  noExampleServers,
  startVarnishExample,
  withReplaced,
  type ExampleServer,
} from '../support/example-rails.js';
import { freePort } from '../support/free-port.js';
import { longIt } from '../support/long.js';
import type { RailKind } from '../support/rails.js';
import { SoftHome } from '../support/soft.js';
import { until } from '../support/until.js';

const TOKEN = '9d1c6e0b7a334f1d8c2e5b4a';
const PAGE = '/news/a.html';

const homes: SoftHome[] = [];
const servers: ExampleServer[] = [];
after(async () => {
  await Promise.all(homes.map(home => home.end()));
  await Promise.all(servers.map(server => server.stop()));
});

interface RailStatus {
  name: string;
  done: number;
  sending: number;
}

const railsOf = (status: Record<string, unknown>) =>
  Object.fromEntries((status['rails'] as RailStatus[]).map(rail => [rail.name, rail]));

/** Rails of files, and Varnish that gets what it has not from the first of them. */
async function newHome(
  kinds: readonly RailKind[] = ['nginx', 'apache'],
  directives = '',
): Promise<{ home: SoftHome; served: () => Promise<string> }> {
  const home = new SoftHome({ answer_timeout_ms: 100_000, total_timeout_ms: 200_000 });
  homes.push(home);
  await home.begin(kinds, {}, directives);
  const dir = join(home.dir, 'varnish');
  mkdirSync(dir);
  writeFileSync(join(dir, 'token'), `${TOKEN}\n`);
  writeFileSync(join(home.dir, 'clear/secrets.toml'), `[caches]\nbearer = "${TOKEN}"\n`, { mode: 0o600 });
  const [first] = home.rails;
  const vcl = withReplaced('examples/clear/varnish/lcc.vcl', [
    ['"8080"', `"${new URL(first?.url ?? '').port}"`],
    ['/etc/varnish/lcc-token', join(dir, 'token')],
  ]);
  const port = await freePort();
  servers.push(await startVarnishExample(dir, port, vcl));
  const url = `http://127.0.0.1:${port}`;
  home.addRail('cache', {
    url: `${url}/`,
    driver: 'varnish',
    tier: 1,
    authRef: 'caches',
    host: 'www.example.org',
  });
  // Varnish stores a page by the name that readers ask for.
  const served = async () => {
    const asked = request(url + PAGE, { headers: { host: 'www.example.org' }, agent: false }).end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    let found = answer.statusCode === 200 ? '' : `${answer.statusCode} `;
    for await (const piece of answer) found += String(piece);
    return found;
  };
  return { home, served };
}

describe('Varnish before rails', { skip: noExampleServers }, () => {
  it('is told of a new page after the rails have it, serves the old one meanwhile, then the new one (A12)', async () => {
    const { home, served } = await newHome();
    for (const rail of home.rails) rail.write([PAGE]);
    assert.equal(await served(), 'old');
    const [, second] = home.rails;
    second?.signal('SIGSTOP');
    home.publish(PAGE);
    await home.startSoft().ready;
    await until('the first rail has the page', () => home.contents(PAGE)[0] === `new ${PAGE}`);
    const rails = railsOf(await home.softStatus());
    assert.deepEqual([rails['r2']?.sending, rails['cache']?.done, rails['cache']?.sending], [1, 0, 0]);
    assert.equal(await served(), 'old', 'Varnish was not told yet');
    second?.signal('SIGCONT');
    await home.untilPublished();
    assert.equal(await served(), 'old', 'stale, while the new one is fetched');
    await until('Varnish has the new page', async () => (await served()) === `new ${PAGE}`);
    assert.deepEqual(home.contents(PAGE), [`new ${PAGE}`, `new ${PAGE}`]);
    assert.equal(railsOf(await home.softStatus())['cache']?.done, 1);
  });

  it('is purged after the rails are cleared, and does not get the old page from them again (A12)', async () => {
    const { home, served } = await newHome();
    for (const rail of home.rails) rail.write([PAGE]);
    assert.equal(await served(), 'old');
    const [, second] = home.rails;
    second?.signal('SIGSTOP');
    home.request(['news/a'], { force: true });
    await home.startHard().ready;
    await until('the first rail is cleared', () => home.rails[0]?.pages().length === 0);
    const rails = railsOf(await home.status());
    assert.deepEqual([rails['r2']?.sending, rails['cache']?.done, rails['cache']?.sending], [1, 0, 0]);
    assert.equal(await served(), 'old', 'Varnish was not told yet');
    second?.signal('SIGCONT');
    await home.untilClear();
    assert.match(await served(), /^404 /);
  });

  longIt(
    'is purged once more when the rail that it asks was cleared late, and gave it the old page meanwhile',
    async () => {
      const refusal = 'limit_except GET HEAD { deny all; }';
      const { home, served } = await newHome(['nginx'], refusal);
      const [first] = home.rails;
      assert.ok(first);
      first.write([PAGE]);
      home.request(['news/a'], { force: true });
      await home.startHard().ready;
      await until('Varnish was purged', () => home.db.queue.count(1) === 0);
      assert.equal(home.db.backlog.get('r1', PAGE)?.lastError, 'status 403');
      assert.equal(await served(), 'old');
      const config = join(home.dir, 'r1/server.conf');
      writeFileSync(config, readFileSync(config, 'utf8').replace(refusal, ''));
      first.signal('SIGHUP');
      await until('the rail takes changes', async () => {
        const { status } = await fetch(`${first.url}none.html`, { method: 'DELETE' });
        return status === 404;
      });
      home.db.write(() => home.db.backlog.retry({}));
      await until('nothing waits for a rail', () => home.db.backlog.counts().length === 0);
      assert.match(await served(), /^404 /);
    },
  );
});
