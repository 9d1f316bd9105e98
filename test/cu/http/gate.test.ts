/** The change feed of a kept home. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '../../../src/lib/clock.js';
import { LccError } from '../../../src/lib/errors.js';
import { settle } from '../../support/duplex.js';
import { HeldGate } from '../../support/held-gate.js';
import { Refusal } from '../../../src/wire/refusal.js';
import { cachesOfFile, feedsOf, read, reading } from './support.js';

const newCache = cachesOfFile();

describe('the change feed of a kept home', () => {
  it('tells an event when it is in the engine, and not before', async t => {
    const gate = new HeldGate();
    const { port } = await feedsOf(t, newCache('a'), {}, systemClock, () => gate.shipped('lcc'));
    gate.hold();
    const reader = await reading(port, '', { accept: 'text/event-stream' });
    await gate.holds(() => reader.text !== '');
    await settle(100);
    assert.equal(reader.text, '');
    gate.release();
    await reader.until(/^id: .*:1$/m);
    reader.leave();
  });

  it('answers a poll when its cursor is in the engine, and with 503 where that takes too long', async t => {
    const gate = new HeldGate();
    const shipped = () =>
      gate.shipped('lcc').catch((error: unknown) => {
        throw error instanceof LccError ? new Refusal(102, error.message) : error;
      });
    const { port } = await feedsOf(t, newCache('a'), {}, systemClock, shipped);
    gate.hold();
    const asked = read(port, '');
    await gate.holds();
    gate.refuse(new LccError('try.later', 'the engine has not taken it'));
    const { status, text } = await asked;
    assert.deepEqual([status, /engine has not taken/.test(text)], [503, true]);
    gate.release();
    assert.match((await read(port, '')).text, /"cursor":"[^"]*:1"/);
  });
});
