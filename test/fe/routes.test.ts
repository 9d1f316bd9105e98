import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { Located, OwnedHome } from '../../src/db/engine/map.js';
import { MapRoutes } from '../../src/fe/routes.js';
import { LccError } from '../../src/lib/errors.js';
import { silentLog, type LogFields } from '../../src/lib/log.js';
import { ManualClock } from '../support/manual-clock.js';

/** The engine as a test has it. */
class Map3 {
  homes_: OwnedHome[] = [
    { shard: 0, epoch: 1, owner: 'h1' },
    { shard: 1, epoch: 4, owner: 'h2' },
    { shard: 5, epoch: 1, owner: '' },
  ];
  readonly providers = new Map<number, Located>([
    [7, { shard: 0, state: 'served' }],
    [8, { shard: 1, state: 'moving' }],
    [9, { shard: 5, state: 'served' }],
  ]);
  isAway = false;
  refusal: LccError | undefined;
  /** Providers of each question. */
  readonly asked: (readonly number[])[] = [];

  homes(): Promise<OwnedHome[]> {
    if (this.refusal !== undefined) return Promise.reject(this.refusal);
    return this.isAway ? new Promise(() => undefined) : Promise.resolve(structuredClone(this.homes_));
  }

  find(pids: readonly number[]): Promise<Map<number, Located>> {
    this.asked.push(pids);
    if (this.isAway) return new Promise(() => undefined);
    return Promise.resolve(new Map([...this.providers].filter(([pid]) => pids.includes(pid))));
  }
}

const clock = new ManualClock();
const all: MapRoutes[] = [];
afterEach(() => {
  for (const routes of all.splice(0)) routes.close();
});

const turn = () => new Promise(resolve => void setImmediate(resolve));

async function routesOf(map: Map3, log = silentLog): Promise<MapRoutes> {
  const doorOf = (owner: string, shard: number) =>
    ({ kind: 'tls', host: owner, port: 9023 + 10 * shard }) as const;
  const routes = new MapRoutes({ map, doorOf, clock, log });
  all.push(routes);
  await turn();
  return routes;
}

const at = (host: string, port: number) => ({ kind: 'tls', host, port });

describe('routes', () => {
  it('lead to the owner of the home that has a provider, however its number is written', async () => {
    const map = new Map3();
    const routes = await routesOf(map);
    assert.deepEqual(await routes.find('7'), at('h1', 9023));
    assert.deepEqual(await routes.find('007'), at('h1', 9023));
    assert.equal(await routes.find('8'), undefined, 'it moves');
    assert.equal(await routes.find('9'), undefined, 'nobody owns its home');
    map.providers.set(8, { shard: 1, state: 'served' });
    assert.deepEqual(await routes.find('8'), at('h2', 9033));
  });

  it('lead one that no home has always to the same home', async () => {
    const map = new Map3();
    map.homes_.pop();
    const routes = await routesOf(map);
    const found = await Promise.all(
      Array.from({ length: 40 }, (_, i) => i + 100).map(async pid => (await routes.find(String(pid)))?.kind),
    );
    assert.deepEqual(new Set(found), new Set(['tls']));
    for (const id of ['', 'name', '99', '1234567890123456']) {
      assert.notEqual(await routes.find(id), undefined);
      assert.deepEqual(await routes.find(id), await routes.find(id));
    }
  });

  it('lead as they last did while the engine is away; of others nobody says that they are nobody’s', async () => {
    const map = new Map3();
    const routes = await routesOf(map);
    await routes.find('7');
    map.isAway = true;
    const late = Promise.all([routes.find('7'), routes.find('44')]);
    clock.advance(600);
    assert.deepEqual(await late, [at('h1', 9023), undefined]);
    assert.ok(routes.figures.map_age_seconds >= 0.6);
  });

  it('ask once for all that come while a question is on its way', async () => {
    const map = new Map3();
    const routes = await routesOf(map);
    await Promise.all([7, 8, 9, 7, 44].map(pid => routes.find(String(pid))));
    assert.ok(map.asked.length <= 2, `${map.asked.length} questions`);
    assert.deepEqual(new Set(map.asked.flat()), new Set([7, 8, 9, 44]));
  });

  it('say within a quarter of a second that an owner is another, also the same one with another epoch', async () => {
    const map = new Map3();
    const routes = await routesOf(map);
    const lost: string[] = [];
    const forget = routes.watch({ kind: 'tls', host: 'h1', port: 9023 }, () => lost.push('h1'));
    routes.watch({ kind: 'tls', host: 'h2', port: 9033 }, () => lost.push('h2'));
    const look = async () => {
      clock.advance(250);
      await turn();
    };
    await look();
    assert.deepEqual(lost, []);
    (map.homes_[1] as OwnedHome).epoch = 5;
    await look();
    assert.deepEqual(lost, ['h2']);
    (map.homes_[0] as OwnedHome).owner = 'h3';
    forget();
    await look();
    assert.deepEqual(lost, ['h2']);
    assert.deepEqual(await routes.find('7'), at('h3', 9023));
  });

  it('stay as they are when the engine refuses, which the log has once, and again after an answer', async () => {
    const map = new Map3();
    const said: unknown[] = [];
    const noted = (_: string, fields?: LogFields) => void said.push(fields?.['reason']);
    const routes = await routesOf(map, { ...silentLog, warn: noted, error: noted });
    const look = async () => {
      clock.advance(250);
      await turn();
    };
    map.refusal = new LccError('config', 'no tables');
    for (let n = 0; n < 4; n++) await look();
    assert.deepEqual(await routes.find('7'), at('h1', 9023));
    assert.deepEqual(said, ['no tables']);
    map.refusal = undefined;
    await look();
    map.refusal = new LccError('config', 'no tables');
    await look();
    assert.deepEqual(said, ['no tables', 'no tables']);
  });
});
