/**
 * Change, fetch, clear: what the LCC has fetched is cleared on the rails within two seconds, and nothing of it is lost whatever is
 * killed in between.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ClearDatabase } from '../../src/db/clear/database.js';
import { COMMAND_BUSY_MS } from '../../src/db/clear/open.js';
import { statusOf } from '../support/daemon.js';
import { startLcc, urlTag, type Lcc } from '../support/lcc.js';
import { startLoadBalancer, type LoadBalancer } from '../support/load-balancer.js';
import { noRails, startRail, type TestRail } from '../support/rails.js';
import { TestSite } from '../support/site.js';
import { until } from '../support/until.js';

/** More in the long set (scripts/test-sets.mjs). */
const KILLS = Number(process.env['LCC_TEST_CLEAR_KILLS'] ?? 12);
const CHANGES = 7;
const BOUND_MS = 2000;
const FEED = `lccq --cursor=clear.cursor --format=jsonl`;
const TAKE = `lccclear --stdin=jsonl --rules=rules.json --cursor=lcc`;

describe('the feed', { skip: noRails }, () => {
  let lcc: Lcc;
  let site: TestSite;
  let balancer: LoadBalancer;
  let db: ClearDatabase;
  let rails: TestRail[] = [];
  let follower: ChildProcess | undefined;
  const feed = { isOver: false };

  before(async () => {
    site = await TestSite.listen();
    lcc = await startLcc(
      `${site.url}/`,
      '[clear]\nenabled = true\nbacklog_retry_ms = 500\nbackoff_min_ms = 10\nbackoff_max_ms = 200\n',
    );
    for (const name of ['r1', 'r2', 'r3']) {
      mkdirSync(join(lcc.dir, name));
      rails.push(await startRail('nginx', join(lcc.dir, name)));
    }
    balancer = await startLoadBalancer(rails);
    balancer.answer = url => ({ body: site.pages.get(url) ?? '' });
    await lcc.run(`lccrail -q target add www --lb-url=${balancer.url}`);
    await lcc.run('lccrail -q map add www --type=@url --path=/');
    await lcc.run(`lccrail -q soft add www '/soft/**' --pattern`);
    for (const { name, url } of rails)
      await lcc.run(`lccrail -q add ${name} --target=www --driver=nginx-dav --url=${url} --force`);
    const urls = [{ prefix: `${site.url}/`, type: '@url', path: '/' }];
    writeFileSync(join(lcc.dir, 'rules.json'), JSON.stringify({ providers: { 1: { target: 'www', urls } } }));
    db = ClearDatabase.open(join(lcc.home, 'clear/clear.db'), COMMAND_BUSY_MS);
  });
  after(async () => {
    feed.isOver = true;
    follower?.kill('SIGKILL');
    await lcc?.remove();
    await balancer?.stop();
    site?.close();
    db?.close();
    await Promise.all(rails.map(rail => rail.stop()));
    rails = [];
  });

  /** Starts it, and again when it is killed. */
  function follow(): void {
    if (feed.isOver) return;
    const child = spawn('bash', ['-c', `exec ${FEED} --follow -- ${TAKE}`], {
      cwd: lcc.dir,
      env: lcc.env,
      stdio: 'ignore',
    });
    follower = child;
    child.on('exit', follow);
  }

  async function endFollowing(): Promise<void> {
    feed.isOver = true;
    const child = follower ?? assert.fail();
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  }

  /** The page changes on the site, and the LCC is told so. */
  async function change(name: string, content: string): Promise<void> {
    site.pages.set(`/${name}`, content);
    await lcc.deliver('partial', [urlTag(name)]);
  }

  it('clears a page within two seconds of its change on the site', async t => {
    follow();
    const tookMs: number[] = [];
    for (let version = 0; version < CHANGES; version++) {
      for (const rail of rails) rail.write(['/news/a.html', '/news/other.html']);
      const fromMs = performance.now();
      await change('news/a.html', `version ${version}`);
      await until('the page is cleared', () => rails.every(rail => !rail.pages().includes('/news/a.html')));
      tookMs.push(Math.round(performance.now() - fromMs));
    }
    t.diagnostic(`cleared after ${tookMs.join(', ')} ms`);
    const median = tookMs.toSorted((a, b) => a - b)[CHANGES >> 1] ?? Infinity;
    assert.ok(median <= BOUND_MS, `${median} ms at the median`);
    for (const rail of rails) assert.deepEqual(rail.pages(), ['/news/other.html']);
  });

  /** Kills a process of that name; lccd, or the test, starts it again. @returns whether there was one */
  async function kill(name: string): Promise<boolean> {
    const pid = await pidOf(name).catch(() => undefined);
    if (pid === undefined) return false;
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
      return false;
    }
    return true;
  }

  async function pidOf(name: string): Promise<number | undefined> {
    if (name.startsWith('lccd')) return Number((await statusOf(lcc.home, name))['pid']);
    if (name === 'lccq') return follower?.pid;
    const pid = follower?.pid ?? 0;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ');
    return children[0] === '' ? undefined : Number(children[0]);
  }

  it('loses nothing, whatever is killed, while a rail is away and comes back', async t => {
    const names = Array.from({ length: 24 }, (_, i) => `${i % 3 === 0 ? 'soft' : 'hard'}/p${i}.html`);
    const paths = names.map(name => `/${name}`);
    const [, , third] = rails;
    assert.ok(third);
    for (const rail of rails) rail.write(['/hard/control.html', '/soft/control.html']);
    const killed: Record<string, number> = {};
    const count = () => Object.values(killed).reduce((sum, kills) => sum + kills, 0);
    const victims = ['lccd-hard', 'lccd-soft', 'lccq', 'lccclear', 'lccclear', 'lccclear'];
    const killing = (async () => {
      while (count() < KILLS && !feed.isOver) {
        const untilMs = performance.now() + 400 * Math.random();
        await until('an instant', () => performance.now() >= untilMs);
        const name = victims[Math.floor(Math.random() * victims.length)] ?? '';
        if (await kill(name)) killed[name] = (killed[name] ?? 0) + 1;
      }
    })();
    // A failure of it is seen where it is waited for.
    killing.catch(() => undefined);
    let changes = 0;
    await third.stop();
    for (let round = 0; count() < KILLS || round < 3; round++) {
      for (const name of names) {
        // What a rail has now is old from here on.
        if (name.startsWith('hard')) for (const rail of rails) rail.write([`/${name}`]);
        await change(name, `round ${round} of ${name}`);
        changes++;
      }
      if (round % 2 === 0) {
        await third.start();
        await lcc.run('lccrail -q up r3');
      } else await third.stop();
    }
    await killing;
    t.diagnostic(`${changes} changes; killed ${JSON.stringify(killed)}`);
    await endFollowing();
    await lcc.idle();
    // What was not yet read when the last one ended.
    await lcc.run(`${FEED} -- ${TAKE}`);
    assert.equal(
      (await lcc.run(`${FEED} -- cat`)).split('\n').filter(line => line.includes('"curl"')).length,
      0,
    );
    await third.stop();
    await third.start();
    await lcc.run('lccrail -q up r3');
    await until(
      'nothing waits',
      () => db.queue.count(1) === 0 && db.soft.waitingCount() === 0 && db.backlog.counts().length === 0,
    );
    await until('no generated name is noted', () => db.soft.generated().length === 0);
    const soft = paths.filter(path => path.startsWith('/soft/'));
    for (const rail of rails) {
      assert.deepEqual(
        rail.pages(),
        ['/hard/control.html', '/news/other.html', '/soft/control.html', ...soft].toSorted(),
        rail.name,
      );
      for (const path of soft)
        assert.equal(readFileSync(join(rail.docroot, path), 'utf8'), site.pages.get(path), rail.name);
    }
    assert.deepEqual(db.queue.rejections(0, 9), []);
  });
});
