import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { Places } from '../../src/daemon/places.js';
import type { Bound } from '../../src/daemon/types.js';
import { ManualClock } from '../../src/lib/clock.js';
import { silentLog } from '../../src/lib/log.js';
import { ends, settle } from '../support/duplex.js';
import { configOf } from '../support/settings.js';

/** So many places, and what came of those who came. */
function places(most: number) {
  const clock = new ManualClock();
  const said: unknown[] = [];
  const log = { ...silentLog, warn: (event: string) => void said.push(event) };
  const bound: Bound = { key: 'bot.max_connections', whose: 'peers', say: why => why.message };
  const all = new Places(bound, { config: configOf({ 'bot.max_connections': String(most) }), clock, log });
  const come = () => {
    const pair = ends();
    const has = all.admit({ socket: pair.ours as Socket, peer: 'unix', address: '' });
    return { ...pair, has };
  };
  return { clock, said, come };
}

test('one who is refused reads why, and does not stay', async () => {
  const { clock, come } = places(1);
  const first = come();
  const refused = come();
  await settle();
  assert.deepEqual([first.has, refused.has], [true, false]);
  assert.equal(refused.received(), 'there are 1 (bot.max_connections) connections of peers already');
  assert.ok(!refused.ours.destroyed, 'there is a moment to read it');
  clock.advance(1000);
  assert.deepEqual([first.ours.destroyed, refused.ours.destroyed], [false, true]);
});

test('one who is refused and goes on sending is cut off', async () => {
  const { come } = places(1);
  come();
  const { ours, theirs } = come();
  for (let i = 0; i < 200 && !ours.destroyed; i++) {
    theirs.write(Buffer.alloc(1024));
    await settle(1);
  }
  assert.ok(ours.destroyed);
});

test('of a crowd that is refused only some stay to read why', async () => {
  const { come } = places(1);
  come();
  const crowd = Array.from({ length: 1000 }, come);
  await settle();
  const staying = crowd.filter(({ ours }) => !ours.destroyed).length;
  assert.ok(staying > 0 && staying <= 256, String(staying));
});

test('the log hears of it once, and again when half of the places were free meanwhile', async () => {
  const { said, come } = places(4);
  const inside = Array.from({ length: 4 }, come);
  const leave = async (count: number) => {
    for (const { ours } of inside.splice(0, count)) ours.destroy();
    await settle();
  };
  const fill = () => {
    for (let next = come(); next.has; next = come()) inside.push(next);
  };
  for (let n = 0; n < 10; n++) fill();
  assert.equal(said.length, 1);
  await leave(1);
  fill();
  assert.equal(said.length, 1);
  await leave(2);
  fill();
  assert.equal(said.length, 2);
});
