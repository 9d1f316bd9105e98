import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { QueueSummary } from '../../../src/db/queue/shape.js';
import type { Look } from '../../../src/daemon/ask.js';
import { FIGURES } from '../../../src/commands/figures.js';
import { isSpiderAlone, NewReasons, reasonsOf as reasonsWith } from '../../../src/run/look/reasons.js';

const reasonsOf = (looks: readonly Look[], queue: QueueSummary | undefined, nowMs: number) =>
  reasonsWith(looks, queue, nowMs, FIGURES);
const NOW_MS = new Date(2026, 10, 20, 13, 30).getTime();
const says = (name: string, more: Record<string, unknown>): Look => ({
  name,
  status: { daemon: name, pid: 1, up_s: 1, rss_bytes: 1, idle: true, ...more },
});
const WELL: Record<string, Record<string, unknown>> = {
  'lccd-uns': {
    qm_connected: true,
    sets_spooled: 0,
    sets_bad: 0,
    spool_bytes: 0,
    max_spool_bytes: 1000,
  },
  'lccd-qm': {
    rows_queued: 5,
    unses_shut_out: false,
    bot_managers: [{ peer: 'unix', machines: ['m1'], slots: 4 }],
  },
  'lccd-bm': { robots: 1, source: true, store_full: false },
  lccbot: { managers: 1 },
};
/** A whole LCC, in which one daemon says something else. */
const lcc = (name?: string, more: Record<string, unknown> = {}) =>
  Object.entries(WELL).map(([each, status]) => says(each, each === name ? { ...status, ...more } : status));
const QUEUE: QueueSummary = {
  providers: 3,
  urls: 5,
  waiting: 2,
  paused: 0,
  disabled: 0,
  backed_off: 0,
  closed: 0,
  never_open: 0,
  delayed: 0,
  delayed_until_ms: null,
  later_only: false,
  later_urls: 0,
  later_until_ms: null,
  failed_urls: 0,
  failed_providers: 0,
  oldest: 1,
  full_sets_wanted: 0,
  errors: 0,
  held_providers: 0,
  held_urls: 0,
  silent: 0,
  silent_first: [],
};

