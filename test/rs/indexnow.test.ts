/** IndexNow at the Registration Server: keys, limits, what strangers can have asked, and what is kept. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { RsDatabase } from '../../src/db/rs/database.js';
import type { KeyVerdict } from '../../src/rs/indexnow/key-file.js';
import { IndexNowIntake } from '../../src/rs/indexnow/intake.js';
import { Keys } from '../../src/rs/indexnow/key-standing.js';
import { requestOfBody, requestOfQuery } from '../../src/rs/indexnow/request.js';
import { PushRefusals } from '../../src/rs/push/refusals.js';
import { RsRequestRefused } from '../../src/rs/refusal.js';
import { PushTargets } from '../../src/rs/push/targets.js';
import type { Pushable } from '../../src/wire/push.js';
import { ManualClock } from '../support/manual-clock.js';
import { until } from '../support/until.js';

const KEY = 'a1b2c3d4e5f6';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let dir: string;
let db: RsDatabase;
let clock: ManualClock;
let keys: Keys;
let intake: IndexNowIntake;
let refusals: PushRefusals;
let failures: unknown[];
/** Providers by host; undefined: the Queue Manager is away. */
let pushable: Map<string, Pushable[]> | undefined;
/** What the file of a key says. */
let look: (key: string, host: string) => KeyVerdict | Promise<KeyVerdict>;
let looks: string[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'lcc-indexnow-'));
  db = RsDatabase.open(join(dir, 'rs.db'));
  clock = new ManualClock();
  failures = [];
  looks = [];
  look = key => (key === KEY ? 'good' : 'bad');
  const provider = { pid: 7, roots: ['https://www.example.org/'], held: 100, doors: ['indexnow'] as const };
  pushable = new Map([['www.example.org', [provider]]]);
  begin();
});
afterEach(() => {
  refusals.flush();
  db.close();
  rmSync(dir, { recursive: true });
  assert.deepEqual(failures, []);
});

/** Parts as after a start. */
function begin(): void {
  const fail = (error: unknown) => void failures.push(error);
  const targets = new PushTargets({
    clock,
    ask: question => {
      const found = question.op === 'push' ? pushable?.get(question.host) : undefined;
      return Promise.resolve(pushable === undefined ? undefined : { targets: found ?? [] });
    },
  });
  refusals = new PushRefusals({ db, clock, fail });
  keys = new Keys({
    db,
    clock,
    look: async ({ host, key }) => {
      looks.push(`${host} ${key}`);
      return look(key, host);
    },
    isProviders: async host => ((await targets.around(host)) ?? []).length > 0,
    stir: () => undefined,
    fail,
  });
  intake = new IndexNowIntake({
    db,
    clock,
    targets,
    keys,
    refusals,
    site: { ports: ['80', '443'], allowed: [] },
    demandRoom: () => undefined,
    registerUrl: 'https://lcc.example.org/register',
    stir: () => undefined,
  });
}

const body = (paths: readonly string[], more: object = {}) =>
  Buffer.from(
    JSON.stringify({
      host: 'www.example.org',
      key: KEY,
      urlList: paths.map(path => `https://www.example.org${path}`),
      ...more,
    }),
  );
const send = async (paths: readonly string[], more: object = {}, network = '192.0.2.0/24') => {
  try {
    return (await intake.take(requestOfBody(body(paths, more)), network)).status;
  } catch (error) {
    if (!(error instanceof RsRequestRefused)) throw error;
    return error.status;
  }
};
const waiting = () =>
  db.push
    .due(Number.MAX_SAFE_INTEGER, 100_000)
    .map(({ curl }) => curl.slice('https://www.example.org'.length));
const pause = () => new Promise(resolve => setImmediate(resolve));

test('a url of a GET that is no web address is named itself, for there is no host', () => {
  for (const url of [
    '/a.html',
    'hello',
    'www.example.org/a',
    'ftp://www.example.org/a',
    'http://u:p@www.example.org/a',
  ])
    assert.throws(() => requestOfQuery(new URLSearchParams({ url, key: KEY })), {
      status: 422,
      message: `${url} is no usable url; nothing was taken`,
    });
  const { name } = requestOfQuery(new URLSearchParams({ url: 'HTTP://www.example.org/a', key: KEY }));
  assert.equal(name.host, 'www.example.org');
});

