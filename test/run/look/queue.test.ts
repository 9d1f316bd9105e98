import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ProviderQueue, QueueShape, QueueSummary } from '../../../src/db/queue/shape.js';
import { formatShape, formatSummary, stateOf, type Told } from '../../../src/run/look/queue.js';

/** A Friday, 13:30 local time. */
const NOW_MS = new Date(2026, 10, 20, 13, 30).getTime();
const none = Array<number>(10).fill(0);
const provider = (more: Partial<ProviderQueue>): ProviderQueue => ({
  pid: 1,
  waiting: 10,
  ages: [10, ...none.slice(1)],
  exact: true,
  paused: 0,
  moving: 0,
  enabled: 1,
  timeofday: '',
  backoffs: 0,
  backoffuntil: 0,
  dueat: 0,
  fullsetwanted: null,
  errors: 0,
  held: 0,
  later: 0,
  later_slots: [],
  failed: 0,
  ...more,
});
const mask = (open: number[], hours: number) =>
  Array.from({ length: hours }, (_, hour) => (open.includes(hour) ? '1' : '0')).join('');
const hours = (...each: number[]) => each;
const at = (day: number, hour: number) => new Date(2026, 10, day, hour).getTime();

describe('the state of a provider', () => {
  const soonS = NOW_MS / 1000 + 60;
  for (const [what, more, fetching, expected] of [
    ['its turn will come', {}, 0, { state: 'waiting' }],
    ['urls are on their way', {}, 3, { state: 'fetching' }],
    ['nothing waits', { waiting: 0 }, 0, { state: 'idle' }],
    ['its site does not answer', { backoffuntil: soonS }, 0, { state: 'back-off', until_ms: soonS * 1000 }],
    ['that is over', { backoffuntil: soonS - 120 }, 0, { state: 'waiting' }],
    ['bandwidth', { dueat: NOW_MS + 5 }, 0, { state: 'bandwidth', until_ms: NOW_MS + 5 }],
    ['paused beats back-off', { paused: 1, backoffuntil: soonS }, 0, { state: 'paused' }],
    ['disabled beats all', { enabled: 0, paused: 1 }, 0, { state: 'disabled' }],
    ['closed until tonight', { timeofday: mask([22], 24) }, 0, { state: 'closed', until_ms: at(20, 22) }],
    ['closed until tomorrow', { timeofday: mask([3], 24) }, 0, { state: 'closed', until_ms: at(21, 3) }],
    ['open now', { timeofday: mask([13], 24) }, 0, { state: 'waiting' }],
    ['closed at all hours', { timeofday: mask([], 24) }, 0, { state: 'closed' }],
    [
      'hours of all urls',
      { later: 10, later_slots: hours(20, 15) },
      0,
      { state: 'later', until_ms: at(20, 15) },
    ],
    ['all urls failed', { failed: 10 }, 0, { state: 'retry' }],
    ['all but those for later failed', { failed: 4, later: 6 }, 0, { state: 'retry' }],
    ['some failed', { failed: 9 }, 0, { state: 'waiting' }],
    ['those that failed are being fetched', { failed: 10 }, 3, { state: 'fetching' }],
    ['hours of some urls', { later: 9, later_slots: hours(20) }, 0, { state: 'waiting' }],
  ] as const) {
    it(what, () => assert.deepEqual(stateOf(provider(more), { fetching }, NOW_MS, 24), expected));
  }

  it('tells when urls that failed are tried again, all of them or some', () => {
    const told = { retryAtMs: NOW_MS + 5000 };
    assert.deepEqual(stateOf(provider({ failed: 10 }), told, NOW_MS, 24), {
      state: 'retry',
      until_ms: NOW_MS + 5000,
    });
    const line = (failed: number) => {
      const providers = [provider({ failed })];
      const total = { waiting: 10, ages: [10, ...none.slice(1)], exact: true };
      const shape = { providers, left_off: { providers: 0, waiting: 0 }, total };
      return formatShape(shape, new Map([[1, told]]), NOW_MS, 24);
    };
    assert.match(line(10), / all urls failed, are tried again at 13:30:05\n$/);
    assert.match(line(2), / waiting; 2 urls to be tried again\n$/);
  });

  it('is what the Queue Manager says, where no table does', () => {
    const state = (more: Partial<ProviderQueue>, told: Told) => stateOf(provider(more), told, NOW_MS, 24);
    const wait = { state: 'lcc-bandwidth', until_ms: NOW_MS + 40_000 } as const;
    assert.deepEqual(state({}, { wait }), wait);
    assert.deepEqual(state({ dueat: NOW_MS + 5 }, { wait }), wait, 'what is written may be old');
    assert.equal(state({}, { wait, fetching: 1 }).state, 'fetching');
    assert.equal(state({ paused: 1 }, { wait }).state, 'paused');
    const shape = {
      providers: [provider({})],
      left_off: { providers: 0, waiting: 0 },
      total: { waiting: 10, ages: none, exact: true },
    };
    assert.match(
      formatShape(shape, new Map([[1, { wait }]]), NOW_MS, 24),
      / waits for the bandwidth of the LCC until 13:30:40\n$/,
    );
  });

  it('hours of the week count where the period is a week, else when they are on every day', () => {
    const friday = { timeofday: mask([4 * 24 + 13], 168) };
    assert.deepEqual(stateOf(provider(friday), {}, NOW_MS, 168), { state: 'waiting' });
    assert.deepEqual(stateOf(provider(friday), {}, NOW_MS, 24), { state: 'closed' });
    const monday = { timeofday: mask([0], 168) };
    assert.deepEqual(stateOf(provider(monday), {}, NOW_MS, 168), { state: 'closed', until_ms: at(23, 0) });
  });
});

