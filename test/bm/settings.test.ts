/**
 * Every setting of the Bot Manager and of the relay, as lccd-bm takes them, on a clock that is told the time: one that does
 * not reach what it is for, or reaches another's, is noticed here.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { managerLimits, storeLimits } from '../../src/bm/options.js';
import type { RelayOptions } from '../../src/bm/relay.js';
import { configOf, settingsOf, type Overrides } from '../support/settings.js';
import { Far, fetch, fileOf, numberOf, ok, RelayWorld, World } from './support.js';

/** Bounds that no setting has. */
type Bounds = Partial<Pick<RelayOptions, 'maxLosses' | 'overbookPercent'>>;

interface Trial {
  with: Overrides | Bounds;
  sees: unknown;
  otherwise: unknown;
  look: (settings: Overrides | Bounds) => Promise<unknown>;
}

const results = (lines: string[]) => lines.filter(line => line.startsWith('<fetched'));

const told = (given: Overrides | Bounds) => {
  const isSetting = Object.keys(given).some(key => key.includes('.'));
  const { settings } = configOf(isSetting ? (given as Overrides) : {});
  return { settings, bounds: isSetting ? {} : (given as Bounds) };
};

/** What is seen of a Bot Manager with these settings. */
const manager = (look: (world: World) => Promise<unknown>) => async (given: Overrides | Bounds) => {
  const { settings, bounds } = told(given);
  const world = new World({ ...managerLimits(settings), ...bounds }, storeLimits(settings));
  const seen = await look(world);
  await world.stop();
  return seen;
};
const relay = (look: (world: RelayWorld) => Promise<unknown>) => async (given: Overrides | Bounds) => {
  const { settings, bounds } = told(given);
  const world = new RelayWorld({ ...managerLimits(settings), ...bounds });
  const seen = await look(world);
  await world.stop();
  return seen;
};

/** A machine below a relay. @returns it, without what it has been told so far */
async function branch(world: RelayWorld, slots: number, machine = 'm1'): Promise<Far> {
  const far = new Far(stream => world.relay.branch(stream, machine));
  await far.say(`<lococa:bm machineid="${machine}" slots="${slots}" store="s"/>`);
  await far.hear();
  return far;
}

/** How many of ten urls, each in a lane of its own or all in one, somebody below is given. */
async function given(source: Far, below: Far, lane?: string): Promise<number> {
  await source.say(Array.from({ length: 10 }, (_, i) => fetch(i, lane)).join(''));
  return (await below.hear()).filter(line => line.startsWith('<fetch ')).length;
}

/** Whether more is read from the source while two urls wait. */
async function readOn(source: Far, waiting: () => unknown): Promise<unknown> {
  await source.say(fetch(1) + fetch(2));
  await source.say(fetch(3));
  return waiting();
}

/** Whether a url is given up when the first that was fetching it has gone. */
async function givenUp(source: Far, below: Far): Promise<boolean> {
  await source.say(fetch(1));
  await below.hear();
  await source.hear();
  await below.leave();
  return results(await source.hear()).some(line => line.includes('code="605"'));
}