test('a GET that names two urls, keys or key files is refused, and none of them is lost silently', () => {
  for (const twice of ['url', 'URL', 'key', 'keyLocation'])
    assert.throws(
      () =>
        requestOfQuery(
          new URLSearchParams(
            `url=http://www.example.org/a&key=${KEY}&keyLocation=http://www.example.org/k&${twice}=http://www.example.org/b`,
          ),
        ),
      {
        status: 400,
        message: new RegExp(`^${twice.toLowerCase()} is there twice; POST several urls: give {"host"`),
      },
    );
});

test('a good key is believed for a day, asked for again after twelve hours, and kept for seven days while its site fails', async () => {
  assert.equal(await send(['/a']), 200);
  clock.advance(11 * HOUR);
  await send(['/b']);
  assert.equal(looks.length, 1);
  clock.advance(2 * HOUR);
  look = () => 'unknown';
  assert.equal(await send(['/c']), 200);
  await pause();
  assert.equal(looks.length, 2, 'asked again beside the request');
  clock.advance(6 * DAY);
  assert.equal(await send(['/d']), 200, 'the site has failed for six days');
  clock.advance(2 * DAY);
  assert.equal(await send(['/e']), 202);
  look = () => 'bad';
  clock.advance(2 * MINUTE);
  await keys.tidy();
  assert.equal(await send(['/f']), 403);
  assert.deepEqual(waiting(), ['/a', '/b', '/c', '/d']);
});

test('a key file at a port that is not asked is refused without a look', async () => {
  const host = 'www.example.org:8443';
  pushable?.set('www.example.org', [{ pid: 8, roots: [`https://${host}/`], held: 1, doors: ['indexnow'] }]);
  assert.equal(await send([], { host, urlList: [`https://${host}/a`] }), 403);
  assert.deepEqual(looks, []);
});

test('a bad key is not asked for again for five minutes, then ten, at most an hour; one that becomes good is', async () => {
  const wrong = { key: 'another-key' };
  assert.equal(await send(['/a'], wrong), 403);
  assert.equal(await send(['/a'], wrong), 403);
  assert.equal(looks.length, 1);
  for (const minutes of [5, 10, 20, 40, 60, 60]) {
    clock.advance(minutes * MINUTE - 1000);
    await send(['/a'], wrong);
    const before: number = looks.length;
    clock.advance(1001);
    await send(['/a'], wrong, `${minutes}`);
    assert.equal(looks.length, before + 1, `${minutes}`);
  }
  look = () => 'good';
  clock.advance(HOUR + 1);
  assert.equal(await send(['/a'], wrong), 200);
});

test('a key whose site is slow has its urls kept for when it is decided, and dropped when it is bad or stays silent for a day', async () => {
  look = () => new Promise(() => undefined);
  const answered = send(['/slow']);
  await until('the file is asked for', () => looks.length === 1);
  clock.advance(3001);
  assert.equal(await answered, 202);
  assert.deepEqual(waiting(), []);
  // Killed meanwhile: the next start asks again.
  begin();
  look = () => 'good';
  await keys.begin();
  assert.deepEqual(waiting(), ['/slow']);
  look = () => 'unknown';
  assert.equal(await send(['/never'], { key: 'silent-key' }), 202);
  for (let hour = 0; hour <= 25; hour++) {
    clock.advance(HOUR);
    await keys.tidy();
  }
  assert.equal(db.pushKeys.find({ host: 'www.example.org', key: 'silent-key', location: '' }), undefined);
  assert.ok(looks.length < 45, `asked ever less: ${looks.length}`);
  assert.deepEqual(waiting(), ['/slow']);
  assert.match(JSON.stringify(db.push.refusals(7, 10)), /could not be read for a day/);
});

