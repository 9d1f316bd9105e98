import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FIGURES } from '../../../src/commands/figures.js';
import type { Look } from '../../../src/daemon/ask.js';
import { reasonsOf, standbyFor } from '../../../src/run/look/reasons.js';

const says = (name: string, more: Record<string, unknown>): Look => ({
  name,
  status: { daemon: name, pid: 1, up_s: 1, rss_bytes: 1, idle: true, ...more },
});
const robots = [
  says('lccd-bm', { robots: 1, source: true, store_full: false }),
  says('lccbot', { managers: 1 }),
];

it('a machine that stands by misses no Queue Manager, and knows for whom', () => {
  const standby = (owner: string) => [...robots, says('lccd-keep', { phase: 'standby', home_owner: owner })];
  assert.deepEqual(reasonsOf(standby('h1'), undefined, Date.now(), FIGURES), []);
  assert.deepEqual([standbyFor(standby('h1')), standbyFor(standby(''))], ['h1', 'no machine']);
  const owner = [...robots, says('lccd-keep', { phase: 'owner', home_owner: 'h1' })];
  assert.equal(standbyFor(owner), undefined);
  assert.match(reasonsOf(owner, undefined, Date.now(), FIGURES).join(), /^lccd-qm, .* does not run here/);
});
