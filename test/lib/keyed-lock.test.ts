import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { KeyedLock } from '../../src/lib/keyed-lock.js';

test('a key is given to one after the other, in order, and another key at once', async () => {
  const lock = new KeyedLock<string>();
  const log: string[] = [];
  const work = async (key: string, name: string) => {
    const release = await lock.take(key);
    log.push(`${name} begins`);
    await turn();
    log.push(`${name} ends`);
    release();
  };
  await Promise.all([work('a', 'first'), work('a', 'second'), work('a', 'third'), work('b', 'other')]);
  assert.deepEqual(
    log.filter(line => !line.startsWith('other')),
    ['first begins', 'first ends', 'second begins', 'second ends', 'third begins', 'third ends'],
  );
  assert.ok(log.indexOf('other begins') < log.indexOf('first ends'));
});

test('nothing is remembered of keys that nobody has', async () => {
  const lock = new KeyedLock<number>();
  const release = await lock.take(1);
  const next = lock.take(1);
  release();
  assert.equal(lock.size, 1, 'the next one has it');
  (await next)();
  assert.equal(lock.size, 0);
});

test('releasing twice gives the key to one', async () => {
  const lock = new KeyedLock<number>();
  const first = await lock.take(1);
  const waiting = lock.take(1);
  first();
  first();
  const second = await waiting;
  let third = false;
  const after = lock.take(1).then(release => {
    third = true;
    release();
  });
  first();
  await turn();
  assert.equal(third, false);
  second();
  await after;
});
