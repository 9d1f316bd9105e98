/** lccd-hard killed at each durable step, with a rail that is down: nothing stale is left, and nothing is asked in vain. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import { ClearHome, idsOf, pagesOf } from '../support/clear.js';
import { killAt } from '../support/kills.js';
import { noRails } from '../support/rails.js';
import { SoftHome } from '../support/soft.js';
import { until } from '../support/until.js';

const homes: ClearHome[] = [];
after(() => Promise.all(homes.map(home => home.end())));

const IDS = idsOf(120);

async function newHome(): Promise<ClearHome> {
  // Small batches: there is something to be killed between.
  const home = new ClearHome({ commit_requests: 16, window_requests: 50 });
  homes.push(home);
  const rails = await home.addRails(['nginx', 'nginx', 'nginx']);
  for (const rail of rails) rail.write(pagesOf(IDS));
  await rails[2]?.stop();
  home.request([...IDS, ...IDS.slice(0, 40)]);
  return home;
}

/** Ends with all rails up and nothing left. */
async function finish(home: ClearHome): Promise<void> {
  const { db, rails } = home;
  await until(
    'all but one rail is clear',
    () => db.queue.count(1) === 0 && db.rails.get('r3')?.state === 'DOWN',
  );
  await rails[2]?.start();
  db.rails.setByAdmin('r3', 'UP', Date.now());
  await home.untilClear();
  for (const rail of rails) assert.deepEqual(rail.pages(), [], rail.name);
}

describe('a kill', { skip: noRails }, () => {
  for (const step of [
    'clear.page.sent:1',
    'clear.page.sent:57',
    'clear.batch.committed:1',
    'clear.batch.committed:3',
    'clear.batch.committed:9',
    'clear.rail.down',
    'clear.mark.noted:2',
  ])
    it(`after ${step} costs a few requests more`, async () => {
      const home = await newHome();
      const { env } = killAt(step);
      assert.equal(await home.startHard(env).ended, 'SIGKILL');
      home.startHard(env);
      await finish(home);
      for (const rail of home.rails) {
        const asked = await rail.requests(IDS.length);
        assert.deepEqual(new Set(asked.map(line => line.split(' ')[1])), new Set(pagesOf(IDS)));
        // What was under way or not noted: a window of requests.
        assert.ok(asked.length <= IDS.length + 50, `${rail.name} was asked ${asked.length} times`);
      }
    });
});

/** A rail that takes its time over the clearing of a page, and does not give it up when nobody waits any more. */
async function startSlowRail(page: string) {
  const pages = new Map<string, string>();
  let clear: () => void = () => undefined;
  let arrived: () => void = () => undefined;
  const arrival = new Promise<void>(resolve => (arrived = resolve));
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const url = request.url ?? '';
    const bytes = await request.toArray();
    if (request.method === 'PUT') pages.set(url, Buffer.concat(bytes as Buffer[]).toString());
    else if (url === page) {
      const cleared = new Promise<void>(resolve => (clear = resolve));
      arrived();
      await cleared;
      pages.delete(url);
    }
    response.writeHead(204).end();
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  after(() => server.close().closeAllConnections());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    pages,
    arrival,
    clear: () => clear(),
  };
}

it('a kill between a late clearing and its commit does not leave the page missing that was put before', async () => {
  const home = new SoftHome({ poll_ms: 50, refresh_ms: 50 });
  homes.push(home);
  const { db } = home;
  await home.begin([]);
  const rail = await startSlowRail('/a.html');
  home.addRail('r1', { url: rail.url });
  db.rails.setByAdmin('r1', 'DOWN', Date.now());
  home.request(['a'], { force: true });
  const hard = home.startHard();
  await until('the clearing is left to the backlog', () => db.queue.count(1) === 0);
  db.rails.setByAdmin('r1', 'UP', Date.now());
  await rail.arrival;
  home.startSoft();
  await home.untilPublished();
  assert.equal(rail.pages.get('/a.html'), 'new /a.html');
  hard.child.kill('SIGKILL');
  await hard.ended;
  rail.clear();
  await until('the page is missing', () => !rail.pages.has('/a.html'));
  home.startHard();
  await until('the page is there again', () => rail.pages.has('/a.html'));
  await home.untilPublished();
  await until('nothing is left', () => !db.backlog.has('r1', 'D'));
});
