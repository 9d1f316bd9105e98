/** lcclinks --stay, below lccq --stay: links of one stream after the other, each answered when they are with the UNS. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { TestCache } from '../support/cache.js';
import { lccqSays } from '../support/lccq.js';
import { ROOT } from '../support/tree.js';
import { newHome, SITE, type Home } from '../support/uns.js';
import { until } from '../support/until.js';

const OTHER = 'http://other.example/';

describe('lcclinks --stay', () => {
  let home: Home;
  let door: string;
  let cache: TestCache;
  before(async () => {
    home = newHome();
    home.addProvider(7, {}, 'UPDATE pidb SET spider = 1');
    home.addProvider(8, {}, `UPDATE pidb SET spider = 1; INSERT INTO proots VALUES (8, '${OTHER}')`);
    door = `unix:${join(home.dir, 'spider.sock')}`;
    await home.start({}, [`--listen-spider=${door}`]);
    cache = new TestCache();
    cache.db.exec(`INSERT INTO pidb(pid, password, spider) VALUES (7, '', 1);
      INSERT INTO proots VALUES (7, '${SITE}')`);
  });
  const children: ChildProcess[] = [];
  after(() => {
    for (const child of children) child.kill('SIGKILL');
    cache.close();
  });

  const pages = () => lccqSays(cache, []).stdout;

  function begin(...args: string[]) {
    const child = spawn(join(ROOT, 'bin/lcclinks'), ['--stay', ...args], {
      env: { ...process.env, LCC_HOME: cache.home, LCC_CONFIG: '' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    // It may have ended before it has read everything.
    child.stdin.on('error', () => undefined);
    children.push(child);
    let answers = '';
    child.stdout.setEncoding('utf8').on('data', (some: string) => (answers += some));
    const said = text(child.stderr);
    const closed = once(child, 'close') as Promise<[number]>;
    return {
      child,
      answers: () => answers,
      async answered(count: number): Promise<void> {
        await until(`${count} answers`, () => answers === 'ok\n'.repeat(count));
      },
      async end(): Promise<{ status: number; stderr: string }> {
        child.stdin.end();
        const [status] = await closed;
        return { status, stderr: await said };
      },
    };
  }

  it('answers each stream when its links are with the UNS, and knows a provider that came meanwhile', async () => {
    cache.put({ curl: SITE, pid: 7, content: '<a href=a.html>' });
    const links = begin(`--deliver=${door}`, '-v');
    links.child.stdin.write(pages());
    await links.answered(1);
    assert.equal(home.spooled().length, 1);
    cache.db.exec(`INSERT INTO pidb(pid, password, spider) VALUES (8, '', 1);
      INSERT INTO proots VALUES (8, '${OTHER}')`);
    cache.put({ curl: `${SITE}b`, pid: 7, content: `<a href=a.html><a href=${SITE}c><a href=${OTHER}d>` });
    const second = pages();
    // However it arrives.
    for (const half of [second.slice(0, -3), second.slice(-3)]) links.child.stdin.write(half);
    await links.answered(2);
    const { status, stderr } = await links.end();
    assert.equal(status, 0, stderr);
    assert.match(
      stderr,
      /^lcclinks: 1 page, 1 link in them, 1 sent\n(.*\n)*lcclinks: 2 pages, 4 links in them, 3 sent\n/,
    );
  });

  it('answers no stream that is cut, or whose links could not be delivered', async () => {
    cache.put({ curl: `${SITE}e`, pid: 7, content: `<a href=${SITE}f>` });
    const whole = pages();
    const cut = begin(`--deliver=${door}`);
    cut.child.stdin.write(whole.slice(0, whole.indexOf('<?lcc end?>')));
    assert.equal((await cut.end()).status, 65);
    const nowhere = begin(`--deliver=unix:${join(home.dir, 'nowhere.sock')}`);
    nowhere.child.stdin.write(whole);
    assert.equal((await nowhere.end()).status, 69);
    assert.deepEqual([cut.answers(), nowhere.answers()], ['', '']);
  });

  it('delivers links that lccq names, or is refused', async () => {
    for (const args of [[], [`--deliver=${door}`, '--seeds']]) {
      const { status, stderr } = await begin(...args).end();
      assert.equal(status, 64);
      assert.match(stderr, /^lcclinks: --stay is for lccq --stay, .*; give --deliver, and no --seeds\n/);
    }
  });
});
