/** Answers of several homes put together, and which home an operation of the outbox goes to. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Located, MappedHome } from '../../src/db/engine/map.js';
import type { WaitingOperation } from '../../src/db/rs/outbox.js';
import { systemClock } from '../../src/lib/clock.js';
import { LccError } from '../../src/lib/errors.js';
import { silentLog } from '../../src/lib/log.js';
import { HomePeers } from '../../src/rs/homes/peers.js';
import { HomeRoutes } from '../../src/rs/homes/routes.js';
import { UnsPlaces } from '../../src/rs/homes/uns-places.js';
import { until } from '../support/until.js';
import { pageTogether, together } from '../../src/rs/homes/together.js';
import type { RsProviderRow } from '../../src/wire/rs-looks.js';

const fail = (error: unknown) => assert.fail(String(error));

/** A map in memory. */
class TestMap {
  readonly rows = new Map<number, Located>();
  readonly open = new Map<number, boolean>([
    [0, true],
    [1, true],
  ]);
  isAway = false;

  homes() {
    const owned = [...this.open.keys()].map(shard => ({ shard, epoch: 1, owner: 'h1' }));
    return Promise.resolve([...owned, { shard: 2, epoch: 1, owner: '' }]);
  }
  find(pids: readonly number[]): Promise<Map<number, Located>> {
    if (this.isAway) return Promise.reject(new LccError('try.later', 'the engine is away'));
    return Promise.resolve(new Map([...this.rows].filter(([pid]) => pids.includes(pid))));
  }
  list(): Promise<MappedHome[]> {
    return Promise.resolve(
      [...this.open].map(([shard, isOpen]) => ({
        shard,
        isOpen,
        epoch: 1,
        owner: 'h1',
        moving: 0,
        providers: [...this.rows.values()].filter(row => row.shard === shard).length,
      })),
    );
  }
  take(pids: readonly number[], shard: number) {
    for (const pid of pids) if (!this.rows.has(pid)) this.rows.set(pid, { shard, state: 'served' });
    return Promise.resolve({ taken: [...pids], elsewhere: new Map<number, number>() });
  }
  free(pids: readonly number[]): Promise<void> {
    for (const pid of pids) this.rows.delete(pid);
    return Promise.resolve();
  }
}

function scene() {
  const map = new TestMap();
  const peers = new HomePeers({
    map,
    own: 0,
    clock: systemClock,
    log: silentLog,
    fail,
    doorOf: (owner, shard) => ({ kind: 'tls', host: owner, port: 9000 + shard }),
    trust: () => ({}),
    connect: () => ({ connected: false, close: () => undefined }),
    closed: () => undefined,
  });
  return { map, peers, routes: new HomeRoutes(peers) };
}

const register = (pid: number): WaitingOperation => ({
  id: `id ${pid}`,
  registration: pid,
  isQuiet: false,
  change: { op: 'register', pid, password: '', roots: [] },
});
const leave = (pid: number): WaitingOperation => ({ ...register(pid), change: { op: 'leave', pid } });

describe('operations of several homes', () => {
  it('go to the home of their provider, and wait while it is moved; of none that the map has, to the one here', async () => {
    const { map, peers, routes } = scene();
    map.rows.set(7, { shard: 1, state: 'served' }).set(8, { shard: 1, state: 'moving' });
    const all = [leave(6), leave(7), leave(8)];
    assert.deepEqual([...(await routes.ours(0, all)).pids], [6]);
    const there = await routes.ours(1, all);
    assert.deepEqual([...there.pids], [7]);
    assert.match(String(there.later), /provider 8 is being moved/);
    peers.close();
  });

  it('of new providers go to the open home with the fewest, each to one, in whatever order the homes ask', async () => {
    const { map, peers, routes } = scene();
    map.rows.set(1, { shard: 0, state: 'served' });
    const all = [register(10), register(11), register(12)];
    const [here, there] = await Promise.all([routes.ours(0, all), routes.ours(1, all)]);
    assert.equal(here.pids.size + there.pids.size, 3);
    assert.deepEqual(map.rows.get(10), { shard: 1, state: 'served' });
    map.open.set(1, false);
    assert.deepEqual([...(await routes.ours(0, [register(13)])).pids], [13]);
    map.open.set(0, false);
    // What follows a registration waits with it.
    const none = await routes.ours(0, [register(14), leave(13), leave(14)]);
    assert.deepEqual([...none.pids], [13]);
    assert.match(String(none.later), /no home takes new providers/);
    peers.close();
  });

  it('of one whose number another home took meanwhile go there, which says that it is taken', async () => {
    const { map, peers, routes } = scene();
    map.rows.set(10, { shard: 1, state: 'served' });
    assert.deepEqual([...(await routes.ours(0, [register(10)])).pids], []);
    assert.deepEqual([...(await routes.ours(1, [register(10)])).pids], [10]);
    peers.close();
  });
});

