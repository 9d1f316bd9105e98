import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { LARGE_SET_URLS } from '../../src/wire/uns-qm.js';
import { settle } from '../support/duplex.js';
import { Simulation } from './simulation.js';
import { ok, url } from './support.js';

const LARGE = 1;
const SMALL = 2;
const WINDOW = 8;
const SHARED_WINDOW = 128;
let sim: Simulation;
/** Most urls of the large set on their way to the Bot Manager at a time. */
let most: number;

beforeEach(async () => {
  most = 0;
  sim = new Simulation({
    workerSlots: 1,
    window: WINDOW,
    lanes: { sharedWindow: SHARED_WINDOW },
    site: ({ url: asked }) => ({ result: ok(asked), tookMs: 1 }),
  });
  for (const pid of [LARGE, SMALL]) sim.bench.provider(pid);
  sim.onBegin = () => (most = Math.max(most, sim.waiting));
  sim.start();
  const urls = Array.from({ length: LARGE_SET_URLS + 1000 }, (_, i) => url(`large${i}`));
  await sim.send(LARGE, urls);
  await sim.pass(100);
});
afterEach(() => sim.close());

test('alone a large set has all of the window that lanes share', () => {
  assert.ok(most > WINDOW, `${most}`);
});

test('beside others it has a window of its own at most, and the whole again when they have gone', async () => {
  for (let n = 0; n < 10; n++) {
    await sim.send(SMALL, [url(`small${n}`)]);
    await sim.pass(150);
    most = 0;
    await sim.pass(100);
    assert.ok(most > 0 && most <= WINDOW, `${most}`);
  }
  await sim.pass(1000);
  most = 0;
  await sim.pass(150);
  assert.ok(most > WINDOW, `${most}`);
});

test('whoever comes in between waits for one window at most', async () => {
  await sim.send(SMALL, [url('first')]);
  await sim.pass(200);
  const before = sim.fetches.length;
  await sim.send(SMALL, [url('second')]);
  await sim.pass(50);
  const place = sim.fetches.slice(before).findIndex(({ pid }) => pid === SMALL);
  assert.ok(place >= 0 && place <= WINDOW, `${place}`);
});

test('a set that has just been taken is sent for before anybody else has the event loop', async () => {
  const own = new Simulation({ site: ({ url: asked }) => ({ result: ok(asked), tookMs: 1 }) });
  try {
    own.bench.provider(SMALL);
    own.start();
    await settle();
    await own.send(SMALL, [url('small')]);
    await new Promise<void>(resolve => process.nextTick(resolve));
    assert.equal(own.status().in_flight, 1);
  } finally {
    own.close();
  }
});
