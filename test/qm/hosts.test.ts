/** Fetches at a time from one host, through the real dispatcher. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Simulation, type Fetch, type SimulationOptions } from './simulation.js';
import { ok, url } from './support.js';
import { amount } from '../support/long.js';

const MINUTE = 60_000;

function simulate(t: TestContext, more: Partial<SimulationOptions> = {}): Simulation {
  const sim = new Simulation({
    workerSlots: 64,
    site: request => ({ result: ok(request.url, { fileId: request.url }), tookMs: 50 }),
    ...more,
  });
  t.after(() => sim.close());
  return sim;
}

const pages = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => url(`${prefix}${i}`));
const hostOf = (fetch: Fetch) => new URL(fetch.url).host;

/** The most that went on at once, by host. */
function mostAtOnce(fetches: readonly Fetch[]): Map<string, number> {
  const most = new Map<string, number>();
  for (const fetch of fetches) {
    const { monotonicMs: atMs } = fetch;
    const others = fetches.filter(
      other =>
        hostOf(other) === hostOf(fetch) && other.monotonicMs <= atMs && (other.endMs ?? Infinity) > atMs,
    );
    most.set(hostOf(fetch), Math.max(most.get(hostOf(fetch)) ?? 0, others.length));
  }
  return most;
}

test('of 23 providers that share a host as many are fetched from as may be, each in its turn, and others are not held up', async t => {
  const sim = simulate(t, { lanes: { perHost: 8 } });
  for (let pid = 1; pid <= 24; pid++) sim.bench.provider(pid);
  sim.bench.db.exec("UPDATE proots SET root = 'http://127.0.0.2/' WHERE pid = 24");
  sim.start();
  const each = amount(40, 60);
  for (let pid = 1; pid <= 23; pid++) await sim.send(pid, pages(`${pid}/`, each));
  await sim.send(24, pages('http://127.0.0.2/', 100), { urlprefix: 'http://127.0.0.2/' });
  const ofOther = () => sim.fetches.filter(({ pid }) => pid === 24);
  assert.ok(await sim.until(() => ofOther().length === 100, 10_000));
  assert.ok(await sim.until(() => !sim.status().isBusy, 2 * MINUTE));
  assert.deepEqual(
    [...mostAtOnce(sim.fetches)],
    [
      ['127.0.0.1', 8],
      ['127.0.0.2', 1],
    ],
  );
  const tookMs = (sim.fetches.at(-1)?.monotonicMs ?? 0) - (sim.fetches[0]?.monotonicMs ?? 0);
  assert.ok(tookMs < (1.3 * 23 * each * 50) / 8, `${tookMs} ms`);
});

test('the providers of a group share its lanes, whatever their hosts', async t => {
  const sim = simulate(t, { lanes: { perHost: 8, perGroup: 2 } });
  const grouped = [1, 2, 3, 4, 5];
  for (const pid of [...grouped, 6]) {
    sim.bench.provider(pid);
    sim.bench.db.exec(`UPDATE proots SET root = 'http://127.0.0.${pid}/' WHERE pid = ${pid}`);
  }
  // One has two hosts.
  sim.bench.db.exec("INSERT INTO proots VALUES (5, 'http://127.0.0.55/')");
  sim.bench.db.exec("UPDATE pidb SET groupname = 'example.org' WHERE pid <= 5");
  sim.start();
  for (const pid of [...grouped, 6])
    await sim.send(pid, pages(`http://127.0.0.${pid}/`, 30), { urlprefix: `http://127.0.0.${pid}/` });
  await sim.send(5, pages('http://127.0.0.55/', 30), { urlprefix: 'http://127.0.0.55/' });
  assert.ok(await sim.until(() => !sim.status().isBusy, 2 * MINUTE));
  assert.equal(sim.fetches.length, 210);
  const ofGroup = sim.fetches.filter(({ pid }) => pid !== 6);
  const most = Math.max(
    ...ofGroup.map(
      ({ monotonicMs: atMs }) =>
        ofGroup.filter(other => other.monotonicMs <= atMs && (other.endMs ?? Infinity) > atMs).length,
    ),
  );
  assert.equal(most, 2);
  const endOf = (fetches: readonly Fetch[]) =>
    Math.max(...fetches.map(({ endMs = 0 }) => endMs)) - (sim.fetches[0]?.monotonicMs ?? 0);
  const others = sim.fetches.filter(({ pid }) => pid === 6);
  assert.ok(endOf(others) < endOf(ofGroup) / 2, 'others are not held up');
});

test('urls of a provider with several hosts keep their order, and no host has more than it may', async t => {
  const sim = simulate(t, { lanes: { perHost: 2 }, window: 8 });
  const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
  for (let pid = 1; pid <= 9; pid++) {
    sim.bench.provider(pid);
    for (const host of hosts.slice(1))
      sim.bench.db.prepare('INSERT INTO proots VALUES (?, ?)').run(pid, `http://${host}/`);
  }
  sim.start();
  for (let pid = 1; pid <= 9; pid++)
    await sim.send(
      pid,
      Array.from({ length: 40 }, (_, i) => url(`http://${hosts[(i >> (pid % 3)) % 3]}/${pid}/${i}`)),
    );
  assert.ok(await sim.until(() => !sim.status().isBusy, 5 * MINUTE));
  for (const [host, most] of mostAtOnce(sim.fetches)) assert.ok(most <= 2, `${most} at ${host}`);
  for (let pid = 1; pid <= 9; pid++) {
    const order = sim.fetches
      .filter(fetch => fetch.pid === pid)
      .map(fetch => Number(fetch.url.split('/').at(-1)));
    assert.deepEqual(
      order,
      Array.from({ length: 40 }, (_, i) => i),
    );
  }
});

test('hosts that are written in several ways are one, and those of other schemes and ports are others', async t => {
  const sim = simulate(t, { lanes: { perHost: 1 } });
  const roots = ['http://h/a/', 'HTTP://H:80/b/', 'http://h:8080/c/', 'https://h/d/'];
  roots.forEach((root, pid) => {
    sim.bench.provider(pid + 1);
    sim.bench.db.prepare('UPDATE proots SET root = ? WHERE pid = ?').run(root, pid + 1);
  });
  sim.start();
  for (const [pid, root] of roots.entries())
    await sim.send(pid + 1, pages(root.toLowerCase(), 20), { urlprefix: root });
  await sim.pass(500);
  assert.equal(sim.status().lanes, 3);
  assert.ok(await sim.until(() => !sim.status().isBusy, MINUTE));
  assert.equal(sim.fetches.length, 80);
});
