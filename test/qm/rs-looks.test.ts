/** What operators see of an LCC: read beside the Queue Manager by a real thread, and of daemons by their control sockets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { LOOK_WORDS } from '../../src/commands/look-words.js';
import { RsLooks } from '../../src/qm/rs-looks.js';
import type { RsDaemon, RsOverview, RsProviderPage } from '../../src/wire/rs-looks.js';
import { within } from '../support/until.js';
import { Bench } from './support.js';

const OVERVIEW_MS = 5000;
let bench: Bench;
let looks: RsLooks;
let servers: Server[];
/** How often a daemon was asked. */
let asked: number;

beforeEach(async () => {
  bench = new Bench();
  servers = [];
  asked = 0;
  const runDir = join(bench.dir, 'run');
  mkdirSync(runDir);
  await daemon(runDir, 'lccd-bm', {
    daemon: 'lccd-bm',
    idle: false,
    up_s: 61,
    rss_bytes: 2 ** 20,
    source: true,
    machineid: 'm1',
    robots: 2,
    slots: 16,
    robots_lost: [{ reason: 'a <reason>', at_ms: bench.clock.nowMs() }],
    disk: { free_bytes: 5, total_bytes: 9 },
  });
  looks = new RsLooks({
    dbPath: bench.path,
    runDir,
    slots: 24 as const,
    overviewMs: OVERVIEW_MS,
    dispatcher: {
      fetching: () => [[7, 3]],
      failures: () => [[8, 504, 'b.example.org']],
      retrying: () => [],
      waiting: () => [[9, 'pace', null]],
    },
    words: LOOK_WORDS,
    clock: bench.clock,
  });
});
afterEach(() => {
  looks.stop();
  for (const server of servers) server.close();
  bench.close();
});

async function daemon(runDir: string, name: string, status: object): Promise<void> {
  const server = createServer(socket =>
    socket.on('data', () => {
      asked++;
      socket.end(`${JSON.stringify({ ok: { pid: 1, ...status } })}\n`);
    }),
  );
  servers.push(server);
  await once(server.listen(join(runDir, `${name}.ctl.sock`)), 'listening');
}

async function overview(): Promise<RsOverview> {
  const answer = await within('an overview', looks.answer({ op: 'overview' }));
  assert.ok('ok' in answer);
  return answer.ok as unknown as RsOverview;
}
async function page(search = '', after = 0): Promise<RsProviderPage> {
  const answer = await within('a page', looks.answer({ op: 'providers', search, after }));
  assert.ok('ok' in answer);
  return answer.ok as unknown as RsProviderPage;
}

test('an overview has queue, daemons and reasons in the words of lccstat, and no more of a status than numbers', async () => {
  bench.provider(7);
  bench.provider(8, { paused: 1 });
  await bench.send(7, [{ curl: 'http://127.0.0.1/a', mimetype: 'text/html' }]);
  await bench.send(8, [{ curl: 'http://127.0.0.1/b', mimetype: 'text/html' }]);
  bench.db.exec(
    `UPDATE pidb SET lastset = ${bench.clock.nowMs() / 1000 - 8 * 86_400}, setevery = 600 WHERE pid = 8`,
  );
  const { summary, reasons, providers, queue, daemons } = await overview();
  assert.match(summary, /^2 urls wait for 2 providers/);
  assert.equal(providers, 2);
  assert.ok(reasons.includes('1 of 2 providers with urls waiting is paused; lccctl resume'));
  assert.ok(reasons.some(reason => reason.includes('a <reason>')));
  assert.ok(reasons.some(reason => reason.startsWith('provider 8 is silent: its last set came 8 d ago')));
  assert.deepEqual(queue.total.ages.slice(0, 2), [2, 0]);
  assert.equal(queue.age_minutes.length + 1, queue.total.ages.length);
  assert.deepEqual(
    queue.providers.map(({ pid, waiting, state }) => `${pid} ${waiting} ${state}`),
    ['7 1 fetching, 3 sent to machines', '8 1 paused'],
  );
  const [bm] = daemons as Extract<RsDaemon, { figures: object }>[];
  assert.equal(bm?.name, 'lccd-bm');
  assert.match(bm.doing, /2 robots with 16 slots/);
  assert.deepEqual([bm.figures['disk_free_bytes'], bm.figures['robots_lost']], [5, 1]);
  assert.doesNotMatch(JSON.stringify(bm), /reason/);
});

