import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { serveControl } from '../../src/daemon/control.js';
import { ends, settle } from '../support/duplex.js';

/** A control socket that counts what it was asked. @param answer what it says each time */
function control(answer: unknown, reading = true) {
  const pair = ends(reading);
  const asked = { count: 0 };
  const socket = Object.assign(pair.ours, { setTimeout: () => socket }) as unknown as Socket;
  serveControl(socket, {
    count() {
      asked.count++;
      return answer;
    },
  });
  return { ...pair, asked };
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
