/** The rhythm of providers, as sets come. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { countSilent, readRhythms } from '../../../src/db/providers/silence.js';
import { Bench, url } from '../../qm/support.js';

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

describe('the rhythm of a provider', () => {
  let bench: Bench;
  let sent = 0;
  beforeEach(() => {
    bench = new Bench();
    bench.provider(7);
  });
  afterEach(() => bench.close());

  const nowS = () => Math.floor(bench.clock.nowMs() / 1000);
  const of = (pid: number) => readRhythms(bench.db, nowS(), 100).find(each => each.pid === pid);
  const send = (pid = 7) => bench.send(pid, [url(`p${++sent}`)]);
  /** Sets every `everyMs`, the last one now. */
  async function every(everyMs: number, times: number, pid = 7): Promise<void> {
    await send(pid);
    for (let i = 0; i < times; i++) {
      bench.clock.advance(everyMs);
      await send(pid);
    }
  }
  const isSilentAfter = (ms: number) => {
    bench.clock.advance(ms);
    return of(7)?.silent === true;
  };

  it('is not known before the second set', async () => {
    assert.equal(of(7), undefined);
    await send();
    bench.clock.advance(100 * DAY);
    assert.deepEqual([of(7)?.every, of(7)?.silent], [0, false]);
    assert.equal(countSilent(bench.db, nowS()), 0);
  });

  it('is the interval of sets that come regularly; silence is three of it', async () => {
    await every(2 * DAY, 5);
    assert.equal(of(7)?.every, 2 * 86_400);
    assert.equal(isSilentAfter(6 * DAY), false);
    assert.equal(isSilentAfter(2000), true);
    assert.equal(countSilent(bench.db, nowS()), 1);
    await send();
    assert.equal(of(7)?.silent, false);
  });

  it('counts as silence no less than a day', async () => {
    await every(10 * MINUTE, 20);
    assert.equal(of(7)?.every, 600);
    assert.equal(isSilentAfter(DAY), false);
    assert.equal(isSilentAfter(2000), true);
  });

  it('has nights and weekends of a site that announces in its working hours', async () => {
    // Monday to Friday, 8 to 18, each half hour, for four weeks.
    for (let day = 0; day < 28; day++) {
      if (day % 7 < 5)
        for (let half = 0; half < 20; half++) {
          await send();
          bench.clock.advance(30 * MINUTE);
        }
      else bench.clock.advance(10 * HOUR);
      bench.clock.advance(14 * HOUR);
      // The first weekend is longer than anything before, and the second than most.
      if (day >= 14) assert.equal(of(7)?.silent, false, `in the morning after day ${day}`);
    }
    // A week without a word is none of that.
    assert.equal(isSilentAfter(7 * DAY), true);
  });

  it('is soon that of the days after a busy beginning', async () => {
    await every(MINUTE, 30);
    for (let day = 0; day < 5; day++) {
      bench.clock.advance(DAY - MINUTE);
      assert.equal(of(7)?.silent, false, `day ${day}`);
      bench.clock.advance(MINUTE);
      await send();
    }
    assert.ok((of(7)?.every ?? 0) > 0.9 * 86_400, String(of(7)?.every));
  });

  it('follows a site that changes its habits', async () => {
    await every(HOUR, 48);
    await every(7 * DAY, 3);
    assert.ok((of(7)?.every ?? 0) > 5 * 86_400);
    await every(HOUR, 24 * 28);
    assert.ok((of(7)?.every ?? Infinity) < 86_400);
  });

  it('bears a clock that goes back, sets of one second, and a disabled provider', async () => {
    await every(2 * DAY, 3);
    bench.clock.jumpTo(bench.clock.nowMs() - 30 * DAY);
    await send();
    await send();
    assert.equal(of(7)?.every, 2 * 86_400);
    bench.clock.advance(40 * DAY);
    assert.equal(of(7)?.silent, true);
    bench.db.exec('UPDATE pidb SET enabled = 0');
    assert.equal(of(7), undefined);
  });

  it('lists the silent ones first, the longest silent first of all, and no more than asked for', async () => {
    for (const pid of [8, 9]) bench.provider(pid);
    await every(DAY, 2, 9);
    bench.clock.advance(DAY);
    await every(DAY, 2, 8);
    bench.clock.advance(10 * DAY);
    await every(HOUR, 2, 7);
    const pids = (limit: number) => readRhythms(bench.db, nowS(), limit).map(({ pid }) => pid);
    assert.deepEqual(pids(10), [9, 8, 7]);
    assert.deepEqual(pids(2), [9, 8]);
    assert.equal(countSilent(bench.db, nowS()), 2);
  });

  it('begins with the last set in a database that did not know of it', async () => {
    await every(DAY, 3);
    bench.db.exec('UPDATE pidb SET setevery = 0, setssince = 0');
    bench.clock.advance(3 * DAY);
    await send();
    assert.equal(of(7)?.every, 3 * 86_400);
  });
});