test('what came with the right key is kept though a stranger has sent the same with a wrong one', async () => {
  look = () => 'unknown';
  await send(['/page'], { key: 'the-wrong-key' });
  await send(['/page']);
  look = key => (key === KEY ? 'good' : 'bad');
  clock.advance(2 * MINUTE);
  await keys.tidy();
  assert.deepEqual(waiting(), ['/page']);
});

test('one file is asked for at a time of a host, and once for many requests', async () => {
  let decide: (verdict: KeyVerdict) => void = () => undefined;
  look = () => new Promise(resolve => (decide = resolve));
  const many = Array.from({ length: 20 }, (_, i) => send([`/${i}`]));
  const other = send(['/x'], { key: 'another-key' });
  await until('the file is asked for', () => looks.length > 0);
  await pause();
  assert.deepEqual(looks, [`www.example.org ${KEY}`]);
  decide('good');
  assert.deepEqual([...new Set(await Promise.all(many))], [200]);
  await until('the other one has its turn', () => looks.length === 2);
  decide('bad');
  assert.equal(await other, 403);
});

test('a stranger has at most ten unknown keys of a host asked for in an hour, thirty from a network, and a hundred files a minute', async () => {
  const statuses = [];
  for (let i = 0; i < 12; i++) statuses.push(await send(['/a'], { key: `wrong-key-${i}` }, `network ${i}`));
  assert.deepEqual(statuses, [...Array<number>(10).fill(403), 429, 429]);
  assert.equal(await send(['/a']), 429, 'nor the right one, until it is known');
  clock.advance(HOUR);
  assert.equal(await send(['/a']), 200);
  for (let i = 0; i < 150; i++) {
    const host = `h${i}.example.org`;
    pushable?.set(host, [{ pid: 8, roots: [`https://${host}/`], held: 0, doors: ['indexnow'] }]);
  }
  const sent = async (i: number, network: string) =>
    send(
      [],
      { host: `h${i}.example.org`, key: 'unknown-key', urlList: [`https://h${i}.example.org/`] },
      network,
    );
  const ofOne = [];
  for (let i = 0; i < 32; i++) ofOne.push(await sent(i, 'one'));
  assert.deepEqual([ofOne.filter(one => one === 403).length, ofOne.at(-1)], [30, 429]);
  looks.length = 0;
  const ofMany = [];
  for (let i = 32; i < 150; i++) ofMany.push(await sent(i, `network ${i % 9}`));
  assert.ok(looks.length <= 70, `${looks.length} files with the thirty before`);
  assert.equal(ofMany.at(-1), 202, 'what is not asked for now is kept');
});

test('a provider has 60 requests and 10,000 urls a minute, and twenty thousand a day or twice what it has', async () => {
  await send(['/first']);
  for (let i = 1; i < 60; i++) assert.equal(await send([`/${i}`]), 200);
  assert.equal(await send(['/more']), 429);
  clock.advance(MINUTE);
  const large = (n: number, of: string) => send(Array.from({ length: n }, (_, i) => `/${of}${i}`));
  assert.equal(await large(9000, 'a'), 200);
  assert.equal(await large(1001, 'b'), 429);
  clock.advance(MINUTE);
  assert.equal(await large(10_000, 'c'), 200);
  clock.advance(MINUTE);
  assert.equal(await large(1000, 'd'), 429, 'a day');
  pushable?.set('www.example.org', [
    { pid: 7, roots: ['https://www.example.org/'], held: 15_000, doors: ['indexnow'] },
  ]);
  clock.advance(3000);
  assert.equal(await large(1000, 'd'), 200);
});

test('urls whose key is not decided count for the day, and of requests that wait for one look no more are taken than a minute has', async () => {
  look = () => 'unknown';
  const large = (n: number, of: string) => send(Array.from({ length: n }, (_, i) => `/${of}${i}`));
  for (const of of ['a', 'b']) {
    assert.equal(await large(10_000, of), 202);
    clock.advance(MINUTE);
  }
  assert.equal(await large(1, 'c'), 429, 'a day');
  look = () => 'good';
  clock.advance(MINUTE);
  assert.equal(
    await send(['/good'], { key: 'another-key' }),
    200,
    'what is held keeps no good key from pushing',
  );

  let tell: (verdict: KeyVerdict) => void = () => undefined;
  look = () => new Promise(resolve => (tell = resolve));
  clock.advance(DAY);
  const all = ['d', 'e', 'f'].map(of =>
    send(
      [...Array(6000).keys()].map(i => `/${of}${i}`),
      { key: 'slow-key' },
    ),
  );
  await until('the file is asked for', () => looks.at(-1) === 'www.example.org slow-key');
  await pause();
  tell('good');
  assert.deepEqual(
    (await Promise.all(all)).toSorted((a, b) => a - b),
    [200, 429, 429],
  );
});

