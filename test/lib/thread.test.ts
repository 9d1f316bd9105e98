import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { Thread } from '../../src/lib/thread.js';

const SCRIPT = join(import.meta.dirname, '../fixtures/doubling-thread.js');
const PATIENCE_MS = 60_000;

describe('a thread', () => {
  it('answers in order, to one who waits without the event loop', () => {
    const thread = new Thread<number, number>({ script: SCRIPT, data: 2 });
    for (let n = 0; n < 10; n++) thread.ask(n);
    assert.equal(thread.owes, 10);
    assert.deepEqual(
      Array.from({ length: 10 }, () => thread.take(PATIENCE_MS)),
      Array.from({ length: 10 }, (_, n) => 2 * n),
    );
    assert.deepEqual([thread.owes, thread.ready], [0, 0]);
    thread.stop();
  });

  it('answers in order, to one who hears of it', async () => {
    const heard: number[] = [];
    await new Promise<void>(resolve => {
      const thread = new Thread<number, number>({
        script: SCRIPT,
        data: 3,
        answered(answer) {
          if (heard.push(answer) < 10) return;
          assert.ok(thread.isReady);
          thread.stop();
          resolve();
        },
      });
      for (let n = 0; n < 10; n++) thread.ask(n);
    });
    assert.deepEqual(
      heard,
      Array.from({ length: 10 }, (_, n) => 3 * n),
    );
  });

  it('that does not answer is ended in the middle of what it does', async () => {
    const code = Buffer.from('for (;;);');
    const lost = await new Promise<Error>(resolve => {
      const thread = new Thread<number, number>({
        script: new URL(`data:text/javascript;base64,${code.toString('base64')}`) as unknown as string,
        answered: () => assert.fail('nothing is answered'),
        lost: resolve,
      });
      thread.ask(1);
      thread.kill(new Error('too long'));
      assert.ok(thread.isOver);
    });
    assert.equal(lost.message, 'too long');
  });

  it('that fails says with what, and is lost to one who hears of it', async () => {
    const taken = new Thread<number, number>({ script: SCRIPT, data: 2 });
    taken.ask(-1);
    taken.ask(4);
    assert.throws(() => taken.take(PATIENCE_MS), { code: 'data.refused', message: '-1 is not doubled' });
    assert.equal(taken.take(PATIENCE_MS), 8);
    taken.stop();
    const lost: unknown[] = [];
    await new Promise<void>(resolve => {
      const thread = new Thread<number, number>({
        script: SCRIPT,
        data: 2,
        answered: () => assert.fail('nothing is answered'),
        lost(reason) {
          lost.push(reason.message);
          setImmediate(resolve);
        },
      });
      thread.ask(-1);
      thread.ask(4);
    });
    assert.deepEqual(lost, ['-1 is not doubled']);
  });

  it('that ends by itself is lost, once', async () => {
    const lost: string[] = [];
    const started = once(process, 'worker') as Promise<[Worker]>;
    const thread = new Thread<number, number>({
      script: SCRIPT,
      data: 2,
      answered: () => assert.fail('nothing is answered'),
      lost: ({ message }) => void lost.push(message),
    });
    const [worker] = await started;
    await worker.terminate();
    assert.ok(thread.isOver);
    assert.deepEqual(lost, ['the thread has ended']);
    thread.ask(1);
    assert.equal(thread.take(0), undefined);
  });

  it('that does not answer is lost to one who waits', () => {
    const lost: string[] = [];
    const thread = new Thread<number, number>({
      script: SCRIPT,
      data: 2,
      lost: ({ message }) => void lost.push(message),
    });
    assert.equal(thread.take(1), undefined);
    assert.deepEqual(lost, ['the thread has not answered for 0.001 s']);
    assert.equal(thread.ready, Infinity);
  });
});
