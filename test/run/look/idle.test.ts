import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EXIT } from '../../../src/lib/errors.js';
import type { Look } from '../../../src/daemon/ask.js';
import { isIdleWith, untilIdle, wordFor } from '../../../src/run/look/idle.js';
import { ManualClock } from '../../support/manual-clock.js';

const says = (name: string, idle: boolean, pid = 1): Look => ({
  name,
  status: { daemon: name, pid, up_s: 1, rss_bytes: 1, idle },
});
const away = (name: string): Look => ({ name, problem: 'not running' });
const IDLE = [says('lccd-uns', true), says('lccd-qm', true)];

/** Shows `looks` one after the other, the last for ever, time passing between them. */
async function wait(
  looks: Look[][],
  limitMs = Infinity,
  isLong?: (atMs: number) => void,
  taken?: () => number | undefined,
): Promise<{ status: number; looked: number; tookMs: number }> {
  const clock = new ManualClock();
  let looked = 0;
  const status = await untilIdle(
    async () => {
      const now = looks[Math.min(looked++, looks.length - 1)] ?? [];
      setImmediate(() => clock.advance(100));
      return Promise.resolve(now);
    },
    clock,
    limitMs,
    () => isLong?.(clock.monotonicMs()),
    taken,
  );
  return { status, looked, tookMs: clock.monotonicMs() };
}

describe('an LCC whose queue is read after its daemons were asked', () => {
  const looks = (rows_queued: number): Look[] => [
    {
      name: 'lccd-qm',
      status: { daemon: 'lccd-qm', pid: 1, up_s: 1, rss_bytes: 1, idle: true, rows_queued },
    },
  ];

  it('is not idle with urls that have come in between, but with those for later', () => {
    assert.equal(isIdleWith(looks(0), 3), false);
    assert.equal(isIdleWith(looks(3), 3), true);
    assert.equal(isIdleWith(looks(0), 0), true);
    assert.equal(isIdleWith([says('lccd-qm', false)], 0), false);
  });
});

describe('an LCC in a word', () => {
  const busy = [says('lccd-uns', false), says('lccd-qm', false)];
  const noQm = [says('lccd-uns', true)];
  for (const [what, looks, urls, isOutpost, expected] of [
    ['at rest', IDLE, 0, false, 'idle'],
    ['at work', busy, 0, false, 'busy'],
    ['with urls that have come since', IDLE, 1, false, 'busy'],
    ['whose Queue Manager does not run is neither', noQm, 0, false, 'no Queue Manager'],
    ['whose Queue Manager left its socket', [...noQm, away('lccd-qm')], 0, false, 'busy'],
    ['of robots alone at rest', [says('lccbot', true)], 0, true, 'idle'],
    ['of robots alone at work', [says('lccbot', false)], 0, true, 'busy'],
    ['of which nothing answers is neither', [away('lccd-qm')], 5, false, 'not running'],
    ['of which nothing is there is neither', [], 5, false, 'not running'],
  ] as const)
    it(what, () => assert.equal(wordFor(looks, urls, isOutpost), expected));
});

describe('waiting until an LCC is idle', () => {
  it('needs two idle looks in a row', async () => {
    const busy = [says('lccd-uns', true), says('lccd-qm', false)];
    assert.deepEqual(await wait([busy, IDLE, busy, IDLE, IDLE]).then(end => [end.status, end.looked]), [
      EXIT.ok,
      5,
    ]);
  });

  it('does not count a look at another process of the same name', async () => {
    const restarted = [says('lccd-uns', true), says('lccd-qm', true, 2)];
    assert.equal((await wait([IDLE, restarted, restarted])).looked, 3);
  });

  it('waits for a daemon that left its socket behind, and for the queue manager', async () => {
    const dead = [...IDLE, away('lccbot')];
    const noQm = [says('lccd-uns', true)];
    assert.equal((await wait([dead, dead, noQm, noQm, IDLE, IDLE])).looked, 6);
  });

  it('says when the time is up', async () => {
    const busy = [says('lccd-qm', false)];
    assert.deepEqual(await wait([busy], 1000), { status: EXIT.tempfail, looked: 11, tookMs: 1000 });
  });

  it('looks once more at what is idle as the time ends', async () => {
    assert.deepEqual(await wait([IDLE], 0), { status: EXIT.ok, looked: 2, tookMs: 100 });
    const busy = [says('lccd-qm', false)];
    assert.equal((await wait([IDLE, busy], 0)).status, EXIT.tempfail);
    assert.equal((await wait([IDLE, [says('lccd-qm', true, 2)]], 0)).status, EXIT.tempfail);
  });

  it('looks for no longer than is left, but a second at the end', async () => {
    const clock = new ManualClock();
    const bounds: number[] = [];
    const status = await untilIdle(
      totalMs => {
        bounds.push(totalMs);
        clock.advance(totalMs);
        return Promise.resolve([away('lccd-uns'), says('lccd-qm', true)]);
      },
      clock,
      3000,
    );
    assert.deepEqual([status, bounds], [EXIT.tempfail, [3000]]);
    assert.equal(
      await untilIdle(many => (bounds.push(many), Promise.resolve([])), clock, 0),
      EXIT.unavailable,
    );
    assert.deepEqual(bounds, [3000, 1000]);
  });

  it('tells every ten seconds that it still waits', async () => {
    const told: number[] = [];
    await wait([[says('lccd-qm', false)]], 25_000, atMs => told.push(atMs));
    assert.deepEqual(told, [10_000, 20_000]);
  });

  it('gives an LCC that is just starting five seconds to answer', async () => {
    assert.equal((await wait([[], [], IDLE, IDLE])).status, EXIT.ok);
    assert.deepEqual(await wait([[away('lccd-qm')]]), { status: EXIT.unavailable, looked: 51, tookMs: 5000 });
  });
});

describe('an LCC whose consumer gives it work', () => {
  const waitFor = (changes: (number | undefined)[]) => {
    let looked = 0;
    return wait([IDLE], Infinity, undefined, () => changes[Math.min(looked++, changes.length - 1)]);
  };

  it('is done when the consumer has taken the last change, and none has come since', async () => {
    assert.deepEqual(await waitFor([7]), { status: EXIT.ok, looked: 2, tookMs: 100 });
    assert.equal((await waitFor([undefined, undefined, 7])).looked, 4);
    assert.equal((await waitFor([7, undefined, 8])).looked, 4);
    assert.equal((await waitFor([7, 8])).looked, 3);
  });

  it('does not ask while the LCC is busy', async () => {
    const { status } = await wait([[says('lccd-qm', false)]], 300, undefined, () => assert.fail());
    assert.equal(status, EXIT.tempfail);
  });
});
