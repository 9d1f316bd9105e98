/**
 * What comes late: a request after a rail was cleared, a page that a rail writes after it was cleared, a publication while a
 * page is on its way, the word of an administrator whose clock is behind. Real servers, real daemons.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ClearHome, pagesOf } from '../support/clear.js';
import { noRails } from '../support/rails.js';
import { TestSite } from '../support/site.js';
import { SoftHome } from '../support/soft.js';
import { ROOT } from '../support/tree.js';
import { until } from '../support/until.js';

const homes: ClearHome[] = [];
after(() => Promise.all(homes.map(home => home.end())));

function kept<T extends ClearHome>(home: T): T {
  homes.push(home);
  return home;
}

interface RailStatus {
  name: string;
  state: string;
}

describe(
  'a request that comes after a rail was cleared, and before the others are',
  { skip: noRails },
  () => {
    for (const [dedupe, isFresh] of [
      ['watermark', true],
      ['paper', false],
    ] as const)
      it(`is ${isFresh ? 'carried out on all of them' : 'forgotten'} with dedupe=${dedupe} (A3, V9)`, async () => {
        const patience = { answer_timeout_ms: 100_000, total_timeout_ms: 200_000 };
        const home = kept(new ClearHome({ dedupe, ...patience }));
        const [first, second] = await home.addRails(['nginx', 'apache']);
        assert.ok(first && second);
        for (const rail of [first, second]) rail.write(pagesOf(['a']));
        second.signal('SIGSTOP');
        home.request(['a']);
        await home.startHard().ready;
        await until('the first rail is cleared', () => first.pages().length === 0);
        // A reader has the first rail fetch the page; then it changes once more.
        first.write(pagesOf(['a']), 'as it was between the two changes');
        home.request(['a']);
        second.signal('SIGCONT');
        await home.untilClear();
        assert.deepEqual(first.pages(), isFresh ? [] : pagesOf(['a']));
        assert.deepEqual(second.pages(), []);
      });
  },
);

describe('a page that a rail was fetching while it was cleared', { skip: noRails }, () => {
  /** nginx that gets what it does not have from a site, and keeps it as a file. */
  const storeOf = (dir: string, site: string) => `error_page 404 = @site; }
    location @site {
      root "${join(dir, 'r1/www')}";
      if ($request_method !~ ^(GET|HEAD)$) { return 404; }
      proxy_pass ${site};
      proxy_store on;`;

  for (const [reboundMs, isFresh] of [
    [100, true],
    [0, false],
  ] as const)
    it(`${isFresh ? 'goes' : 'stays'} with clear.rebound_ms = ${reboundMs} (A3, V10)`, async () => {
      const home = kept(new ClearHome({ rebound_ms: reboundMs }));
      let answer: ServerResponse | undefined;
      const site = await TestSite.listen((_request, response) => (answer = response));
      after(() => site.close());
      const [rail] = await home.addRails(['nginx'], {}, storeOf(home.dir, site.url));
      assert.ok(rail);
      const read = fetch(`${rail.url}a.html`).then(response => response.text());
      await until('the rail asks the site', () => answer !== undefined);
      home.request(['a']);
      home.startHard();
      // The old page arrives when the first DELETE has found nothing.
      await until('the page is cleared once', () =>
        readFileSync(join(home.dir, 'r1/access.log'), 'utf8').includes('DELETE /a.html'),
      );
      answer?.end('old');
      assert.equal(await read, 'old');
      await home.untilClear();
      assert.deepEqual(
        (await rail.requests(reboundMs > 0 ? 3 : 2)).filter(line => line.startsWith('DELETE')),
        reboundMs > 0 ? ['DELETE /a.html 404', 'DELETE /a.html 204'] : ['DELETE /a.html 404'],
      );
      assert.equal(existsSync(join(rail.docroot, 'a.html')), !isFresh);
    });
});

describe('a publication while the one before it is on its way', { skip: noRails }, () => {
  it('reaches those rails that had finished, and the one that was being asked (A3, V11)', async () => {
    const home = kept(new SoftHome({ answer_timeout_ms: 100_000, total_timeout_ms: 200_000 }));
    const balancer = await home.begin(['nginx', 'apache', 'nginx']);
    const last = home.rails[2] ?? assert.fail();
    for (const rail of home.rails) rail.write(['/a.html']);
    let version = 'A';
    balancer.answer = () => ({ body: version });
    last.signal('SIGSTOP');
    home.publish('/a.html');
    await home.startSoft().ready;
    const found = () => home.contents('/a.html').join(' ');
    await until('two rails have the first version', () => found() === 'A A old');
    version = 'B';
    home.publish('/a.html');
    await until('they have the second', () => found() === 'B B old');
    last.signal('SIGCONT');
    await home.untilPublished();
    assert.equal(found(), 'B B B');
    assert.deepEqual(
      (await last.requests(2)).filter(line => line.startsWith('PUT')),
      ['PUT /a.html 204', 'PUT /a.html 204'],
    );
  });
});

