import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { awaitCount } from '../../src/lib/thread.js';

test('a notice that comes late, of a number seen before, does not end the wait for the next', async () => {
  const counters = new Int32Array(new SharedArrayBuffer(8));
  Atomics.store(counters, 1, 7);
  // Notifies until somebody was woken in vain, then adds.
  const source = `
    const { workerData: counters } = require('node:worker_threads');
    while (Atomics.notify(counters, 1) === 0);
    Atomics.store(counters, 0, 1);
    Atomics.add(counters, 1, 1);
    Atomics.notify(counters, 1);`;
  const worker = new Worker(source, { eval: true, workerData: counters });
  assert.equal(awaitCount(counters, 1, 7), true);
  assert.deepEqual([...counters], [1, 8]);
  await once(worker, 'exit');
});

test('says when nothing was heard for long, and does not wait for what is there', () => {
  const counters = new Int32Array(new SharedArrayBuffer(4));
  assert.equal(awaitCount(counters, 0, 0, 1), false);
  assert.equal(awaitCount(counters, 0, -1), true);
});