it('the table has a line a provider, ages across, and says in words what goes on', () => {
  const shape: QueueShape = {
    total: { waiting: 1310, ages: [1010, 300, ...none.slice(2)], exact: false },
    providers: [
      provider({ pid: 12, waiting: 1000, ages: [700, 300, ...none.slice(2)], exact: false }),
      provider({ pid: 3, waiting: 300, backoffuntil: at(21, 8) / 1000, errors: 1, held: 2 }),
      provider({ pid: 4, fullsetwanted: 'operator' }),
      provider({ pid: 5, dueat: NOW_MS + 40_000 }),
      provider({ pid: 6, later: 10, later_slots: [22] }),
      provider({ pid: 7, waiting: 0, ages: none, fullsetwanted: 'order' }),
    ],
    left_off: { providers: 2, waiting: 7 },
  };
  assert.equal(
    formatShape(
      shape,
      new Map<number, Told>([
        [4, { fetching: 5 }],
        [3, { failure: '429 at www.example.org' }],
      ]),
      NOW_MS,
      24,
    ),
    `PROVIDER    T     5   10 20 40 80 160 320 640 1280 1280+ STATE
   TOTAL 1310 ~1010 ~300  0  0  0   0   0   0    0     0
      12 1000  ~700 ~300  0  0  0   0   0   0    0     0 waiting
       3  300    10    0  0  0  0   0   0   0    0     0 asks for patience (429 at www.example.org), left alone until 2026-11-21 08:00; 2 removals held back; 1 error not delivered
       4   10    10    0  0  0  0   0   0   0    0     0 fetching, 5 sent to machines; full set wanted: operator
       5   10    10    0  0  0  0   0   0   0    0     0 waits for its bandwidth until 13:30:40
       6   10    10    0  0  0  0   0   0   0    0     0 all urls wait for their own hours until 22:00
       7    0     0    0  0  0  0   0   0   0    0     0 idle; full set wanted: order
and 2 providers more with 7 urls (--limit shows more)
`,
  );
});

it('the line for the glance does not say that nothing waits while the Queue Manager does not answer', () => {
  const empty = { providers: 1, urls: 0 } as QueueSummary;
  assert.equal(formatSummary(empty, NOW_MS), 'nothing waits');
  assert.equal(formatSummary(empty, NOW_MS, false), 'not known what waits: lccd-qm does not answer');
});
