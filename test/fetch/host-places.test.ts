import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HostPlaces } from '../../src/fetch/host-places.js';
import { answer, fetchOnce, newEngine, newFolder, rawServer, verdict } from './support.js';
import { join } from 'node:path';

const turn = () => new Promise<void>(resolve => void setImmediate(resolve));

test('of one host as many are in as may be, the others come in the order they came, those of other hosts at once', async () => {
  const places = new HostPlaces(2);
  const went: string[] = [];
  const enter = (host: string, name: string) => places.enter(host, () => void went.push(name));
  const [a, b, c, d, other] = [
    enter('x', 'a'),
    enter('x', 'b'),
    enter('x', 'c'),
    enter('x', 'd'),
    enter('y', 'other'),
  ];
  assert.deepEqual(
    [a, b, c, d, other].map(place => place?.isFree),
    [true, true, false, false, true],
  );
  b?.leave();
  b?.leave();
  await turn();
  assert.deepEqual(went, ['c'], 'a place is left once');
  d?.leave();
  a?.leave();
  c?.leave();
  other?.leave();
  await turn();
  assert.deepEqual([went, places.size], [['c'], 0]);
});

test('one that gives up between two turns leaves its place to the next', async () => {
  const places = new HostPlaces(1);
  const went: string[] = [];
  const first = places.enter('x', () => undefined);
  const second = places.enter('x', () => void went.push('second'));
  places.enter('x', () => void went.push('third'));
  first.leave();
  second.leave();
  await turn();
  assert.deepEqual(went, ['third']);
});

test('a thousand fetches that fail at once while others wait for their host all have their outcome', async () => {
  const engine = newEngine({ maxConnectionsPerHost: 1, allowAddresses: [] });
  const outcomes = await Promise.all(
    Array.from({ length: 1000 }, (_, i) =>
      fetchOnce(engine, { url: `http://127.0.0.1:9/${i}`, file: '/x', roots: [] }),
    ),
  );
  assert.deepEqual([...new Set(outcomes.map(verdict))], [610]);
});

test('fetches that a redirect leads to another host count there, and hosts that redirect to each other do not wait for ever', async () => {
  let open = 0;
  let most = 0;
  const urls: string[] = [];
  const site = (other: () => string) =>
    rawServer((socket, request) => {
      open++;
      most = Math.max(most, open);
      setImmediate(() => {
        open--;
        const to = request.startsWith('GET /from') ? `Location: ${other()}to\r\n` : '';
        socket.write(answer('x', to, to === '' ? '200 OK' : '302 Found'));
      });
    });
  const [a, b] = [await site(() => urls[1] ?? ''), await site(() => urls[0] ?? '')];
  urls.push(a.url, b.url);
  const folder = newFolder();
  const engine = newEngine({ maxConnectionsPerHost: 1 });
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      fetchOnce(engine, { url: `${urls[i % 2]}from/${i}`, file: join(folder, String(i)), roots: urls }),
    ),
  );
  assert.deepEqual([...new Set(outcomes.map(verdict))], ['ok']);
  assert.ok(most <= 2, `${most} at a time at two hosts`);
  engine.close();
});