test('a url that is pushed in a loop is sent once in its interval, and the last one counts', async () => {
  const sent: string[] = [];
  const deliver = () => {
    const due = db.push.due(clock.nowMs(), 100);
    sent.push(...due.map(({ curl }) => curl));
    db.write(() => db.push.sent(due, clock.nowMs() + MINUTE));
  };
  for (let i = 0; i < 100; i++) {
    db.write(() => db.push.offer(7, 'indexnow', ['https://www.example.org/loop'], clock.nowMs()));
    deliver();
    clock.advance(599);
  }
  assert.equal(sent.length, 1);
  clock.advance(MINUTE);
  deliver();
  assert.equal(sent.length, 2);
  clock.advance(MINUTE);
  deliver();
  assert.equal(sent.length, 2, 'nothing came since');
  assert.equal(db.push.forget(clock.nowMs(), clock.nowMs() + MINUTE, 100), 1);
});

test('a url that is pushed while its set is on its way is sent once more', () => {
  const offer = () => db.write(() => db.push.offer(7, 'feed', ['https://www.example.org/x'], clock.nowMs()));
  offer();
  const due = db.push.due(clock.nowMs(), 10);
  offer();
  db.write(() => db.push.sent(due, clock.nowMs() + MINUTE));
  assert.deepEqual(db.push.due(clock.nowMs(), 10), []);
  clock.advance(MINUTE);
  assert.equal(db.push.due(clock.nowMs(), 10).length, 1);
});

test('while the Queue Manager is away what it said of a host counts for ten minutes, and then pushes are told to come again', async () => {
  assert.equal(await send(['/a']), 200);
  pushable = undefined;
  clock.advance(5 * MINUTE);
  assert.equal(await send(['/b']), 200);
  clock.advance(6 * MINUTE);
  assert.equal(await send(['/c']), 503);
});

test('each provider with a root around a url has it, and only those whose door is open', async () => {
  pushable?.set('www.example.org', [
    { pid: 7, roots: ['https://www.example.org/'], held: 0, doors: ['indexnow'] },
    { pid: 8, roots: ['https://www.example.org/docs/'], held: 0, doors: ['indexnow', 'feed'] },
    { pid: 9, roots: ['https://www.example.org/docs/'], held: 0, doors: ['feed'] },
  ]);
  await send(['/docs/a', '/b']);
  assert.deepEqual(
    db.push
      .due(clock.nowMs(), 10)
      .map(({ pid, curl }) => `${pid} ${new URL(curl).pathname}`)
      .toSorted(),
    ['7 /b', '7 /docs/a', '8 /docs/a'],
  );
});

test('twenty thousand urls a second are committed, a thousand at a time', async () => {
  pushable?.set('www.example.org', [
    { pid: 7, roots: ['https://www.example.org/'], held: 1_000_000, doors: ['indexnow'] },
  ]);
  await send(['/warm']);
  const bodies = Array.from({ length: 20 }, (_, n) =>
    body(Array.from({ length: 1000 }, (_x, i) => `/p/${n}/${i}.html`)),
  );
  let spentMs = 0;
  for (const [n, one] of bodies.entries()) {
    if (n === 9) clock.advance(MINUTE);
    if (n === 18) clock.advance(MINUTE);
    const before = process.cpuUsage();
    await intake.take(requestOfBody(one), 'network');
    const { user, system } = process.cpuUsage(before);
    spentMs += (user + system) / 1000;
  }
  assert.equal(db.push.waiting(), 20_001);
  assert.ok(spentMs < 1000, `${spentMs} ms of a processor`);
});
