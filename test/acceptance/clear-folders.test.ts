/** Pages that are named as their folders, `/` and `/news/`: caches clear them, rails with files clear the file that they are. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { noRails, type TestRail } from '../support/rails.js';
import { runCommand } from '../support/command.js';
import { SoftHome } from '../support/soft.js';
import { until } from '../support/until.js';

let home: SoftHome;
let closeCache: () => void = () => undefined;
afterEach(async () => {
  closeCache();
  await home.end();
});

const FAST = { backoff_min_ms: 10, backoff_max_ms: 20, backlog_retry_ms: 50, poll_ms: 50 };
const INDEX = { contentType: '@index', target: 'www', path: '/', extension: 'index.html' };

/** Rails with files before a cache. @param seen what is noted with each request to the cache */
async function begin(
  kinds: readonly ('apache' | 'nginx')[],
  seen: () => string = () => '',
): Promise<{ rails: TestRail[]; asked: string[] }> {
  home = new SoftHome(FAST);
  await home.begin(kinds);
  home.db.soft.removeRule({ url: '/**', target: 'www' });
  home.db.targets.addPath({ contentType: '@url', target: 'www', path: '/', extension: '' });
  for (const rail of home.rails) rail.write(['/index.html', '/x/index.html', '/x/y.html', '/x/z/deep.html']);
  const asked: string[] = [];
  const cache = createServer(socket => {
    socket.on('error', () => undefined);
    socket.on('data', bytes => {
      const [line = ''] = bytes.toString().split(' HTTP/1.1');
      asked.push(`${line}${seen()}`);
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
    });
  });
  await new Promise<void>(resolve => cache.listen(0, '127.0.0.1', resolve));
  closeCache = () => cache.close();
  const url = `http://127.0.0.1:${(cache.address() as AddressInfo).port}/`;
  home.addRail('cache', { url, driver: 'varnish', tier: 1 });
  return { rails: home.rails, asked };
}

const clear = (...args: string[]) => runCommand(home.dir, 'lccclear', ['--target=www', ...args]);

/** Not with --wait: the cache answers in this process. */
async function cleared(url: string): Promise<void> {
  assert.equal(clear(url).status, 0);
  await home.untilClear();
  await home.untilPublished();
}