describe('why nothing moves', () => {
  it('says nothing within a minute of the start of a machine that has not come yet', () => {
    const machines_away = [{ machine: 'm2', since_ms: null, files: 1, pages: 0 }];
    assert.deepEqual(reasonsOf(lcc('lccd-qm', { up_s: 59, machines_away }), QUEUE, NOW_MS), []);
  });

  it('says of a certificate that it has expired, or will within a week, once for all that show it', () => {
    const until = (ms: number) =>
      ['lccd-uns', 'lccd-cu'].map(name => says(name, { ...WELL[name], tls_until_ms: NOW_MS + ms }));
    const rest = lcc().filter(({ name }) => name !== 'lccd-uns');
    const reasons = (ms: number) => reasonsOf([...rest, ...until(ms)], QUEUE, NOW_MS);
    const what = 'replace it (net.tls_cert), then kill -HUP lccd, or those, which read it again';
    assert.deepEqual(reasons(-60_000), [
      `the TLS certificate of lccd-uns, lccd-cu has expired at 13:29:00: ${what}`,
    ]);
    assert.deepEqual(reasons(7 * 86_400_000), [
      `the TLS certificate of lccd-uns, lccd-cu ends at 2026-11-27 13:30: ${what}`,
    ]);
    assert.deepEqual(reasons(7 * 86_400_000 + 1), []);
  });

  it('says nothing of addresses that were not permitted more than an hour ago', () => {
    const before = { unpermitted: 12, unpermitted_at_ms: NOW_MS - 3_600_000 };
    assert.deepEqual(reasonsOf(lcc('lccd-qm', before), QUEUE, NOW_MS), []);
  });

  it('says that a database has no room, or that a daemon waits for some', () => {
    const [qm, ...others] = reasonsOf(lcc('lccd-qm', { no_room: 'lcc.db: full' }), QUEUE, NOW_MS);
    assert.match(qm ?? '', /^lccd-qm cannot write its database, .*: lcc\.db: full; free some$/);
    assert.deepEqual(others, []);
    assert.match(
      reasonsOf(lcc('lccd-bm', { names_full: true, machineid: 'm1' }), QUEUE, NOW_MS).join(),
      /^no room to note deletions in names\.db on machine m1: /,
    );
    const children = [
      { name: 'lccd-qm', held_up: 'no room on the disk of /x' },
      { name: 'lccd-bm', held_up: null },
    ];
    assert.deepEqual(reasonsOf([...lcc(), says('lccd', { children })], QUEUE, NOW_MS), [
      'lccd-qm is not started again for now: no room on the disk of /x',
    ]);
  });

  it('names urls that failed and are tried again, and when', () => {
    const says = (failed_urls: number, failed_providers: number, retry_at_ms: number | null) =>
      reasonsOf(lcc('lccd-qm', { retry_at_ms }), { ...QUEUE, failed_urls, failed_providers }, NOW_MS).join();
    assert.equal(
      says(5, 1, NOW_MS + 5000),
      '5 urls of 1 provider failed and are tried again, the next at 13:30:05; lccctl flush tries at once',
    );
    assert.equal(
      says(1, 1, NOW_MS + 5000),
      '1 url of 1 provider failed and is tried again at 13:30:05; lccctl flush tries at once',
    );
    assert.match(says(3, 2, null), /^3 urls of 2 providers failed and are tried again; lccctl/);
    assert.match(says(3, 2, NOW_MS - 1), /are tried again; lccctl/);
    assert.match(says(10_000, 2, null), /^10000 urls or more of 2 providers failed/);
    assert.equal(says(0, 0, NOW_MS + 5000), '');
  });

  it('is silent when all is well', () => assert.deepEqual(reasonsOf(lcc(), QUEUE, NOW_MS), []));

  it('does not miss the Queue Manager where only robots and their Bot Managers run', () => {
    const outpost = lcc().filter(({ name }) => name === 'lccd-bm' || name === 'lccbot');
    assert.deepEqual(reasonsOf(outpost, undefined, NOW_MS), []);
    const spider = ['lccspider-2', 'lccstored', 'lccurld'].map(name => says(name, {}));
    for (const looks of [spider, [...outpost, ...spider]])
      assert.deepEqual(reasonsOf(looks, undefined, NOW_MS), []);
    assert.match(reasonsOf(spider, QUEUE, NOW_MS).join(), /does not run here/);
    assert.deepEqual(
      [isSpiderAlone(spider), isSpiderAlone([...outpost, ...spider]), isSpiderAlone([])],
      [true, false, false],
    );
    const uns = lcc().filter(({ name }) => name !== 'lccd-qm');
    assert.match(reasonsOf(uns, undefined, NOW_MS).join(), /^lccd-qm, .* does not run here/);
  });

  const cases: [string, Look[], Partial<QueueSummary>, RegExp][] = [
    [
      'a provider that has had its bandwidth',
      lcc(),
      { delayed: 1, delayed_until_ms: NOW_MS + 60_000 },
      /^1 of 2 providers with urls waiting is delayed by its bandwidth until 13:31:00 \(lccpidb set --bandwidth\)$/,
    ],
    [
      'an LCC that has had its bandwidth',
      lcc('lccd-qm', { bandwidth_due_at_ms: NOW_MS + 60_000, providers_waiting: 2 }),
      {},
      /^2 providers wait for the bandwidth of the LCC \(qm\.bandwidth_bytes_per_s\), which is used up until 13:31:00; lccctl flush forgets that$/,
    ],
    [
      'a daemon that is away',
      [...lcc(), { name: 'lccbot-2', problem: 'not running' }],
      {},
      /^lccbot-2 does not answer: not running$/,
    ],
    [
      'an LCC without a Queue Manager',
      lcc().filter(({ name }) => name !== 'lccd-qm'),
      {},
      /^lccd-qm, the Queue Manager, does not run here/,
    ],
    [
      'no Bot Manager',
      lcc('lccd-qm', { bot_managers: [] }),
      {},
      /^no Bot Manager is connected to lccd-qm: 5 urls cannot be fetched$/,
    ],
    [
      'a Bot Manager at rest, with the reason',
      lcc('lccd-qm', {
        bot_managers: [
          { peer: 'unix', machines: ['m1'], slots: 4, rests_ms: 9100, reason: 'store full: f1' },
        ],
      }),
      {},
      /^the Bot Manager of m1 is given nothing for another 10 s: store full: f1$/,
    ],
    [
      'a Bot Manager that does not answer',
      lcc('lccd-qm', { bot_managers: [{ peer: 'unix', machines: ['m1'], slots: 4, silent_ms: 16_000 }] }),
      {},
      /^the Bot Manager of m1 has not answered lccd-qm for 16 s: it hangs, or the link is cut; /,
    ],
    [
      'a Bot Manager below a relay that does not answer',
      lcc('lccd-bm', {
        relay: true,
        bot_managers: [{ peer: '192.0.2.7:1', machines: [], silent_ms: 16_000 }],
      }),
      {},
      /^the Bot Manager of 192\.0\.2\.7:1 has not answered lccd-bm for 16 s: /,
    ],
    [
      'a robot that does not answer',
      lcc('lccd-bm', { robots_silent: [{ peer: 'robot 192.0.2.7:40001', silent_ms: 31_900 }] }),
      {},
      /^the robot 192\.0\.2\.7:40001 has not answered lccd-bm for 31 s: .* what it does goes to others$/,
    ],
    [
      'a robot that was lost, and when',
      lcc('lccd-bm', {
        robots_lost: [{ reason: 'robot 192.0.2.7:40001: silent', at_ms: NOW_MS - 90 * 60_000 }],
      }),
      {},
      /^lccd-bm lost a robot at 12:00:00, which has not come back: robot 192\.0\.2\.7:40001: silent$/,
    ],
    [
      'a machine that was refused, and when',
      lcc('lccd-qm', {
        machines_refused: [{ machine: 'm2', reason: 'another store', at_ms: NOW_MS - 90 * 60_000 }],
      }),
      {},
      /^machine m2 was refused at 12:00:00, and has not come back since: another store$/,
    ],
    [
      'a machine that is away, since when, what waits for it, and how it is forgotten',
      lcc('lccd-qm', {
        machines_away: [{ machine: 'm2', since_ms: NOW_MS - 90 * 60_000, files: 300, pages: 2 }],
      }),
      {},
      /^machine m2 is away since 12:00:00: 300 files and 2 pages in spool\/fsm to be deleted wait for it, and its content cannot be read; if it never comes back: lccfsck --repair --store-lost --machineid=m2 --store=DIR, an empty folder$/,
    ],
    [
      'a machine that has not come since the start',
      lcc('lccd-qm', { up_s: 60, machines_away: [{ machine: 'm2', since_ms: null, files: 1, pages: 0 }] }),
      {},
      /^machine m2 is away and has not come since lccd-qm started: 1 file to be deleted/,
    ],
    [
      'a machine that is away while no deletion waits for it',
      lcc('lccd-qm', { machines_away: [{ machine: 'm2', since_ms: NOW_MS, files: 0, pages: 0 }] }),
      {},
      /^machine m2 is away since 13:30:00: its content cannot be read; if it never comes back: lccfsck /,
    ],
    [
      'a queue that is full',
      lcc('lccd-qm', { unses_shut_out: true }),
      {},
      /^the queue is full \(qm\.max_queue_urls\)/,
    ],
    ['no robot', lcc('lccd-bm', { robots: 0 }), {}, /^no robot is connected to lccd-bm/],
    [
      'a relay without Bot Managers',
      lcc('lccd-bm', { relay: true, bot_managers: [] }),
      {},
      /^no Bot Manager is connected to lccd-bm: nothing can be fetched$/,
    ],
    [
      'a store without room',
      lcc('lccd-bm', {
        store_full: true,
        no_room: '38 GB free of 252 GB, 40 GB needed (bm.min_free_disk_bytes)',
        machineid: 'm1',
      }),
      {},
      /^store full on machine m1: 38 GB free of 252 GB, 40 GB needed \(bm\.min_free_disk_bytes\); nothing is fetched until there is room: free some/,
    ],
    [
      'a Bot Manager without its source',
      lcc('lccd-bm', { source: false }),
      {},
      /^lccd-bm has lost the Queue Manager/,
    ],
    ['a robot without a Bot Manager', lcc('lccbot', { managers: 0 }), {}, /^lccbot has no Bot Manager/],
    [
      'addresses that are not permitted',
      lcc('lccd-qm', { unpermitted: 12, unpermitted_at_ms: NOW_MS - 600_000 }),
      {},
      /^robots have refused 12 fetches since the start of lccd-qm, the last at 13:20:00: address not permitted \(610\); for a private network start lccd with --allow-address, or set bot.allow_addresses on each machine with robots, then lccctl want-full, and give the seeds of crawls again \(lcclinks\)$/,
    ],
    [
      'a UNS without a Queue Manager',
      lcc('lccd-uns', { qm_connected: false, sets_spooled: 2 }),
      {},
      /^lccd-uns has no Queue Manager: 2 sets wait in the spool$/,
    ],
    [
      'a spool nearly full',
      lcc('lccd-uns', { spool_bytes: 950 }),
      {},
      /950 bytes of 1000 bytes \(uns\.max_spool_bytes\)$/,
    ],
    [
      'a spool without room',
      lcc('lccd-uns', { spool_bytes: 1000, no_room: 'the disk is full' }),
      {},
      /^lccd-uns takes no sets, providers are told to come back later: the disk is full$/,
    ],
    ['sets set aside', lcc('lccd-uns', { sets_bad: 1 }), {}, /^1 set is set aside in the spool of lccd-uns/],
    [
      'foreign files in a spool',
      lcc('lccd-uns', { foreign_files: 4 }),
      {},
      /^4 foreign files are set aside in the spool of lccd-uns, below bad\/: .* remove them$/,
    ],
    [
      'a foreign file among deletions',
      lcc('lccd-qm', { foreign_files: 1 }),
      {},
      /^1 foreign file is set aside in spool\/fsm, below bad\/: .* remove it$/,
    ],
    [
      'a site that refuses its login',
      lcc('lccd-qm', { logins_refused: [3] }),
      {},
      /^the login for the site of provider 3 is refused \(401\), .*: lccpidb set --pid=3 --loginfile=FILE, then lccctl want-full --pid=3$/,
    ],
    [
      'sites that refuse their logins',
      lcc('lccd-qm', { logins_refused: [3, 4, 7, 8, 9] }),
      {},
      /^the login for the site of providers 3, 4, 7 and 2 more is refused/,
    ],
    [
      'a damaged page of deletions',
      lcc('lccd-qm', { freed_pages_bad: 1 }),
      {},
      /^1 damaged page of deletions is set aside in spool\/fsm\/bad: lccfsck --repair/,
    ],
    ['some paused', lcc(), { paused: 1 }, /^1 of 2 providers with urls waiting is paused; lccctl resume$/],
    ['all paused', lcc(), { paused: 2 }, /^every provider with urls waiting is paused; lccctl resume$/],
    ['all disabled', lcc(), { disabled: 2 }, /^every provider with urls waiting is disabled; lccpidb set/],
    ['dead sites', lcc(), { backed_off: 2 }, /^every site with urls waiting is left alone.*lccctl flush/],
    [
      'providers that are closed',
      lcc(),
      { closed: 2 },
      /^every provider with urls waiting is closed at this hour/,
    ],
    [
      'a provider that never opens',
      lcc(),
      { closed: 1, never_open: 1 },
      /^1 of 2 providers with urls waiting is closed at all hours; lccpidb set --timeofday=always$/,
    ],
    [
      'hours of urls',
      lcc(),
      { later_urls: 5, later_until_ms: NOW_MS + 40_000 },
      /^5 urls wait for hours of their own, until 13:30:40$/,
    ],
    [
      'full sets that are wanted, though nothing waits',
      lcc(),
      { urls: 0, waiting: 0, full_sets_wanted: 5 },
      /^a full set is wanted of 5 providers: lccstat --queue says why$/,
    ],
    [
      'the fuse',
      lcc(),
      { held_providers: 1, held_urls: 70 },
      /^70 removals of 1 provider are held back by the mass-delete fuse; lccctl release or discard$/,
    ],
  ];
  for (const [what, looks, more, expected] of cases) {
    it(`names ${what}`, () => {
      const reasons = reasonsOf(looks, { ...QUEUE, ...more }, NOW_MS);
      assert.equal(reasons.length, 1, reasons.join('\n'));
      assert.match(reasons[0] ?? '', expected);
    });
  }

  it('says what the daemons know where the database cannot be read', () =>
    assert.match(
      reasonsOf(lcc('lccd-qm', { bot_managers: [] }), undefined, NOW_MS).join(),
      /5 urls cannot be fetched/,
    ));
});

it('a reason in which only figures have changed is no new one', () => {
  const reasons = new NewReasons();
  const started = (age: string) => `lccd-bm was started again ${age} ago: it was killed by SIGKILL`;
  assert.deepEqual(reasons.of([started('9 s'), 'urls wait']), [started('9 s'), 'urls wait']);
  assert.deepEqual(reasons.of([started('19 s'), 'urls wait']), []);
  assert.deepEqual(reasons.of([started('19 s'), '2 sets are spooled']), ['2 sets are spooled']);
});