describe('UP and DOWN of two administrators', { skip: noRails }, () => {
  it('count when they are later than the last, whatever came last, for both daemons (A10)', async () => {
    const home = kept(new SoftHome({ refresh_ms: 20 }));
    const balancer = await home.begin(['nginx']);
    const rail = home.rails[0] ?? assert.fail();
    home.db.targets.addPath({ contentType: 'hard', target: 'www', path: '/', extension: '.txt' });
    home.db.soft.removeRule({ url: '/**', target: 'www' });
    home.db.soft.putRule({ url: '/*.html', target: 'www', isPattern: 1, enabled: 1, minIntervalMs: 0 });
    await Promise.all([home.startHard().ready, home.startSoft().ready]);
    const fromMs = home.db.rails.get('r1')?.changeTimeMs ?? assert.fail();
    /** As another machine writes it, whose clock says `atMs`. */
    const say = (state: 'UP' | 'DOWN', atMs: number) => {
      const sql = `UPDATE rail_status SET state = '${state}', change_time_ms = ${fromMs + atMs}, changed_by = 'admin'`;
      const database = join(home.dir, 'clear/clear.db');
      const { status, stderr } = spawnSync('sqlite3', ['-cmd', '.timeout 10000', database, sql]);
      assert.equal(status, 0, stderr.toString());
    };
    let count = 0;
    /** What both daemons do with pages that are wanted from now on: they look at rails with the requests. */
    const check = async (expected: 'sent' | 'kept', why: string) => {
      const [page, text] = [`/p${++count}.html`, `/t${count}.txt`];
      rail.write([page, text]);
      home.publish(page);
      home.request([text.slice(1, -'.txt'.length)], { contentType: 'hard' });
      await until('both pages are done with', () => {
        return home.db.queue.count(1) === 0 && home.db.soft.waitingCount() === 0;
      });
      const isKept = [home.db.backlog.get('r1', page), home.db.backlog.get('r1', text)].map(
        entry => entry !== undefined,
      );
      assert.deepEqual(isKept, expected === 'kept' ? [true, true] : [false, false], why);
    };
    await check('sent', 'a rail is UP when it is added');
    say('DOWN', 5000);
    await check('kept', 'DOWN, later');
    say('UP', 3000);
    await check('kept', 'UP of a clock that is behind');
    say('UP', 5000);
    await check('kept', 'UP of the same time');
    say('DOWN', 4000);
    await check('kept', 'DOWN again');
    assert.equal(
      (await rail.requests(0)).filter(line => /[pt][2-9]/.test(line)).length,
      0,
      'nothing is sent',
    );
    say('UP', 5001);
    await home.untilClear();
    await home.untilPublished();
    await check('sent', 'UP, later');
    say('DOWN', 5001);
    await check('sent', 'DOWN of the same time');
    say('DOWN', 4000);
    await check('sent', 'DOWN of a clock that is behind');
    say('DOWN', 6000);
    await check('kept', 'DOWN, later');
    // Not spawnSync: the load balancer is in this process.
    const up = spawn(join(ROOT, 'bin/lccrail'), ['up', 'r1', '--wait=60'], {
      env: { ...process.env, LCC_HOME: home.dir },
      stdio: 'ignore',
    });
    assert.deepEqual(await once(up, 'exit'), [0, null]);
    for (const [name, statusOf] of [
      ['lccd-hard', await home.status()],
      ['lccd-soft', await home.softStatus()],
    ] as const)
      assert.deepEqual(
        (statusOf['rails'] as RailStatus[]).map(({ state }) => state),
        ['up'],
        name,
      );
    for (let i = 1; i <= count; i++) {
      assert.equal(readFileSync(join(rail.docroot, `p${i}.html`), 'utf8'), `new /p${i}.html`);
      assert.equal(existsSync(join(rail.docroot, `t${i}.txt`)), false, `t${i}`);
    }
    assert.ok(balancer.asked.length >= count);
  });
});