describe('questions about a provider', () => {
  it('go where it was last seen while the map is away, and nowhere where it never was', async () => {
    const { map, peers, routes } = scene();
    map.rows.set(7, { shard: 1, state: 'moving' });
    assert.deepEqual([await routes.homeOf(7), await routes.homeOf(8)], [1, 0]);
    map.isAway = true;
    assert.deepEqual([await routes.homeOf(7), await routes.homeOf(9)], [1, undefined]);
    await assert.rejects(routes.ours(0, [leave(7)]), { code: 'try.later' });
    peers.close();
  });
});

describe('the UNS of a provider', () => {
  const here = { look: { kind: 'unix', path: 'look' }, push: { kind: 'unix', path: 'push' } } as const;

  it('is that of its home, at the door of the owner, and here for one that the map does not have', async () => {
    const { map, peers, routes } = scene();
    map.rows.set(7, { shard: 1, state: 'served' }).set(8, { shard: 0, state: 'served' });
    map.rows.set(9, { shard: 2, state: 'served' });
    const places = new UnsPlaces(here, peers, routes);
    await until('owners are known', () => peers.others.length > 0);
    const door = { kind: 'tls', host: 'h1', port: 9001 };
    const at = { door, trust: {} };
    assert.deepEqual(await places.look(7), { ...at, hello: 'DOOR LOOK\r\n' });
    for (const pid of [6, 8]) assert.deepEqual(await places.look(pid), { door: here.look });
    assert.equal(await places.look(9), undefined, 'its home has no owner');
    const pushed = await places.push([6, 7, 8, 9]);
    assert.deepEqual(
      [...pushed],
      [
        [6, { door: here.push }],
        [7, { ...at, hello: 'DOOR PUSH\r\n' }],
        [8, { door: here.push }],
      ],
    );
    peers.close();
  });

  it('takes no pushes while it is moved, nor while the map is away; it is looked at where it was', async () => {
    const { map, peers, routes } = scene();
    map.rows.set(7, { shard: 1, state: 'moving' });
    const places = new UnsPlaces(here, peers, routes);
    await until('owners are known', () => peers.others.length > 0);
    assert.deepEqual([...(await places.push([7]))], []);
    const looked = await places.look(7);
    map.isAway = true;
    assert.deepEqual(await places.look(7), looked);
    await assert.rejects(places.push([7]), { code: 'try.later' });
    peers.close();
  });

  it('is here where there is one home', async () => {
    const places = new UnsPlaces(here);
    assert.deepEqual(await places.look(7), { door: here.look });
    assert.deepEqual([...(await places.push([7]))], [[7, { door: here.push }]]);
  });
});

describe('answers of several homes', () => {
  it('are one where all that are needed have answered', () => {
    const [one, two] = [
      { pids: [1], crawlers: [] },
      { pids: [2], crawlers: [3], announcers: [4] },
    ];
    assert.deepEqual(together('find', [one, two]), { pids: [1, 2], crawlers: [3], announcers: [4] });
    assert.equal(together('find', [one, undefined]), undefined);
    assert.deepEqual(together('status', [{ providers: 2 }, undefined, { providers: 3 }]), { providers: 5 });
    assert.equal(together('status', [undefined, { providers: 3 }]), undefined);
  });

  it('of lists have each provider once, page after page', () => {
    const homes = [
      [1, 4, 5, 9],
      [2, 3, 6, 7, 8],
    ];
    const pageOf = (pids: number[], after: number) => {
      const above = pids.filter(pid => pid > after);
      const providers = above.slice(0, 2).map(pid => ({ pid }) as RsProviderRow);
      return { providers, next: above.length > 2 ? (above[1] ?? null) : null };
    };
    const seen: number[] = [];
    for (let after: number | null = 0; after !== null;) {
      const from: number = after;
      const page = pageTogether(homes.map(pids => pageOf(pids, from)));
      seen.push(...page.providers.map(({ pid }) => pid));
      after = page.next;
    }
    assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
});
