import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Look } from '../../../src/daemon/ask.js';
import { FIGURES } from '../../../src/commands/figures.js';
import { reasonsOf } from '../../../src/run/look/reasons.js';

const NOW_S = 1_800_000_000;
const says = (name: string, more: object): Look => ({
  name,
  status: { daemon: name, pid: 1, up_s: 1, rss_bytes: 1, idle: true, ...more },
});
/** Reasons that lccd gives of a child. */
const of = (child: object, ...others: Look[]) => {
  const well = { name: 'lccbot', state: 'ready', restarts: 0, started_at_s: NOW_S, last_end: null };
  const lccd = says('lccd', { children: [well, { ...well, ...child }] });
  return reasonsOf([lccd, ...others], undefined, NOW_S * 1000, FIGURES);
};

describe('a child of lccd', () => {
  it('is named if it was started again of late, or is yet to be, and how it ended', () => {
    const qm = says('lccd-qm', { rows_queued: 0, bot_managers: [{ peer: 'unix', machines: [], slots: 4 }] });
    const killed = { restarts: 1, last_end: 'was killed by SIGKILL' };
    assert.deepEqual(of({ ...killed, started_at_s: NOW_S - 5 }, qm), [
      'lccbot was started again 5 s ago: it was killed by SIGKILL; the log says more',
    ]);
    assert.deepEqual(of({ restarts: 7, last_end: 'exited with 70', started_at_s: NOW_S + 1 }, qm), [
      'lccbot was started again 0 s ago (7 times in all): it exited with 70; the log says more',
    ]);
    assert.deepEqual(of({ ...killed, restarts: 7, started_at_s: NOW_S - 600 }, qm), []);
    assert.deepEqual(of({ ...killed, state: 'waiting' }, qm), [
      'lccbot was killed by SIGKILL and is started again; the log says more',
    ]);
    assert.deepEqual(of({ name: 'lccd-hard', state: 'stopped', last_end: 'exited with 78' }, qm), [
      'lccd-hard exited with 78 and stays down: mend what it says in the log, then reload lccd (SIGHUP)',
    ]);
  });

  it('that takes long to start says so: a Queue Manager that upgrades a database is not missed', () => {
    const started = (state: string, agoS: number) =>
      of({ name: 'lccd-qm', state, started_at_s: NOW_S - agoS });
    assert.deepEqual(started('starting', 1), []);
    assert.deepEqual(started('starting', 90), [
      'lccd-qm has been starting for 90 s; the log says what it does',
    ]);
    assert.match(started('stopped', 90).join(), /^lccd-qm, the Queue Manager, does not run here/);
  });
});
