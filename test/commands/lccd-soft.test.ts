/** lccd-soft with real rails and a load balancer that generates. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { SOFT_FIGURES } from '../../src/clear/figures.js';
import { EXIT } from '../../src/lib/errors.js';
import { OF_EVERY_DAEMON } from '../support/daemon.js';
import { longIt } from '../support/long.js';
import { examples, pageOf } from '../support/mdoc.js';
import { startDocs } from '../support/nginx.js';
import { noRails } from '../support/rails.js';
import { SoftHome } from '../support/soft.js';
import { until } from '../support/until.js';

const homes: SoftHome[] = [];
after(() => Promise.all(homes.map(home => home.end())));

function newHome(...settings: ConstructorParameters<typeof SoftHome>): SoftHome {
  const home = new SoftHome(...settings);
  homes.push(home);
  return home;
}

const bodiesOf = (home: SoftHome) => readdirSync(join(home.dir, 'clear/bodies'));

describe('lccd-soft', { skip: noRails }, () => {
  it('generates a page once, under a name that nobody has, and puts it on every rail', async () => {
    const home = newHome();
    const balancer = await home.begin(['apache', 'nginx']);
    for (const rail of home.rails) rail.write(['/news/a.html', '/news/a-sports.html']);
    home.publish('/news/a.html', '/deep/er/b.html');
    const daemon = home.startSoft();
    await home.untilPublished();
    assert.deepEqual(home.contents('/news/a.html'), ['new /news/a.html', 'new /news/a.html']);
    assert.deepEqual(home.contents('/deep/er/b.html'), ['new /deep/er/b.html', 'new /deep/er/b.html']);
    assert.equal(balancer.asked.length, 2);
    for (const { url, host, cacheControl } of balancer.asked) {
      assert.match(url, /^\/(news\/a|deep\/er\/b)-\d{17}\.html$/);
      assert.deepEqual([host, cacheControl], ['www.example.org', 'no-cache']);
    }
    for (const rail of home.rails)
      assert.deepEqual(rail.pages(), ['/deep/er/b.html', '/news/a-sports.html', '/news/a.html']);
    assert.deepEqual([home.db.soft.generated(), bodiesOf(home)], [[], []]);
    daemon.child.kill('SIGTERM');
    assert.equal(await daemon.ended, EXIT.ok);
  });

  it('keeps the old page while the load balancer fails, and asks again (A13)', async () => {
    const home = newHome({ backoff_min_ms: 10, backoff_max_ms: 20, poll_ms: 20, soft_must_match: '</html>' });
    const balancer = await home.begin(['nginx', 'apache']);
    for (const rail of home.rails) rail.write(['/a.html']);
    const bad = [
      { status: 503, headers: { 'retry-after': '0' } },
      { status: 204 },
      { status: 302, headers: { location: '/login.html' } },
      { body: '' },
      { body: 'half a page</html>', isCut: true },
      { body: 'an error that says 200' },
    ];
    let tries = 0;
    const seen: string[][] = [];
    balancer.answer = () => {
      seen.push(home.contents('/a.html'));
      return bad[tries++] ?? { body: 'new</html>' };
    };
    home.publish('/a.html');
    const daemon = home.startSoft();
    await home.untilPublished();
    assert.equal(tries, bad.length + 1);
    assert.deepEqual(new Set(seen.flat()), new Set(['old']));
    assert.deepEqual(home.contents('/a.html'), ['new</html>', 'new</html>']);
    for (const rail of home.rails) assert.deepEqual(rail.pages(), ['/a.html']);
    await daemon.logged('page cannot be generated');
    assert.equal(new Set(balancer.asked.map(({ url }) => url)).size, tries, 'never a name twice');
  });

  it('removes a page that the load balancer says twice is gone, or keeps it', async () => {
    for (const gone of ['delete', 'keep']) {
      const home = newHome({ backoff_min_ms: 10, backoff_max_ms: 10, poll_ms: 20, soft_on_gone: gone });
      const balancer = await home.begin(['nginx', 'apache']);
      for (const rail of home.rails) rail.write(['/a.html']);
      balancer.answer = () => ({ status: 404 });
      home.publish('/a.html');
      home.startSoft();
      await home.untilPublished();
      const asked = balancer.asked.map(({ url }) => url.replace(/-\d{17}/, '-STAMP'));
      assert.deepEqual(asked, ['/a-STAMP.html', '/a.html', '/a-STAMP.html', '/a.html']);
      for (const rail of home.rails) assert.deepEqual(rail.pages(), gone === 'delete' ? [] : ['/a.html']);
      assert.deepEqual(home.db.soft.generated(), []);
    }
  });

  longIt(
    'leaves pages where they are while the site does not know names with a timestamp, and says so',
    async () => {
      const home = newHome({ backoff_min_ms: 10, backoff_max_ms: 10, poll_ms: 20 });
      const balancer = await home.begin(['nginx', 'apache']);
      for (const rail of home.rails) rail.write(['/a.html', '/b.html']);
      const isStamped = ({ url = '' }: { url?: string | undefined }) => /-\d{17}/.test(url);
      balancer.answer = (url, request) => (isStamped(request) ? { status: 404 } : { body: `new ${url}` });
      home.publish('/a.html');
      const daemon = home.startSoft();
      await until('it was tried often', () => balancer.asked.filter(isStamped).length > 4);
      for (const rail of home.rails) assert.deepEqual(rail.pages(), ['/a.html', '/b.html']);
      assert.match(
        String((await home.softStatus())['generation_error']),
        /^\/a\.html: status 404 \(http:\/\/127.*\/a-\d{17}\.html\), but there is \/a\.html: .*lccrail-drivers\(5\)/,
      );
      // The site is mended. What is gone after that is believed, also by the next daemon, without another question.
      balancer.answer = url => ({ body: `new ${url}` });
      await home.untilPublished();
      assert.deepEqual(home.contents('/a.html'), ['new /a.html', 'new /a.html']);
      daemon.child.kill('SIGTERM');
      await daemon.ended;
      balancer.answer = (_url, request) =>
        isStamped(request) ? { status: 404 } : { body: 'a cache has it' };
      home.publish('/a.html');
      home.startSoft();
      await home.untilPublished();
      for (const rail of home.rails) assert.deepEqual(rail.pages(), ['/b.html']);
    },
  );

  it('generates through nginx as lccrail-drivers(5) sets it up', async () => {
    const home = newHome();
    await home.begin(['apache']);
    const page = pageOf('lccrail-drivers') ?? assert.fail();
    const block = examples(page).find(text => text.includes('rewrite')) ?? assert.fail();
    const rewrite = /^ *(rewrite .*)$/m.exec(block)?.[1] ?? assert.fail();
    const site = await startDocs(rewrite);
    try {
      const urls = ['/v1.2/page', '/a.tar.gz', '/news/a-1.html'];
      for (const url of urls) {
        mkdirSync(dirname(site.docroot + url), { recursive: true });
        writeFileSync(site.docroot + url, `new ${url}`);
      }
      home.db.targets.put({ name: 'www', kind: 'elementary', lbUrl: site.url, host: null });
      home.publish(...urls);
      home.startSoft();
      await home.untilPublished();
      for (const url of urls) assert.deepEqual(home.contents(url), [`new ${url}`]);
    } finally {
      await site.stop();
    }
  });

  it('puts on a rail that comes UP what it missed, the newest of each page', async () => {
    const home = newHome();
    const balancer = await home.begin(['nginx', 'apache', 'nginx']);
    for (const rail of home.rails) rail.write(['/a.html', '/b.html']);
    const last = home.rails[2] ?? assert.fail();
    await last.stop();
    let version = 1;
    balancer.answer = url => ({ body: `version ${version} of ${url}` });
    home.publish('/a.html', '/b.html');
    const daemon = home.startSoft();
    await home.untilPublished();
    version = 2;
    home.publish('/a.html');
    await home.untilPublished();
    assert.deepEqual(home.contents('/a.html'), ['version 2 of /a.html', 'version 2 of /a.html', 'old']);
    assert.equal(home.db.rails.get('r3')?.state, 'DOWN');
    await until('two contents in files', () => bodiesOf(home).length === 2);
    daemon.child.kill('SIGKILL');
    await daemon.ended;
    await last.start();
    home.db.rails.setByAdmin('r3', 'UP', Date.now());
    const asked = balancer.asked.length;
    home.startSoft();
    await home.untilPublished();
    assert.equal(home.contents('/a.html')[2], 'version 2 of /a.html');
    assert.equal(home.contents('/b.html')[2], 'version 1 of /b.html');
    assert.equal(balancer.asked.length, asked, 'from the files');
    await until('no file that nobody needs', () => bodiesOf(home).length === 0);
  });

  longIt('generates again what a rail missed and no file has any more', async () => {
    const home = newHome({ soft_spool_bytes: 30 });
    const balancer = await home.begin(['nginx', 'nginx']);
    const [, last] = home.rails;
    await last?.stop();
    const urls = ['/a.html', '/b.html', '/c.html', '/d.html'];
    home.publish(...urls);
    home.startSoft();
    await home.untilPublished();
    assert.ok(bodiesOf(home).length <= 2, 'files of 30 bytes altogether');
    const asked = balancer.asked.length;
    await last?.start();
    home.db.rails.setByAdmin('r2', 'UP', Date.now());
    await home.untilPublished();
    await until('all pages on the last rail', () => last?.pages().length === urls.length);
    await home.untilPublished();
    for (const url of urls) assert.deepEqual(home.contents(url), [`new ${url}`, `new ${url}`]);
    assert.ok(balancer.asked.length > asked);
  });

  longIt('brings what is published during a run, last of all what was published last', async () => {
    const home = newHome();
    const balancer = await home.begin(['nginx', 'apache']);
    let version = 0;
    balancer.answer = url => {
      // While it is generated it changes again, some times.
      if (++version < 20) home.publish(url);
      return { body: `version ${version}` };
    };
    home.publish('/a.html');
    home.startSoft();
    await until('all versions generated', () => version === 20);
    await home.untilPublished();
    assert.deepEqual(home.contents('/a.html'), ['version 20', 'version 20']);
    const row = home.db.soft.get({ url: '/a.html', target: 'www' });
    assert.equal(row?.doneSeq, row?.publishSeq);
  });

  it('generates a page no more often than its rule says', async () => {
    const home = newHome({ poll_ms: 20 });
    const balancer = await home.begin(['nginx']);
    home.db.soft.putRule({ url: '/a.html', target: 'www', isPattern: 0, enabled: 1, minIntervalMs: 400 });
    home.publish('/a.html');
    home.startSoft();
    await home.untilPublished();
    const page = { url: '/a.html', target: 'www' };
    const doneMs = home.db.soft.get(page)?.doneMs ?? 0;
    for (let i = 0; i < 5; i++) home.publish('/a.html');
    await home.untilPublished();
    assert.equal(balancer.asked.length, 2);
    assert.ok((home.db.soft.get(page)?.doneMs ?? 0) >= doneMs + 400);
  });

  it('tells a cache after the rails before it have the page (A12)', async () => {
    const home = newHome();
    await home.begin(['nginx', 'apache']);
    const told: string[] = [];
    // Node's own server does not know the method.
    const cache = createServer(socket => {
      socket.on('data', bytes => {
        const [line = ''] = bytes.toString().split(' HTTP/1.1');
        told.push(`${line}: ${home.contents('/a.html').join(', ')}`);
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
      });
    });
    after(() => cache.close());
    await new Promise<void>(resolve => cache.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(cache.address() as AddressInfo).port}/`;
    home.addRail('cache', { url, driver: 'varnish', tier: 1 });
    for (const rail of home.rails) rail.write(['/a.html']);
    home.publish('/a.html');
    home.startSoft();
    await home.untilPublished();
    assert.deepEqual(told, ['SOFTPURGE /a.html: new /a.html, new /a.html']);
  });

  it('asks for one pattern where a rail has a script for it', async () => {
    const home = newHome();
    await home.begin(['nginx'], { cleanup: 'wildcard' });
    home.publish('/a.html');
    home.startSoft();
    await home.untilPublished();
    // nginx takes it for a name: the script is the site's.
    assert.deepEqual(await home.rails[0]?.requests(2), ['PUT /a.html 201', 'DELETE /a-*.* 404']);
  });

  it('leaves a page out whose request lccd-hard excludes, and publishes it (A8)', async () => {
    const home = newHome();
    const balancer = await home.begin(['nginx']);
    home.db.targets.put({ name: 'all', kind: 'group', lbUrl: null, host: null });
    home.db.targets.put({ name: 'hard', kind: 'elementary', lbUrl: null, host: null });
    home.db.targets.join('all', 'www');
    home.db.targets.join('all', 'hard');
    home.db.targets.addPath({ contentType: 'page', target: 'hard', path: '/', extension: '.html' });
    const [other] = await home.addRails(['nginx'], { target: 'hard' });
    for (const rail of home.rails) rail.write(['/a.html']);
    home.startSoft();
    home.startHard();
    home.request(['a'], { target: 'all' });
    await home.untilClear();
    await home.untilPublished();
    assert.deepEqual(other?.pages(), []);
    assert.deepEqual(home.rails[0]?.pages(), ['/a.html']);
    assert.equal(balancer.asked.length, 1);
    const published = home.db.soft.get({ url: '/a.html', target: 'www' });
    assert.deepEqual([published?.contentId, published?.publishSeq], ['a', 1]);
    assert.ok((await home.rails[0]?.requests(1))?.every(line => !line.startsWith('DELETE /a.html')));
  });

  it(
    'tries a rail without room again, and others do not wait for it (A14)',
    { skip: process.getuid?.() !== 0 && 'needs root' },
    async t => {
      const home = newHome({ backoff_min_ms: 20, backoff_max_ms: 50, park_after: 5, backlog_retry_ms: 50 });
      const dir = join(home.dir, 'r2/www');
      mkdirSync(dir, { recursive: true });
      const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=777', 'tmpfs', dir]);
      if (mounted.status !== 0) return t.skip(`no tmpfs here: ${String(mounted.stderr)}`);
      try {
        const balancer = await home.begin(['apache', 'apache']);
        const [, full] = home.rails;
        full?.write(['/a.html'], 'old');
        balancer.answer = () => ({ body: Buffer.alloc(100_000, 'x') });
        home.publish('/a.html');
        home.startSoft();
        await until('all published', () => home.db.soft.waitingCount() === 0);
        assert.equal(home.contents('/a.html')[0]?.length, 100_000);
        assert.equal(home.contents('/a.html')[1], 'old');
        assert.match(home.db.backlog.get('r2', '/a.html')?.lastError ?? '', /status 50[07]/);
        assert.equal(spawnSync('mount', ['-o', 'remount,size=1m', dir]).status, 0);
        await home.untilPublished();
        assert.equal(home.contents('/a.html')[1]?.length, 100_000);
      } finally {
        await home.rails[1]?.stop();
        spawnSync('umount', ['-l', dir]);
      }
    },
  );

  it('has the figures of the manual, and is one for each home', async () => {
    const home = newHome();
    await home.begin(['nginx']);
    await home.startSoft().ready;
    const status = await home.softStatus();
    const own = Object.keys(status).filter(key => !OF_EVERY_DAEMON.includes(key));
    assert.deepEqual(own.toSorted(), Object.keys(SOFT_FIGURES).toSorted());
    assert.equal(status['idle'], true);
    const second = home.startSoft();
    assert.equal(await second.ended, EXIT.unavailable);
    assert.match(second.log, /soft\.lock: held by lccd-soft \(process \d+\); stop that one first/);
  });

  it('does not start with a pattern that is none', async () => {
    const daemon = newHome({ soft_must_match: '(' }).startSoft();
    assert.equal(await daemon.ended, EXIT.config);
    assert.match(daemon.log, /clear\.soft_must_match: no regular expression/);
  });
});
