import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { TestCache } from '../support/cache.js';
import { runCommand } from '../support/command.js';

const SITE = 'http://example.org/';
const OWNER = 'http://owner.example/';
const DAY_S = 86_400;
const NOW_S = Math.floor(Date.now() / 1000);
let cache: TestCache;
beforeEach(() => {
  cache = new TestCache();
  cache.db.exec(`INSERT INTO pidb(pid, password, spider, filesused) VALUES (1, '', 1, 100), (2, '', 0, 100);
    INSERT INTO proots VALUES (1, '${SITE}'), (2, '${OWNER}')`);
});
afterEach(() => cache.close());

function lccscan(...args: string[]) {
  const { status, stdout, stderr } = runCommand(cache.home, 'lccscan', args);
  return { status, stdout, stderr, curls: [...stdout.matchAll(/curl="(.*?)"/g)].map(([, curl]) => curl) };
}

/** @param visits changes found, of four visits in 40 days */
function page(name: string, daysAgo: number, visits?: number): void {
  cache.put({ curl: `${SITE}${name}`, at: NOW_S - daysAgo * DAY_S });
  cache.db.exec(`UPDATE lccurl SET hops = 1, served = 1 WHERE curl = '${SITE}${name}'`);
  if (visits === undefined) return;
  cache.db
    .prepare(
      'INSERT INTO visit(id, checked, n, x, t) SELECT id, fetched_time, 4, ?, ? FROM lccurl WHERE curl = ?',
    )
    .run(visits, 40 * DAY_S, `${SITE}${name}`);
}

describe('lccscan', () => {
  it('writes what gains most, as a stream that our tools read, and asks nothing again that waits', () => {
    page('never', 10, 0);
    page('often', 10, 2);
    page('now', 0, 2);
    page('waits', 10, 2);
    cache.db.exec(`INSERT INTO qdb(pid, curl, mimetype, psetid) VALUES (1, '${SITE}waits', '*/*', 1)`);
    cache.put({ curl: `${OWNER}a`, pid: 2, at: NOW_S - 10 * DAY_S });
    const { status, stdout, stderr } = lccscan('--limit=1', '-v');
    assert.equal(status, 0, stderr);
    assert.equal(
      stdout,
      `<?lcc from="lccscan" set="partial"?>\n<url curl="${SITE}often" mimetype="*/*" hops="1" pid="1"/>\n<?lcc end?>\n`,
    );
    assert.equal(
      stderr,
      'lccscan: 1 provider, 4 pages looked at: 1 chosen, 0 not asked for in 90 days, 0 that were not to be had; 1 passed over, asked for within an hour\n',
    );
    assert.deepEqual(lccscan('--limit=5').curls, [`${SITE}often`, `${SITE}never`]);
    const ofOwner = lccscan('--limit=5', '--pid=2');
    assert.deepEqual([ofOwner.status, ofOwner.curls], [0, []]);
    assert.equal(
      ofOwner.stderr,
      'lccscan: provider 2 is not scanned: it has neither scan=yes nor spider=yes, or is disabled (lccpidb show --pid=2)\n',
    );
    cache.db.exec(`UPDATE pidb SET auditdue = ${NOW_S + DAY_S} WHERE pid = 2`);
    assert.equal(lccscan('--audit', '--pid=2').stderr, 'lccscan: provider 2: no audit of it is due\n');
  });

  it('asks for the share of an hour, for all that is older than 90 days, and for what may be there again', () => {
    for (let i = 0; i < 20; i++) page(`p${i}`, 10, 1);
    for (let i = 0; i < 5; i++) page(`old${i}`, 91, 0);
    cache.db.exec(`INSERT INTO known(pid, curl, code, asked, until, hops)
      VALUES (1, '${SITE}gone', 404, 0, ${NOW_S - 1}, 3), (1, '${SITE}not-yet', 404, 0, ${NOW_S + 100}, 3)`);
    const { curls } = lccscan();
    const old = curls.filter(curl => curl?.includes('old'));
    assert.equal(old.length, 5);
    assert.equal(curls[0], `${SITE}gone`);
    // 100 a day, at least: 4 or 5 in an hour.
    const share = curls.length - old.length;
    assert.ok(share === 4 || share === 5, `${share}`);
    cache.db.exec('UPDATE pidb SET scanperday = 480 WHERE pid = 1');
    assert.equal(lccscan().curls.length, 20 + old.length);
    cache.db.exec('UPDATE pidb SET scan = 0 WHERE pid = 1');
    assert.deepEqual(lccscan().curls, []);
  });

  it('--audit draws 59 of what an owner announced, and more once something silent was found', () => {
    for (let i = 0; i < 100; i++) cache.put({ curl: `${OWNER}${i}`, pid: 2, at: NOW_S - 2 * 3600 });
    cache.put({ curl: `${OWNER}new`, pid: 2, at: NOW_S });
    page('a', 10);
    const first = lccscan('--audit').curls;
    assert.equal(first.length, 59);
    assert.ok(first.every(curl => curl?.startsWith(OWNER) === true && !curl.endsWith('new')));
    assert.notDeepEqual(lccscan('--audit').curls, first);

    const settle = (curl: string, state: number) =>
      cache.db
        .prepare(
          'INSERT INTO audit(pid, began, id, curl, mimetype, state, asked) SELECT pid, ?, id, curl, mimetype, ?, ? FROM lccurl WHERE curl = ?',
        )
        .run(NOW_S - 2 * DAY_S, state, NOW_S - 2 * DAY_S, curl);
    for (const curl of first) settle(curl ?? '', 2);
    assert.deepEqual(lccscan('--audit').curls, []);
    cache.db.exec(`UPDATE audit SET state = 4 WHERE curl = '${first[0]}'`);
    // Of 101 urls 81 are needed.
    const second = lccscan('--audit').curls;
    assert.equal(second.length, 81 - 59);
    assert.ok(second.every(curl => !first.includes(curl)));
    cache.db.exec(`UPDATE pidb SET auditdue = ${NOW_S + DAY_S} WHERE pid = 2`);
    assert.deepEqual(lccscan('--audit').curls, []);
  });

  it('refuses what is no number, and a provider that is not there', () => {
    for (const [args, message] of [
      [['--limit=-1'], '--limit=-1: give a number from 0'],
      [['--pid=2', '--pid=999'], 'no provider 999; see lccpidb list'],
      [['--audit', '--pid=999'], 'no provider 999; see lccpidb list'],
      [
        ['--deliver=/run/spider.sock'],
        'endpoint "/run/spider.sock": that is a path; for a socket write unix:/run/spider.sock',
      ],
    ] as const) {
      const { status, stdout, stderr } = lccscan(...args);
      const told = args[0].startsWith('--deliver') ? '' : '<?lcc-failed status="64"?>\n';
      assert.deepEqual([status, stdout, stderr.split('\n')[0]], [64, told, `lccscan: ${message}`]);
    }
  });
});
