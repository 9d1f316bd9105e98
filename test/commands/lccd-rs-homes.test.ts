/** A site registers with an LCC of two homes, and is fetched by the second: real lccd, lccd-fe, nginx and MariaDB (acceptance 28). */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { stringify } from 'smol-toml';
import { Authority } from '../fetch/authority.js';
import type { Daemon } from '../support/daemon.js';
import { Engine, noEngine } from '../support/engine.js';
import { freePort, freePorts } from '../support/free-port.js';
import { Lcc } from '../support/lcc.js';
import { killAt } from '../support/kills.js';
import { noNginx, startDocs, type DocsSite } from '../support/nginx.js';
import { until } from '../support/until.js';

describe('registration with an LCC of two homes', { skip: noEngine || noNginx }, () => {
  let engine: Engine;
  let site: DocsSite;
  let server = '';
  let operators = '';
  const homes: Lcc[] = [];
  /** Dies when it has taken a number in the map, before anything is sent. */
  const kill = killAt('rs.home.taken');
  let front: Daemon | undefined;
  const home = (n: number): Lcc => homes[n] as Lcc;
  const asked = async (path: string, said?: object) => {
    const authorization = `Basic ${Buffer.from(`ops:${password}`).toString('base64')}`;
    const body = said && { method: 'POST', body: JSON.stringify(said) };
    const headers = { authorization, 'content-type': 'application/json' };
    const answer = await fetch(`${operators}api/v1/op${path}`, { headers, ...body });
    return (await answer.json()) as Record<string, unknown>;
  };
  let password = '';

  before(async () => {
    [engine, site] = await Promise.all([Engine.start(), startDocs()]);
    const [rs, op, fe] = [await freePort(), await freePort(), await freePort()];
    server = `http://127.0.0.1:${rs}/`;
    operators = `http://127.0.0.1:${op}/`;
    const authority = new Authority();
    const { certFile, keyFile } = authority.issue();
    for (const shard of [0, 1]) {
      const name = `localhost:${await freePorts(5)}`;
      const registration = {
        listen: [`127.0.0.1:${rs}`],
        url: server,
        operator_listen: [`127.0.0.1:${op}`],
        uns: `127.0.0.1:${fe}`,
        ports: [String(site.port)],
        mode: 'open',
        retry_ms: 50,
        check_interval_ms: 0,
        series_ms: 1000,
      };
      const toml = {
        net: { peer_ca: authority.caFile, peer_cert: certFile, peer_key: keyFile },
        store: { url: engine.url(), password_file: engine.passwordFile() },
        cluster: { machine: name, machines: [name], shard },
        wire: { ping_interval_ms: 1000 },
        ...(shard === 0 && { rs: registration, fe: { listen: [`127.0.0.1:${fe}`] } }),
      };
      homes.push(new Lcc(site.url, stringify(toml)));
      const admin = `--user=lcc_admin --password-file=${engine.passwordFile('lcc_admin')}`;
      await home(shard).run(`lcckeep init ${admin}`);
    }
    await Promise.all(homes.map((lcc, shard) => lcc.start(shard === 0 ? kill.env : {})));
    for (const lcc of homes) await until('a home serves', async () => (await lcc.sh('lccstat')).status === 0);
    await home(0).run('lccmap add-shard 1');
    password = (await home(0).run('lccrs operator add ops')).trim().split(/\s/).at(-1) ?? '';
    front = home(0).startDaemon('lccd-fe');
    await front.ready;
  });
  after(async () => {
    await front?.stop();
    for (const lcc of homes) await lcc.remove();
    await site.stop();
    await engine.remove();
  });

  const pmdb = async () =>
    Object.fromEntries(
      (await engine.node.query('select pid, shard from lcc.pmdb')).map(({ pid, shard }) => [pid, shard]),
    );
  const register = (n: number) =>
    home(0).sh(
      `lccregister new --server=${server} --url=${site.url}${n}/ --docroot=${site.docroot}/${n} --pwdfile=${home(0).dir}/password${n} --wait=60`,
    );

  it('takes a new provider to the home with the fewest, also when killed between map and home, where it is fetched', async () => {
    await home(0).run('lccpidb add --pid=1 --root=http://elsewhere.example.org/');
    await home(0).run(`mkdir -p ${site.docroot}/1 ${site.docroot}/2`);
    writeFileSync(join(site.docroot, '1/index.html'), '<p>registered');
    // The Registration Server is killed meanwhile: to be run again, says lccregister then.
    const { stdout } = await until('the site is registered', async () => {
      const done = await register(1);
      assert.ok(done.status === 0 || done.status === 75, done.stderr);
      return done.status === 0 && done;
    });
    assert.ok(kill.happened());
    assert.deepEqual(await pmdb(), { 1: 0, 100000: 1 });
    const [, line = ''] = /^\*\/15 \* \* \* \* (.+)\n$/.exec(stdout) ?? [];
    const delivered = await home(0).sh(line.replaceAll('\\%', '%'));
    assert.equal(delivered.status, 0, delivered.stderr);
    const held = () => home(1).sh('lccq --format=urls');
    await until('home 1 has the page', async () => (await held()).stdout.includes('/1/index.html'));
    assert.equal((await home(0).run('lccq --format=urls')).trim(), '');
    const all = await home(0).run('lccq --all --format=urls');
    assert.equal(all.trim(), `${site.url}1/index.html`);
  });

  it('lets a provider of the second home in, shows what that holds, and takes its words there', async () => {
    const me = async (path = '', init: RequestInit = {}, password = word) => {
      const authorization = `Basic ${Buffer.from(`100000:${password}`).toString('base64')}`;
      const headers = { authorization, 'content-type': 'application/json' };
      const answer = await fetch(`${server}api/v1/me${path}`, { ...init, headers });
      return { status: answer.status, said: (await answer.json()) as Record<string, unknown> };
    };
    const word =
      readFileSync(join(home(0).dir, 'password1'), 'utf8')
        .trim()
        .split(/\s/)
        .at(-1) ?? '';
    const { status, said } = await me();
    assert.equal(status, 200, JSON.stringify(said));
    const { said: receipts } = await me('/receipts');
    assert.equal((receipts['sets'] as unknown[]).length, 1);
    assert.equal((await me('', {}, 'wrong')).status, 401);
    await home(1).stop();
    assert.equal((await me()).status, 503, 'its home is away');
    await home(1).start();
    await until('it is back', async () => (await me()).status === 200);
  });

  it('takes pushes of a provider of the second home, which looks at the page', async () => {
    await home(1).run('lccpidb set --pid=100000 --push=indexnow');
    const key = 'a-key-of-the-site';
    await home(0).run(`printf ${key} > ${site.docroot}/${key}.txt`);
    writeFileSync(join(site.docroot, '1/pushed.html'), '<p>pushed');
    const page = `${site.url}1/pushed.html`;
    await until('it is taken', async () => {
      const { status } = await fetch(
        `${server}indexnow?${new URLSearchParams({ url: page, key }).toString()}`,
      );
      return status === 200;
    });
    await until('home 1 has the page', async () =>
      (await home(1).sh('lccq --format=urls')).stdout.includes('/1/pushed.html'),
    );
  });

  it('polls feeds of a provider of the second home, which fetches what they name', async () => {
    await home(1).run('lccpidb set --pid=100000 --push=indexnow,feed');
    const page = `${site.url}1/fed.html`;
    writeFileSync(join(site.docroot, '1/fed.html'), '<p>of the feed');
    writeFileSync(
      join(site.docroot, '1/feed.xml'),
      `<rss version="2.0"><channel><title>t</title><item><title>t</title><link>${page}</link><guid>${page}</guid></item></channel></rss>`,
    );
    const word =
      readFileSync(join(home(0).dir, 'password1'), 'utf8')
        .trim()
        .split(/\s/)
        .at(-1) ?? '';
    const added = await fetch(`${server}api/v1/me/feeds`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`100000:${word}`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ url: `${site.url}1/feed.xml` }),
    });
    assert.equal(added.status, 201, await added.text());
    await until('home 1 has the page', async () =>
      (await home(1).sh('lccq --format=urls')).stdout.includes('/1/fed.html'),
    );
    await home(0).shows('lccrs feed list', /^100000 .*feed\.xml.*read/m);
    assert.equal((await home(0).run('lccq --format=urls')).trim(), '');
  });

  it('takes the words of lccrs about providers of the second home', async () => {
    const added = `${site.url}1/added.xml`;
    const page = `${site.url}1/named.html`;
    writeFileSync(join(site.docroot, '1/named.html'), '<p>of the other feed');
    writeFileSync(
      join(site.docroot, '1/added.xml'),
      `<rss version="2.0"><channel><title>t</title><item><title>t</title><link>${page}</link><guid>${page}</guid></item></channel></rss>`,
    );
    await home(0).run(`lccrs feed add --pid=100000 ${added}`);
    await until('home 1 has the page', async () =>
      (await home(1).sh('lccq --format=urls')).stdout.includes('/1/named.html'),
    );
    await home(0).run(`lccrs feed rm --pid=100000 ${added}`);
    assert.doesNotMatch(await home(0).run('lccrs feed list --pid=100000'), /added\.xml/);
    const outside = await home(0).sh('lccrs feed add --pid=100000 http://elsewhere.example.org/feed');
    assert.equal(outside.status, 64, outside.stderr);
    const none = await home(0).sh(`lccrs feed add --pid=99 ${added}`);
    assert.match(none.stderr, /there is no provider 99 with a root/);
    await home(0).shows('lccrs show --pid=100000', /^pushes +by (indexnow, feed|feed, indexnow);/);
    await home(0).shows('lccrs show 1', /^pushes +by (indexnow, feed|feed, indexnow);/m);
    const differs = await home(0).sh('lccrs list --differs');
    assert.deepEqual([differs.status, differs.stdout], [0, '']);
  });

  it('shows operators the providers of both homes, and does what they say where a provider is', async () => {
    // It connects to the one that was away again in its own time.
    await until('providers of both', async () => {
      const { providers } = (await asked('/providers')) as { providers: { pid: number }[] };
      return providers.map(({ pid }) => pid).join() === '1,100000';
    });
    const overview = await until('an overview of both', async () => {
      const seen = await asked('/');
      return seen['providers'] === 2 && seen['problem'] === null && seen;
    });
    assert.match(String(overview['summary']), /; home 1: /);
    const { daemons } = (await asked('/daemons')) as { daemons: { name: string }[] };
    assert.ok(daemons.some(({ name }) => name === '1/lccd-qm'));
    const pause = await asked('/providers/100000/pause', { reason: 'a test' });
    assert.deepEqual(pause, { pid: 100000, op: 'pause' });
    await home(1).shows('lccpidb show --pid=100000', /paused/);
  });

  it('names providers of the second home that crawl the site as well', async () => {
    await home(1).run(`lccpidb add --pid=9 --spider=yes --root=${site.url}1/`);
    await home(0).shows('lccrs show 1', /^crawled by +provider 9:/m);
  });

  it('names a home that does not answer, and goes on with the others', async () => {
    await home(1).stop();
    const seen = await until('the overview names it', async () => {
      const overview = await asked('/');
      return overview['problem'] !== null && overview;
    });
    assert.match(String(seen['problem']), /home 1 does not answer/);
    const page = await asked('/providers');
    assert.match(String(page['problem']), /home 1 does not answer/);
    assert.deepEqual(
      (page['providers'] as { pid: number }[]).map(({ pid }) => pid),
      [1],
    );
    const feed = await home(0).sh(`lccrs feed add --pid=100000 ${site.url}1/added.xml`);
    assert.match(feed.stderr, /home 1/);
    assert.ok([69, 75].includes(feed.status ?? 0), feed.stderr);
    assert.equal((await home(0).sh('lccrs list --differs')).status, 0);
  });
});