const TRIALS: Record<string, Trial> = {
  'bm.max_waiting': {
    with: { 'bm.max_waiting': '2' },
    sees: 2,
    otherwise: 3,
    look: manager(world => readOn(world.source(), () => world.manager.status()['waiting'])),
  },
  'bm.max_waiting of a relay': {
    with: { 'bm.max_waiting': '2' },
    sees: 2,
    otherwise: 3,
    look: relay(async world => {
      const source = world.source();
      await branch(world, 1);
      // So many are given to it, and wait no more.
      await source.say(fetch(11) + fetch(12));
      return readOn(source, () => world.relay.status()['waiting']);
    }),
  },
  'bm.lane_window': {
    with: { 'bm.lane_window': '3' },
    sees: 3,
    otherwise: 10,
    look: manager(async world => given(world.source(), await world.robot(1), 'a')),
  },
  'bm.lane_window of a relay': {
    with: { 'bm.lane_window': '3' },
    sees: 3,
    otherwise: 10,
    look: relay(async world => given(world.source(), await branch(world, 1), 'a')),
  },
  'robots that may be lost': {
    with: { maxLosses: 1 },
    sees: true,
    otherwise: false,
    look: manager(async world => givenUp(world.source(), await world.robot(1))),
  },
  'Bot Managers that may be lost': {
    with: { maxLosses: 1 },
    sees: true,
    otherwise: false,
    look: relay(async world => givenUp(world.source(), await branch(world, 1))),
  },
  'overbooking of a relay': {
    with: { overbookPercent: 100 },
    sees: 8,
    otherwise: 5,
    look: relay(async world => given(world.source(), await branch(world, 4))),
  },
  'bm.attempt_timeout_ms': {
    with: { 'bm.attempt_timeout_ms': '150s' },
    sees: 0,
    otherwise: 1,
    look: manager(async world => {
      const source = world.source();
      await world.robot(1);
      await source.say(fetch(1));
      await world.pass(152_000);
      return world.manager.status()['robots'];
    }),
  },
  'bm.robot_wait_ms': {
    with: { 'bm.robot_wait_ms': '1s' },
    sees: ['<fetched id="1" status="recalled"/>'],
    otherwise: [],
    look: manager(async world => {
      const source = world.source();
      await source.say(fetch(1));
      await world.pass(1000);
      return results(await source.hear());
    }),
  },
  'bm.grace_ms': {
    with: { 'bm.grace_ms': '10min' },
    sees: 1,
    otherwise: 0,
    look: manager(async world => {
      const source = world.source();
      const robot = await world.robot(1);
      await source.say(fetch(1));
      const [asked] = await robot.hear();
      writeFileSync(fileOf(asked), 'x');
      await robot.say(ok(numberOf(asked)));
      const fileId = /fileid="([^"]+)"/.exec((await source.hear()).join())?.[1];
      await source.say(`<delete id="1" machineid="m1" fileid="${fileId}"/>`);
      // Noted together with what comes soon after; the source is told then.
      await world.pass(1000);
      assert.match((await source.hear()).join(), /<deleted id="1" status="ok"/);
      await world.pass(6 * 60_000);
      await world.pass(1000);
      return world.manager.status()['names_in_grace'];
    }),
  },
  'bm.name_block': {
    with: { 'bm.name_block': '7' },
    sees: 6,
    otherwise: 1023,
    look: manager(async world => {
      const source = world.source();
      const robot = await world.robot(1);
      await source.say(fetch(1));
      assert.equal(numberOf((await robot.hear())[0]), 1);
      return world.manager.status()['names_free'];
    }),
  },
  'bm.min_free_disk_percent': {
    with: { 'bm.min_free_disk_percent': '60' },
    sees: true,
    otherwise: false,
    look: manager(world => Promise.resolve(world.manager.status()['store_full'])),
  },
  'bm.min_free_disk_bytes': {
    with: { 'bm.min_free_disk_bytes': '1KB' },
    sees: 1024,
    otherwise: 15_000_000,
    look: manager(world =>
      Promise.resolve((world.manager.status()['disk'] as { needed_bytes: number }).needed_bytes),
    ),
  },
  'wire.max_hello_bytes': {
    with: { 'wire.max_hello_bytes': '8KB' },
    sees: /^<lococa:error .*wire\.max_hello_bytes/,
    otherwise: /^$/,
    look: manager(async world => {
      const noisy = new Far(stream => world.manager.robot(stream, 'robot'));
      await noisy.say('<!-- x -->\n'.repeat(1000));
      return (await noisy.hear()).join();
    }),
  },
  'wire.ping_interval_ms': {
    with: { 'wire.ping_interval_ms': '1s' },
    sees: '<ping intervalms="1000"/>',
    otherwise: '<ping intervalms="15000"/>',
    look: relay(async world => {
      const far = new Far(stream => world.relay.branch(stream, 'm1'));
      await far.say('<lococa:bm machineid="m1" slots="1" store="s"/>');
      return (await far.hear()).join();
    }),
  },
};

for (const [name, { with: setting, sees, otherwise, look }] of Object.entries(TRIALS)) {
  test(`${name} has its effect`, async () => {
    for (const [settings, expected] of [
      [setting, sees],
      [{}, otherwise],
    ] as const) {
      const seen = await look(settings);
      if (expected instanceof RegExp) assert.match(String(seen), expected);
      else assert.deepEqual(seen, expected, JSON.stringify(settings));
    }
  });
}

test('a robot, and a Bot Manager below, that has not said for a minute who it is, is refused', async () => {
  const { settings } = configOf({});
  const manages = new World(managerLimits(settings), storeLimits(settings));
  const relays = new RelayWorld(managerLimits(settings));
  for (const [world, mute] of [
    [manages, new Far(stream => manages.manager.robot(stream, 'robot'))],
    [relays, new Far(stream => relays.relay.branch(stream, 'bot manager'))],
  ] as const) {
    await world.pass(59_999);
    assert.deepEqual(await mute.hear(), []);
    await world.pass(1);
    assert.match((await mute.hear()).join(), /^<lococa:error .*no greeting for 1 min</);
    await world.stop();
  }
});

/** Settings with an effect that other tests see, with the real daemons. */
const ELSEWHERE: Record<string, string> = {
  'bm.slots': 'commands/lccd',
  'bm.bots': 'commands/lccd',
  'bm.machine_id': 'commands/lccfsck-machines',
  'bm.metrics_listen': 'web/metrics',
  'bm.max_robots': 'commands/connections',
};

test('no setting of the Bot Manager is without a test', () => {
  const tried = Object.values(TRIALS).flatMap(trial => Object.keys(trial.with));
  const { all, named } = settingsOf('bm', new Set([...tried, ...Object.keys(ELSEWHERE)]));
  assert.deepEqual(named, all);
});
