import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { hoursOfSlots, opensAtMs } from '../../../src/config/hours.js';
import { openReadOnly } from '../../../src/db/sqlite/open.js';
import { readQueueShape, readQueueSummary, type QueueShape } from '../../../src/db/queue/shape.js';
import { Bench, url } from '../../qm/support.js';

const MINUTE_MS = 60_000;

describe('the shape of the queue', () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
    bench.provider(7);
    bench.provider(8);
  });
  afterEach(() => bench.close());

  const nowS = () => Math.floor(bench.clock.nowMs() / 1000);
  const urls = (name: string, count: number) => Array.from({ length: count }, (_, i) => url(`${name}${i}`));
  const shape = (limit = 20, countedRows?: number): QueueShape => {
    const db = openReadOnly(bench.path);
    try {
      return readQueueShape(db, nowS(), limit, countedRows);
    } finally {
      db.close();
    }
  };
  const agesOf = (pid: number, of: QueueShape) => of.providers.find(each => each.pid === pid)?.ages;

  it('groups urls by the age of the set that gave them their place', async () => {
    await bench.send(7, urls('old', 3));
    bench.clock.advance(6 * MINUTE_MS);
    await bench.send(7, [...urls('new', 2), url('old0')]);
    await bench.send(8, urls('x', 4));
    bench.clock.advance(15 * MINUTE_MS);
    const seen = shape();
    // 21 and 15 minutes old; the url sent again kept its place, and its age.
    assert.deepEqual(agesOf(7, seen), [0, 0, 2, 3, 0, 0, 0, 0, 0, 0]);
    assert.deepEqual(agesOf(8, seen), [0, 0, 4, 0, 0, 0, 0, 0, 0, 0]);
    assert.deepEqual(seen.total, { waiting: 9, ages: [0, 0, 6, 3, 0, 0, 0, 0, 0, 0], exact: true });
    assert.deepEqual(
      seen.providers.map(({ pid, waiting }) => [pid, waiting]),
      [
        [7, 5],
        [8, 4],
      ],
    );
  });

  it('counts what is left of a set of which some is done', async () => {
    await bench.send(7, urls('a', 10));
    for (let i = 0; i < 10; i += 2) bench.fetch(7, `a${i}`);
    assert.deepEqual(agesOf(7, shape()), [5, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert.equal(shape().total.exact, true);
  });

  it('estimates beyond the rows it may count; what waits is exact all the same', async () => {
    await bench.send(7, urls('a', 30));
    bench.clock.advance(7 * MINUTE_MS);
    await bench.send(7, urls('b', 10));
    for (let i = 0; i < 30; i += 3) bench.fetch(7, `a${i}`);
    const seen = shape(20, 12);
    // Places 2 to 30 of the first set against ten of the second, which are counted.
    assert.deepEqual(agesOf(7, seen), [10, 20, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert.deepEqual(
      [seen.providers[0]?.waiting, seen.providers[0]?.exact, seen.total.exact],
      [30, false, false],
    );
    const guessed = shape(20, 0);
    const ages = agesOf(7, guessed) ?? [];
    assert.equal((ages[0] ?? 0) + (ages[1] ?? 0), 30);
    assert.ok((ages[1] ?? 0) > (ages[0] ?? 0));
  });

  it('shows the longest queues first, as many as asked for, and sums up the rest', async () => {
    await bench.send(7, urls('a', 1));
    await bench.send(8, urls('b', 2));
    const seen = shape(1);
    assert.deepEqual(
      seen.providers.map(({ pid }) => pid),
      [8],
    );
    assert.deepEqual(seen.left_off, { providers: 1, waiting: 1 });
    assert.equal(seen.total.waiting, 3);
  });

  it('lists a provider without a queue only when there is something to say of it', () => {
    bench.provider(1, { paused: 1 });
    bench.provider(2, { backoffuntil: nowS() + 60 });
    bench.provider(3, { fullsetwanted: 'operator' });
    bench.provider(4, { nurlerrs: 2 });
    bench.provider(5, { backoffuntil: nowS() - 60 });
    bench.provider(6);
    bench.all("INSERT INTO held VALUES (99, 6, 1, 1, 70, 'x', 0), (98, 5, 2, 1, 70, 'x', 0) RETURNING pid");
    assert.deepEqual(
      shape().providers.map(({ pid, errors, held }) => [pid, errors, held]),
      [
        [1, 0, 0],
        [2, 0, 0],
        [3, 0, 0],
        [4, 2, 0],
        [6, 0, 70],
      ],
    );
  });

  it('sums up what an operator should know', async () => {
    const atS = nowS();
    await bench.send(7, urls('a', 3));
    bench.clock.advance(MINUTE_MS);
    await bench.send(8, urls('b', 2));
    bench.all('UPDATE pidb SET paused = 1, nurlerrs = 4 WHERE pid = 7 RETURNING pid');
    bench.all('UPDATE pidb SET backoffuntil = ? WHERE pid = 8 RETURNING pid', nowS() + 60);
    bench.provider(9, { paused: 1, fullsetwanted: 'operator' });
    bench.all("INSERT INTO held VALUES (99, 9, 1, 1, 70, 'x', 0) RETURNING pid");
    const summary = () => readQueueSummary(bench.db, bench.clock.nowMs(), 24);
    assert.deepEqual(summary(), {
      providers: 3,
      urls: 5,
      waiting: 2,
      paused: 1,
      disabled: 0,
      backed_off: 1,
      closed: 0,
      never_open: 0,
      delayed: 0,
      delayed_until_ms: null,
      later_only: false,
      later_urls: 0,
      later_until_ms: null,
      failed_urls: 0,
      failed_providers: 0,
      oldest: atS,
      full_sets_wanted: 1,
      errors: 4,
      held_providers: 1,
      held_urls: 70,
      silent: 0,
      silent_first: [],
    });
    bench.all('UPDATE qpsdb SET starttimeslot = 3 RETURNING pid');
    assert.equal(summary().later_only, true);
  });

  it('counts urls that failed and are tried again, where nothing else keeps them waiting', async () => {
    await bench.send(7, urls('a', 3));
    await bench.send(8, urls('b', 2));
    bench.all("UPDATE queued SET tries = 2 WHERE substr(name, -2) IN ('a0', 'a1', 'b1') RETURNING pos");
    const failed = () => {
      const { failed_urls, failed_providers } = readQueueSummary(bench.db, bench.clock.nowMs(), 24);
      return [failed_urls, failed_providers];
    };
    assert.deepEqual(failed(), [3, 2]);
    assert.deepEqual(
      shape().providers.map(provider => [provider.pid, provider.failed]),
      [
        [7, 2],
        [8, 1],
      ],
    );
    bench.all("UPDATE queued SET slot = 3 WHERE substr(name, -2) = 'a0' RETURNING pos");
    assert.deepEqual(failed(), [2, 2]);
    const none = '0'.repeat(24);
    for (const obstacle of [
      'paused = 1',
      'enabled = 0',
      `timeofday = '${none}'`,
      `backoffuntil = ${nowS() + 60}`,
    ]) {
      bench.all(`UPDATE pidb SET ${obstacle} WHERE pid = 8 RETURNING pid`);
      assert.deepEqual(failed(), [1, 1], obstacle);
      bench.all("UPDATE pidb SET paused = 0, enabled = 1, timeofday = '', backoffuntil = 0 RETURNING pid");
    }
  });

  it('counts a provider once, under what has to go first', async () => {
    await bench.send(7, urls('a', 3));
    const seen = (columns: string) => {
      bench.all(`UPDATE pidb SET ${columns} WHERE pid = 7 RETURNING pid`);
      const found = readQueueSummary(bench.db, bench.clock.nowMs(), 24);
      const { disabled, paused, backed_off, closed, never_open, delayed, delayed_until_ms } = found;
      return [disabled, paused, backed_off, closed, never_open, delayed, delayed_until_ms];
    };
    const dueMs = bench.clock.nowMs() + 4000;
    assert.deepEqual(seen(`dueat = ${dueMs}, bandwidth = 100`), [0, 0, 0, 0, 0, 1, dueMs]);
    assert.deepEqual(seen('bandwidth = 0'), [0, 0, 0, 0, 0, 0, null], 'no limit any more');
    bench.all('UPDATE pidb SET bandwidth = 100 WHERE pid = 7 RETURNING pid');
    assert.deepEqual(seen(`timeofday = '${'0'.repeat(24)}'`), [0, 0, 0, 1, 1, 0, null]);
    assert.deepEqual(seen(`backoffuntil = ${nowS() + 60}`), [0, 0, 1, 0, 0, 0, null]);
    assert.deepEqual(seen('paused = 1'), [0, 1, 0, 0, 0, 0, null]);
    assert.deepEqual(seen('enabled = 0'), [1, 0, 0, 0, 0, 0, null]);
  });

  it('tells urls that wait for hours of their own from those of a provider that is closed', async () => {
    await bench.send(7, urls('a', 3));
    const nowMs = bench.clock.nowMs();
    const slot = (new Date(nowMs).getHours() + 2) % 24;
    bench.all('UPDATE queued SET slot = ? RETURNING pos', slot);
    bench.all('UPDATE qpsdb SET starttimeslot = ? RETURNING pid', slot);
    const hourMs = 3_600_000;
    const untilMs = opensAtMs(hoursOfSlots([slot], 24), nowMs, 24);
    assert.ok(untilMs !== undefined && untilMs > nowMs + hourMs && untilMs <= nowMs + 2 * hourMs);
    const seen = () => {
      const { closed, later_urls, later_until_ms } = readQueueSummary(bench.db, nowMs, 24);
      return [closed, later_urls, later_until_ms];
    };
    assert.deepEqual(seen(), [0, 3, untilMs]);
    const [first] = shape().providers;
    assert.deepEqual([first?.later, first?.later_slots], [3, [slot]]);
    const mask = Array.from({ length: 24 }, (_, hour) => (hour === slot ? '1' : '0')).join('');
    bench.all('UPDATE pidb SET timeofday = ? RETURNING pid', mask);
    assert.deepEqual(seen(), [1, 0, null]);
  });
});
