import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { Places, type Evict, type PlacesOptions } from '../../src/daemon/places.js';
import { silentLog } from '../../src/lib/log.js';
import { ManualClock } from '../support/manual-clock.js';
import { ends, settle } from '../support/duplex.js';

/** Places, and what came of those who came. */
function places(most: number, more: Partial<PlacesOptions> = {}) {
  const clock = new ManualClock();
  const said: unknown[] = [];
  const log = { ...silentLog, warn: (event: string) => void said.push(event) };
  const all = new Places({
    key: 'bot.max_connections',
    most,
    whose: 'peers',
    say: why => why.message,
    clock,
    log,
    ...more,
  });
  const come = (address = '', evict?: Evict) => {
    const pair = ends();
    const place = all.admit({ socket: pair.ours as Socket, peer: `${address}:1`, address }, evict);
    return { ...pair, place, has: place !== undefined };
  };
  return { all, clock, said, come };
}

test('one who is refused reads why, and does not stay', async () => {
  const { clock, come } = places(1);
  const first = come();
  const refused = come();
  await settle();
  assert.deepEqual([first.has, refused.has], [true, false]);
  assert.equal(
    refused.received(),
    'too many connections of peers, try again later: the limit is 1 (bot.max_connections)',
  );
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
  const crowd = Array.from({ length: 1000 }, () => come());
  await settle();
  const staying = crowd.filter(({ ours }) => !ours.destroyed).length;
  assert.ok(staying > 0 && staying <= 256, String(staying));
});

test('the log hears of it once, and again when half of the places were free meanwhile', async () => {
  const { said, come } = places(4);
  const inside = Array.from({ length: 4 }, () => come());
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

describe('places of one address', () => {
  const perAddress = { key: 'uns.max_connections_per_address', most: 2 } as const;

  test('are limited, and the refusal says by what', async () => {
    const { come } = places(100, { perAddress });
    const first = come('192.0.2.1');
    come('192.0.2.1');
    const refused = come('192.0.2.1');
    await settle();
    assert.equal(
      refused.received(),
      'too many connections from 192.0.2.1, try again later: the limit is 2 (uns.max_connections_per_address)',
    );
    assert.ok(come('192.0.2.2').has);
    first.ours.destroy();
    await settle();
    assert.deepEqual([come('192.0.2.1').has, come('192.0.2.1').has], [true, false]);
  });

  test('are no limit for Unix sockets', () => {
    const { all, come } = places(100, { perAddress });
    for (let i = 0; i < 5; i++) come();
    assert.equal(all.count, 5);
  });

  test('are told to the log once for each address, and again when half of them were free', async () => {
    const { said, come } = places(100, { perAddress });
    const inside = [come('a'), come('a')];
    for (let n = 0; n < 3; n++) come('a');
    assert.equal(said.length, 1);
    inside[0]?.ours.destroy();
    await settle();
    for (let n = 0; n < 3; n++) come('a');
    assert.equal(said.length, 2);
  });
});

describe('places of strangers', () => {
  test('go to a newcomer when they have waited a while, but never those of peers that are known', () => {
    const { all, clock, come } = places(2);
    const sent: string[] = [];
    const evict: Evict = ({ message }, mayLinger) => void sent.push(`${mayLinger} ${message}`);
    const first = come('peer', evict);
    assert.equal(first.place?.known(), true);
    const idle = come('idle', evict);
    assert.equal(come('new', evict).has, false);
    clock.advance(1000);
    assert.equal(come('new', evict).place?.known(), true);
    assert.deepEqual(sent, [
      'true too many connections of peers, try again later: the limit is 2 (bot.max_connections)',
    ]);
    assert.equal(idle.place?.known(), false);
    clock.advance(10_000);
    assert.equal(come('late', evict).has, false);
    assert.deepEqual([all.count, all.known], [2, 2]);
  });

  test('are theirs where nobody can send them away', () => {
    const { clock, come } = places(1);
    come();
    clock.advance(10_000);
    assert.equal(come().has, false);
  });

  test('leave them no time to read why when too many linger', () => {
    const { clock, come } = places(1, { turnedAway: { most: 1 } });
    const sent: boolean[] = [];
    const evict: Evict = (_, mayLinger) => void sent.push(mayLinger);
    for (let n = 0; n < 3; n++) {
      come('', evict);
      clock.advance(1000);
    }
    assert.deepEqual(sent, [true, false]);
  });
});