test('however many ask, there is one look, and another one when that is old', async () => {
  const all = await Promise.all([overview(), overview(), overview()]);
  assert.deepEqual([new Set(all).size, asked], [3, 1]);
  bench.clock.advance(OVERVIEW_MS - 1);
  await overview();
  assert.equal(asked, 1);
  bench.clock.advance(1_000_000);
  await overview();
  assert.equal(asked, 2);
});

test('a daemon that is away is named with what is wrong', async () => {
  await new Promise<void>(resolve => void servers.shift()?.close(() => resolve()));
  await daemon(join(bench.dir, 'run'), 'lccd-uns', { no: 'status' });
  const { daemons } = await overview();
  assert.deepEqual(
    daemons.map(({ name }) => name),
    ['lccd-uns'],
  );
  assert.match(JSON.stringify(daemons), /a status without a daemon/);
});

test('providers are found by number and by root, a page at a time, and what is typed is no pattern', async () => {
  bench.db.transaction(() => {
    for (let pid = 1; pid <= 150; pid++) bench.provider(pid);
    bench.db.prepare('INSERT INTO proots VALUES (42, ?)').run('http://odd_%.example.org/');
  })();
  const first = await page();
  assert.deepEqual([first.providers.length, first.next], [100, 100]);
  const second = await page('', 100);
  assert.deepEqual([second.providers.length, second.next], [50, null]);
  assert.deepEqual(
    (await page('42')).providers.map(({ pid, roots }) => [pid, roots]),
    [
      [42, 2],
      [142, 1],
    ],
  );
  assert.deepEqual(
    (await page('d_%.')).providers.map(({ pid }) => pid),
    [42],
  );
  assert.equal((await page('_')).providers.length, 1);
  const [row] = first.providers;
  assert.deepEqual(row, {
    pid: 1,
    origin: 'operator',
    enabled: true,
    paused: false,
    root: 'http://127.0.0.1/',
    roots: 1,
    waiting: 0,
    errors: 0,
    files: 0,
    bytes: 0,
    full_set_wanted: null,
    connected_ms: 0,
    heard_ms: 0,
    crawled: false,
    left_alone_until_ms: 0,
    sets: [],
  });
});

test('the sites of an overview: first those that something is wrong with, then those that were heard of last; with their sets', async () => {
  const nowS = Math.floor(bench.clock.nowMs() / 1000);
  for (const pid of [1, 2, 3, 4, 5, 6]) bench.provider(pid);
  const set = (pid: number, columns: string) =>
    bench.db.exec(`UPDATE pidb SET ${columns} WHERE pid = ${pid}`);
  set(1, `lastconntime = ${nowS - 50}`);
  set(2, `lastset = ${nowS - 10}, spider = 1`);
  set(3, 'nurlerrs = 1');
  set(4, 'nurlerrs = 20');
  set(5, `backoffuntil = ${nowS + 60}`);
  set(6, `backoffuntil = ${nowS - 60}`);
  for (let i = 0; i < 32; i++)
    await bench.send(1, [{ curl: `http://127.0.0.1/${i}`, mimetype: 'text/html' }]);
  bench.db.exec(`INSERT INTO held SELECT max(psetid), 1, 1, 0, 9, '', 0 FROM absorbed`);
  const { sites } = await overview();
  assert.deepEqual(
    sites.map(({ pid }) => pid),
    [4, 3, 5, 1, 2, 6],
  );
  const of = (pid: number) => sites.find(site => site.pid === pid);
  assert.deepEqual([of(2)?.crawled, of(2)?.heard_ms], [true, (nowS - 10) * 1000]);
  assert.equal(of(5)?.left_alone_until_ms, (nowS + 60) * 1000);
  const sets = of(1)?.sets ?? [];
  assert.equal(sets.length, 30);
  assert.deepEqual([sets[0]?.held, sets[1]?.held, sets[1]?.queued, sets[1]?.isfull], [1, 0, 1, 0]);
  assert.ok((sets[0]?.psetid ?? 0) > (sets[1]?.psetid ?? 0));
});

test('a database that cannot be read is said, and the next question is answered', async () => {
  const broken = new RsLooks({ ...looksOptions(), dbPath: join(bench.dir, 'none.db') });
  await assert.rejects(broken.answer({ op: 'providers', search: '', after: 0 }), /none\.db/);
  broken.stop();
  assert.deepEqual((await page()).providers, []);
});

function looksOptions() {
  const none = () => [];
  return {
    dbPath: bench.path,
    runDir: join(bench.dir, 'run'),
    slots: 24 as const,
    overviewMs: OVERVIEW_MS,
    dispatcher: { fetching: none, failures: none, retrying: none, waiting: none },
    words: LOOK_WORDS,
    clock: bench.clock,
  };
}
