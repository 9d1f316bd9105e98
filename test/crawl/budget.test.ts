/** What a scan asks for over days, a month of them in the long set, hour by hour, of a site a part of which cannot be had. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { ScanReader } from '../../src/db/cache/scan.js';
import { scan, shareOf } from '../../src/crawl/scan.js';
import { TestCache } from '../support/cache.js';
import { amount } from '../support/long.js';

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
const START_S = 1_800_000_000 - (1_800_000_000 % DAY_S);
const OPTIONS = { pids: new Set<number>(), limit: undefined, perDay: 100, percentPerDay: 2 };
const BAD = 'http://127.0.0.1/bad';

let cache: TestCache;
beforeEach(() => {
  cache = new TestCache();
  cache.db.pragma('synchronous = OFF');
  cache.db.exec(`INSERT INTO pidb(pid, password, spider, filesused) VALUES (1, '', 1, 400)`);
  for (let i = 0; i < 400; i++)
    cache.put({ curl: `${i < 200 ? BAD : 'http://127.0.0.1/good'}${i}`, at: START_S - DAY_S });
  cache.db.exec('UPDATE lccurl SET hops = 1, served = 1');
});
afterEach(() => cache.close());

/**
 * Days of scans.
 * @param failed what the Queue Manager writes of a page that is not to be had
 * @returns how often pages of each kind were asked for
 */
async function daily(
  days: number,
  failed: (curl: string, nowS: number) => void,
): Promise<{ good: number; bad: number; unasked: number }> {
  const seen = cache.db.prepare<{ now: number; curl: string }>(
    `INSERT INTO visit(id, checked, n, x, t) SELECT id, $now, 1, 0, 86400 FROM lccurl WHERE curl = $curl
     ON CONFLICT(id) DO UPDATE SET checked = $now, n = min(8, n + 1), t = t + 86400`,
  );
  const reader = new ScanReader(cache.dbPath);
  const counts = { good: 0, bad: 0, unasked: 0 };
  const asked = new Set<string>();
  for (let nowS = START_S; nowS < START_S + days * DAY_S; nowS += HOUR_S) {
    const curls: string[] = [];
    await scan(
      reader,
      { add: ({ curl }) => void curls.push(curl), finish: () => Promise.resolve() },
      OPTIONS,
      nowS,
    );
    assert.equal(new Set(curls).size, curls.length, 'each at most once');
    cache.db.transaction(() => {
      for (const curl of curls) {
        asked.add(curl);
        if (curl.startsWith(BAD)) failed(curl, nowS);
        else seen.run({ now: nowS, curl });
        counts[curl.startsWith(BAD) ? 'bad' : 'good']++;
      }
    })();
  }
  reader.close();
  counts.unasked = 400 - asked.size;
  return counts;
}

test('what robots.txt forbids costs nothing of the budget of a month', async () => {
  const days = amount(10, 30);
  const note = cache.db.prepare<[string, number, number]>(
    `INSERT INTO known(pid, curl, code, asked, until, hops) VALUES (1, ?, 615, ?, ?, 1)
     ON CONFLICT(pid, curl) DO UPDATE SET until = excluded.until`,
  );
  for (let i = 0; i < 200; i++) note.run(`${BAD}${i}`, START_S, START_S);
  const { good, bad } = await daily(days, (curl, nowS) => void note.run(curl, nowS, nowS + DAY_S));
  assert.equal(good, days * 100, 'all of it is for what may be asked for');
  assert.ok(bad <= days * 200, `${bad}: a url is judged again once a day`);
});

test('pages that fail are asked for by what they gain, and starve nobody', async () => {
  const fail = cache.db.prepare<{ now: number; curl: string }>(
    `INSERT INTO visit(id, checked, n, x, t, fails, failcode, failsince) SELECT id, $now, 0, 0, 0, 1, 403, $now FROM lccurl WHERE curl = $curl
     ON CONFLICT(id) DO UPDATE SET checked = $now, fails = fails + 1`,
  );
  const { good, bad, unasked } = await daily(30, (curl, nowS) => void fail.run({ now: nowS, curl }));
  assert.equal(good + bad, 30 * 100);
  assert.equal(unasked, 0);
  assert.ok(good > 1500 && bad > 0, `${good} good, ${bad} bad`);
});

test('what was not permitted by the LCC, or forbidden, takes no place of what was not to be had', async () => {
  const note = cache.db.prepare<[string, number]>(
    'INSERT INTO known(pid, curl, code, asked, until, hops) VALUES (1, ?, ?, 0, 0, 1)',
  );
  for (let i = 0; i < 50; i++) note.run(`http://127.0.0.1/a${i}`, 610);
  note.run('http://127.0.0.1/gone', 404);
  const reader = new ScanReader(cache.dbPath);
  const curls: string[] = [];
  await scan(
    reader,
    { add: ({ curl }) => void curls.push(curl), finish: () => Promise.resolve() },
    OPTIONS,
    START_S,
  );
  reader.close();
  assert.equal(curls[0], 'http://127.0.0.1/gone');
  assert.ok(
    curls.every(curl => !curl.includes('/a')),
    'a link has them asked for, a scan does not',
  );
});

test('the shares of the hours of a day are the day, whatever it is', () => {
  for (const perDay of [0, 1, 10, 24, 25, 100, 480, 999, null]) {
    const shares = Array.from({ length: 24 }, (_, hour) =>
      shareOf({ pid: 1, held: 0, perDay }, OPTIONS, START_S + hour * HOUR_S + 420),
    );
    assert.equal(
      shares.reduce((sum, share) => sum + share, 0),
      perDay ?? 100,
    );
    assert.ok(Math.max(...shares) - Math.min(...shares) <= 1, `${perDay}: ${shares.join(' ')}`);
  }
});
