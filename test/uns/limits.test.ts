import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SettingKey } from '../../src/config/settings/index.js';
import { LoginBackoff } from '../../src/lib/login-backoff.js';
import { unsOptions } from '../../src/uns/options.js';
import type { Refusal } from '../../src/wire/refusal.js';
import { TimeLimits } from '../../src/uns/time-limits.js';
import { ManualClock } from '../support/manual-clock.js';
import { configOf } from '../support/settings.js';

function options(overrides: Partial<Record<SettingKey, string>> = {}, openFiles = Infinity) {
  return unsOptions(configOf(overrides), openFiles);
}

describe('places for connections', () => {
  it('are fewer than the files the process may open', () => {
    assert.equal(options({}, 1024).limits.maxConnections, 1024 - 100 - 2 * 128);
    assert.equal(options({}, 1024).maxAtDoor, 128);
    assert.equal(options({}, 10).limits.maxConnections, 1);
    assert.equal(options().limits.maxConnections, 8000);
  });
});

describe('the patience with a CP', () => {
  function watched(overrides: Partial<Record<SettingKey, string>> = {}) {
    const clock = new ManualClock();
    const ends: Refusal[] = [];
    const watch = new TimeLimits(options(overrides), clock, why => void ends.push(why));
    return { clock, watch, ends: () => ends.map(({ code, message }) => `${code} ${message}`) };
  }

  it('ends when no init comes, however busily it drips', () => {
    const { clock, watch, ends } = watched();
    for (let second = 0; second < 9; second++) {
      watch.waits();
      clock.advance(1000);
      watch.heard(1);
    }
    assert.deepEqual(ends(), []);
    clock.advance(1000);
    assert.deepEqual(ends(), ['106 no complete init in time: the limit is 10 s (uns.login_timeout_ms)']);
  });

  it('ends when nothing is heard', () => {
    const { clock, watch, ends } = watched();
    watch.loggedIn();
    watch.waits();
    clock.advance(59_000);
    watch.heard(1);
    watch.waits();
    clock.advance(59_999);
    assert.deepEqual(ends(), []);
    clock.advance(1);
    assert.deepEqual(ends(), [
      '106 nothing was heard for too long: the limit is 1 min (uns.idle_timeout_ms)',
    ]);
  });

  it('does not count the time in which the CP waits for us', () => {
    const { clock, watch, ends } = watched();
    watch.loggedIn();
    watch.setOpened();
    watch.waits();
    watch.heard(10);
    clock.advance(600_000);
    assert.deepEqual(ends(), []);
  });

  it('ends when a set drips', () => {
    const { clock, watch, ends } = watched();
    watch.loggedIn();
    watch.setOpened();
    for (let second = 0; second < 61; second++) {
      watch.waits();
      clock.advance(1000);
      watch.heard(500);
    }
    clock.advance(15_000);
    assert.deepEqual(ends(), [
      '106 the set arrives too slowly: the limit is 1 KB/s (uns.min_rate_bytes_per_s)',
    ]);
  });

  it('does not end for a set that comes fast enough', () => {
    const { clock, watch, ends } = watched();
    watch.loggedIn();
    watch.setOpened();
    for (let second = 0; second < 600; second++) {
      watch.waits();
      clock.advance(1000);
      watch.heard(1100);
    }
    assert.deepEqual(ends(), []);
  });

  it('takes one timer for a session that is soon over, and looks sooner where a set needs it', () => {
    const clock = new ManualClock();
    let timers = 0;
    const set: ManualClock['after'] = (delayMs, action) => {
      timers++;
      return clock.after(delayMs, action);
    };
    const counted = { nowMs: () => clock.nowMs(), monotonicMs: () => clock.monotonicMs(), after: set };
    const soonOver = new TimeLimits(options(), counted, () => assert.fail('nobody is to be cut off'));
    soonOver.loggedIn();
    soonOver.setOpened();
    soonOver.stop();
    assert.deepEqual([timers, clock.nextMs()], [1, undefined]);
    const slow = watched({ 'uns.login_timeout_ms': '50s' });
    slow.watch.loggedIn();
    slow.watch.setOpened();
    assert.equal(slow.clock.nextMs(), 15_000);
  });

  it('ends with the longest session, and is over when stopped', () => {
    const long = watched({ 'uns.session_timeout_ms': '10s', 'uns.idle_timeout_ms': '1h' });
    long.watch.loggedIn();
    long.clock.advance(10_000);
    assert.match(long.ends()[0] ?? '', /10 s \(uns\.session_timeout_ms\)/);
    const stopped = watched();
    stopped.watch.stop();
    stopped.clock.advance(10_000_000);
    assert.deepEqual(stopped.ends(), []);
  });
});

describe('guessing a password', () => {
  it('becomes slow, for this provider from this address alone, and easy again after a success', () => {
    const clock = new ManualClock();
    const backoff = new LoginBackoff(clock);
    const attempt = () => {
      const delayMs = backoff.delayMs('7', 'a');
      clock.advance(delayMs);
      backoff.failed('7', 'a');
      return delayMs;
    };
    assert.deepEqual(Array.from({ length: 8 }, attempt), [0, 0, 0, 0, 100, 200, 400, 800]);
    for (let i = 0; i < 20; i++) attempt();
    assert.equal(attempt(), 5000);
    assert.deepEqual([backoff.delayMs('8', 'a'), backoff.delayMs('7', 'b')], [0, 0]);
    backoff.succeeded('7', 'a');
    assert.equal(backoff.delayMs('7', 'a'), 0);
  });

  it('gains nothing from trying at the same time: attempts stand in line', () => {
    const backoff = new LoginBackoff(new ManualClock());
    for (let i = 0; i < 4; i++) backoff.failed('7', 'a');
    assert.deepEqual(
      [1, 2, 3].map(() => backoff.delayMs('7', 'a')),
      [100, 200, 300],
    );
  });

  it('is forgotten after a while', () => {
    const clock = new ManualClock();
    const backoff = new LoginBackoff(clock);
    for (let i = 0; i < 10; i++) backoff.failed('7', 'a');
    clock.advance(11 * 60_000);
    backoff.failed('7', 'a');
    clock.advance(1);
    assert.equal(backoff.delayMs('7', 'a'), 0);
  });

  it('by a crowd does not fill the memory', () => {
    const backoff = new LoginBackoff(new ManualClock());
    for (let i = 0; i < 4; i++) backoff.failed('first', 'a');
    for (let i = 0; i < 10_000; i++) backoff.failed(`p${i}`, 'a');
    assert.equal(backoff.delayMs('first', 'a'), 0, 'the oldest is forgotten');
  });
});
