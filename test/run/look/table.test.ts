import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FIGURES } from '../../../src/commands/figures.js';
import { amount, formatDuration } from '../../../src/config/words.js';
import type { DaemonStatus, Look } from '../../../src/daemon/ask.js';
import { ratesOf } from '../../../src/run/look/rates.js';
import { describeStatus, formatOverview } from '../../../src/run/look/table.js';

const status = (daemon: string, more: Record<string, unknown> = {}): DaemonStatus => ({
  daemon,
  pid: 1,
  up_s: 7300,
  rss_bytes: 50 * 2 ** 20,
  idle: false,
  ...more,
});

describe('a daemon in words', () => {
  for (const [what, said, expected] of [
    [
      'a UNS at work',
      status('lccd-uns', {
        connections: 2,
        sets_open: 1,
        sets_spooled: 3,
        spool_bytes: 4096,
        sets_accepted: 9,
        urls_accepted: 100,
        refused: 1,
      }),
      '2 connections, 1 set being sent, 3 sets (4.0 KB) in the spool, 9 sets with 100 urls taken since the start, 1 refused',
    ],
    ['a second UNS at rest', status('lccd-uns-b'), '0 connections, spool empty'],
    [
      'a Queue Manager at work',
      status('lccd-qm', {
        rows_queued: 5,
        rows_later: 2,
        in_flight: 1,
        stored: 5,
        errors: 2,
        freed_waiting: 1,
      }),
      '5 urls queued, 2 of them for another hour, 1 of them sent to machines, 5 stored + 2 errors since the start, 1 file to be deleted',
    ],
    [
      'a Queue Manager whose results cannot be written',
      status('lccd-qm', { rows_queued: 5, in_flight: 3, results_waiting: 3, errors: 1, retries: 2 }),
      '5 urls queued, 3 of them fetched and not yet written, 1 error + 2 failures to be tried again since the start',
    ],
    ['a Queue Manager at rest', status('lccd-qm'), 'nothing queued'],
    [
      'a Bot Manager',
      status('lccd-bm', { robots: 1, slots: 64, fetching: 3, begun: 1, waiting: 2 }),
      '1 robot with 64 slots, 3 sent to robots, 1 of them begun, 2 waiting for a slot',
    ],
    [
      'a relay',
      status('lccd-bm-relay', { relay: true, machines: 2, slots: 96, fetching: 3, begun: 2 }),
      'relays to 2 machines with 96 slots, 3 sent to machines, 2 of them begun',
    ],
    [
      'a robot',
      status('lccbot-2', { slots: 64, fetching: 3, bytes: 2048 }),
      '3 of 64 slots fetching, 2.0 KB fetched since the start',
    ],
    [
      'a robot whose disk is slow',
      status('lccbot', { slots: 64, fetching: 64, storing: 14 }),
      '64 of 64 slots fetching, 14 being written',
    ],
    [
      'the supervisor',
      status('lccd', {
        children: [
          { name: 'lccd-qm', state: 'ready', restarts: 2 },
          { name: 'lccd-bm', state: 'ready', restarts: 1 },
          { name: 'lccbot', state: 'waiting', restarts: 0 },
        ],
      }),
      '2 of 3 children ready, lccd-qm started again 2 times, lccd-bm started again once',
    ],
    ['a daemon not known here', status('lccd-new', { cups: 3, name: 'x' }), 'cups=3'],
  ] as const) {
    it(what, () => assert.equal(describeStatus(said, FIGURES), expected));
  }
});

it('amounts are rounded as people read them', () => {
  assert.deepEqual([0, 59, 119, 120, 7199, 7200, 172_800].map(formatDuration), [
    '0 s',
    '59 s',
    '119 s',
    '2 min',
    '119 min',
    '2 h',
    '2 d',
  ]);
  assert.deepEqual(
    [amount(1, 'child', 'children'), amount(2, 'child', 'children')],
    ['1 child', '2 children'],
  );
});

it('the overview says first what goes on, then what is wrong, then a line a daemon', () => {
  const looks: Look[] = [
    { name: 'lccd-qm', status: status('lccd-qm', { rows_queued: 5 }) },
    { name: 'lccbot', problem: 'not running' },
  ];
  assert.equal(
    formatOverview(
      looks,
      'busy',
      '5 urls wait for 1 provider',
      ['lccbot does not answer'],
      {
        urls_per_s: 12.34,
        bytes_per_s: 4096,
      },
      FIGURES,
    ),
    `busy: 5 urls wait for 1 provider; 12.3 urls/s, 4.0 KB/s fetched
! lccbot does not answer

DAEMON   STATE  UP   MEMORY  DOING
lccd-qm  busy   2 h  50 MB   5 urls queued
lccbot   away                not running
`,
  );
});

it('a daemon that does not answer is not counted as ready, though lccd takes it to be', () => {
  const children = ['lccd-qm', 'lccd-bm'].map(name => ({ name, state: 'ready', restarts: 0 }));
  const looks: Look[] = [
    { name: 'lccd-qm', problem: 'no answer within 5 s' },
    { name: 'lccd', status: status('lccd', { children }) },
  ];
  const text = formatOverview(looks, 'busy', 'not known what waits', [], undefined, FIGURES);
  assert.match(text, /^lccd-qm +away +no answer within 5 s\nlccd +busy .* 1 of 2 children ready$/m);
});

it('rates are what one Queue Manager counted between two looks', () => {
  const moment = (atMs: number, pid: number, stored: number, bytes: number) => ({
    atMs,
    looks: [
      { name: 'lccd-qm', status: { ...status('lccd-qm', { stored, errors: 1, wire_bytes: bytes }), pid } },
    ],
  });
  assert.deepEqual(ratesOf(moment(1000, 1, 10, 0), moment(3000, 1, 30, 5000)), {
    urls_per_s: 10,
    bytes_per_s: 2500,
  });
  assert.equal(ratesOf(moment(1000, 1, 10, 0), moment(3000, 2, 1, 0)), undefined);
  assert.equal(ratesOf({ atMs: 0, looks: [] }, moment(3000, 2, 1, 0)), undefined);
});
