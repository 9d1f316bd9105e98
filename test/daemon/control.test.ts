import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { serveControl } from '../../src/daemon/control.js';
import { ManualClock } from '../support/manual-clock.js';
import { ends, settle } from '../support/duplex.js';

/** A control socket that counts what it was asked. @param answer what it says each time */
function control(answer: unknown, reading = true) {
  const pair = ends(reading);
  const asked = { count: 0 };
  const clock = new ManualClock();
  const controls = {
    count() {
      asked.count++;
      return answer;
    },
  };
  void serveControl({ socket: pair.ours as Socket, peer: 'unix', address: '' }, controls, clock);
  return { ...pair, asked, clock };
}

test('who asks without end is answered once a turn of the event loop', async () => {
  const { theirs, asked } = control(1);
  theirs.write('count\n'.repeat(1000));
  await settle(10);
  assert.ok(asked.count > 1 && asked.count <= 11, String(asked.count));
  while (asked.count < 1000) await settle();
});

test('who does not read the answers gets no more than a megabyte of them', async () => {
  const { theirs, asked } = control('x'.repeat(100_000), false);
  theirs.write('count\n'.repeat(1000));
  await settle(1000);
  assert.ok(asked.count >= 10 && asked.count <= 12, String(asked.count));
  theirs.resume();
  while (asked.count < 1000) await settle();
});

test('a line that does not end is cut off', async () => {
  const { ours, theirs } = control(1);
  theirs.write('x'.repeat(5000));
  await settle();
  assert.ok(ours.destroyed);
});

test('lines are answered in order, in however many pieces they come', async () => {
  const { theirs, asked, received } = control(7);
  for (const piece of ['cou', 'nt\ncount', '\n', 'nothing\ncount\n']) {
    theirs.write(piece);
    await settle(3);
  }
  await settle();
  assert.equal(asked.count, 3);
  assert.match(received(), /^\{"ok":7\}\n\{"ok":7\}\n\{"error":.*\}\n\{"ok":7\}\n$/);
});

test('one that says nothing for a minute is cut off, one that is answered is not', async () => {
  const { ours, theirs, clock } = control(1);
  clock.advance(59_000);
  theirs.write('count\n');
  await settle();
  clock.advance(59_000);
  await settle();
  assert.ok(!ours.destroyed);
  clock.advance(1000);
  await settle();
  assert.ok(ours.destroyed);
});

test('who has ended its side is answered all the same', async () => {
  const { ours, theirs, received } = control(7);
  theirs.end('count\ncount\n');
  await settle();
  assert.equal(received(), '{"ok":7}\n{"ok":7}\n');
  assert.ok(ours.destroyed);
});