describe('the page of a folder', { skip: noRails }, () => {
  it('is refused where a rail has files and nothing says which one it is', async () => {
    const { rails, asked } = await begin(['apache', 'nginx']);
    await home.startHard().ready;
    const before = rails.map(rail => rail.pages());
    const { status, stderr } = clear('/', '/x/');
    assert.equal(status, 65);
    assert.match(stderr, /^lccclear: operand 1: .*whole folder \(lccrail map add www --type=@index/m);
    // What is in the queue all the same is rejected there.
    home.request(['/', '/x/'], { contentType: '@url' });
    await home.untilClear();
    assert.equal(home.db.queue.rejections(0, 9).length, 2);
    assert.deepEqual([rails.map(rail => rail.pages()), asked], [before, []]);
  });

  it('is its file on rails with files, and then both on caches; no folder is removed', async () => {
    const { rails, asked } = await begin(['apache', 'nginx'], () =>
      home.rails.some(rail => rail.pages().includes('/x/index.html')) ? ' too early' : '',
    );
    home.db.targets.addPath(INDEX);
    const daemon = home.startHard();
    await daemon.ready;
    await cleared('/x/');
    assert.deepEqual(asked, ['PURGE /x/index.html', 'PURGE /x/'], daemon.log);
    for (const rail of rails) {
      assert.deepEqual(rail.pages(), ['/index.html', '/x/y.html', '/x/z/deep.html']);
      assert.deepEqual(await rail.requests(1), ['DELETE /x/index.html 204']);
    }
    await cleared('/index.html');
    assert.deepEqual(asked.slice(2), ['PURGE /index.html', 'PURGE /'], 'by its other name, too');
  });

  it('is cleared on a cache again when the rail before it was down', async () => {
    const { rails, asked } = await begin(['nginx']);
    home.db.targets.addPath(INDEX);
    await rails[0]?.stop();
    await home.startHard().ready;
    await cleared('/');
    assert.deepEqual(asked.splice(0), ['PURGE /index.html', 'PURGE /']);
    await rails[0]?.start();
    home.db.rails.setByAdmin('r1', 'UP', Date.now());
    await until('both once more', () => asked.length === 2);
    assert.deepEqual(asked.toSorted(), ['PURGE /', 'PURGE /index.html']);
    assert.ok(!rails[0]?.pages().includes('/index.html'));
    asked.splice(0);
    assert.equal(runCommand(home.dir, 'lccrail', ['resync', 'cache', '--since=1h']).status, 0);
    await until('the cache is asked for both again', () => asked.length === 2);
    assert.deepEqual(asked.toSorted(), ['PURGE /', 'PURGE /index.html']);
  });

  it('is replaced softly with its file', async () => {
    const { rails, asked } = await begin(['apache'], () => ` ${home.contents('/index.html').join()}`);
    home.db.targets.addPath(INDEX);
    home.db.soft.putRule({ url: '/**', target: 'www', isPattern: 1, enabled: 1, minIntervalMs: 0 });
    await home.startHard().ready;
    home.startSoft();
    await cleared('/');
    assert.deepEqual(asked, ['SOFTPURGE /index.html new /index.html', 'SOFTPURGE / new /index.html']);
    assert.equal(rails[0]?.pages().length, 4);
  });

  it('is cleared as it is where all rails are caches, and never sent to one that has files since', async () => {
    const { rails, asked } = await begin(['nginx']);
    const [rail] = rails;
    home.db.rails.remove('r1');
    await home.startHard().ready;
    await cleared('/x/');
    assert.deepEqual(asked, ['PURGE /x/']);
    home.db.rails.setByAdmin('cache', 'DOWN', Date.now());
    await cleared('/x/');
    const cache = home.db.rails.get('cache') ?? assert.fail();
    home.db.rails.change('cache', { ...cache, driver: 'nginx-dav', url: rail?.url ?? '' });
    home.db.rails.setByAdmin('cache', 'UP', Date.now());
    await until('it is given up', () => home.db.backlog.get('cache', '/x/')?.dead === 1);
    assert.match(home.db.backlog.get('cache', '/x/')?.lastError ?? '', /folder/);
    assert.equal(rail?.pages().length, 4);
  });

  it('comes from the feed, which says how many changes of a rule cleared nothing', async () => {
    const { asked } = await begin(['nginx']);
    home.db.targets.addPath(INDEX);
    const rules = join(home.dir, 'rules.json');
    const urls = [{ prefix: 'http://www.example.org/', type: '@url' }];
    writeFileSync(rules, JSON.stringify({ providers: { 7: { target: 'www', urls } } }));
    const curls = ['', 'x/', 'x/?q=1', 'y.html', '?z'].map(rest => `http://www.example.org/${rest}`);
    const changes = [...curls, 'http://other.example.org/'].map(curl =>
      JSON.stringify({ op: 'upsert', pid: 7, curl }),
    );
    const args = ['-q', '--stdin=jsonl', `--rules=${rules}`];
    await home.startHard().ready;
    const { status, stderr } = runCommand(home.dir, 'lccclear', args, { input: `${changes.join('\n')}\n` });
    assert.equal(status, 0);
    assert.match(stderr, /^lccclear: 2 changes that a rule names cleared nothing; the first: line 3: .*\n$/);
    await home.untilClear();
    const wanted = ['/', '/index.html', '/x/', '/x/index.html', '/y.html'].map(url => `PURGE ${url}`);
    assert.deepEqual(asked.toSorted(), wanted);
  });
});
