/** Pushed urls on their way to the UNS: a door that is away, refuses, or is lost before it answers. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { loadConfig } from '../../src/config/load.js';
import { RsDatabase } from '../../src/db/rs/database.js';
import { systemClock } from '../../src/lib/clock.js';
import { silentLog } from '../../src/lib/log.js';
import { rsOptions } from '../../src/rs/options.js';
import { PushDelivery } from '../../src/rs/push/delivery.js';
import type { UnsPlace } from '../../src/wire/uns-places.js';
import { until } from '../support/until.js';

let dir: string;
let db: RsDatabase;
let delivery: PushDelivery;
let server: Server | undefined;
let failures: unknown[];
/** What the door was sent. */
let said: string;
/** The UNS of a provider, as a row of a map. */
let placeOf: (pid: number) => [[number, UnsPlace]] | undefined;
const at = (pid: number, name: string): [[number, UnsPlace]] => [
  [pid, { door: { kind: 'unix', path: join(dir, name) } }],
];
const sockets = new Set<Socket>();

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'lcc-push-'));
  db = RsDatabase.open(join(dir, 'rs.db'));
  failures = [];
  said = '';
  placeOf = pid => at(pid, 'door.sock');
  delivery = newDelivery(0);
});
afterEach(async () => {
  delivery.stop();
  await closed();
  db.close();
  rmSync(dir, { recursive: true });
  assert.deepEqual(failures, []);
});

function newDelivery(urlIntervalMs: number): PushDelivery {
  const overrides = { 'push.url_interval_ms': String(urlIntervalMs) };
  return new PushDelivery({
    db,
    ...rsOptions(loadConfig({ env: { LCC_HOME: dir }, overrides })).push,
    placesOf: pids => Promise.resolve(new Map(pids.flatMap(pid => placeOf(pid) ?? []))),
    clock: systemClock,
    log: silentLog,
    fail: error => void failures.push(error),
  });
}

/** @param answer to a set; undefined: the connection is lost */
async function open(answer: (set: string) => string | undefined): Promise<void> {
  server = createServer(socket => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    let text = '';
    socket.setEncoding('utf8').on('data', (more: string) => {
      said += more;
      text += more;
      for (let end; (end = text.indexOf('</lococa:set>')) >= 0; text = text.slice(end + 13)) {
        const told = answer(text.slice(0, end));
        if (told === undefined) return void socket.destroy();
        socket.write(told);
      }
    });
  });
  await new Promise<void>(resolve => server?.listen(join(dir, 'door.sock'), resolve));
}
async function closed(): Promise<void> {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  if (server?.listening === true) await new Promise(resolve => server?.close(resolve));
}
const accepts = (set: string) => {
  const received = set.split('<url ').length - 1;
  return `<lococa:set_result>\n<errors>\n</errors>\n<set_accepted received="${received}"/>\n</lococa:set_result>\n`;
};
const rejects = (code: number) =>
  `<lococa:set_result>\n<set_rejected code="${code}">no</set_rejected>\n</lococa:set_result>\n`;
const offer = (pid: number, door: 'indexnow' | 'feed', ...paths: string[]) =>
  db.write(() =>
    db.push.offer(
      pid,
      door,
      paths.map(path => `http://www.example.org/${path}`),
      Date.now(),
    ),
  );
const isEmpty = () => db.push.waiting() === 0;

test('urls go in sets of their provider and origin, as served, and are gone from here when each is answered', async () => {
  await open(accepts);
  offer(7, 'indexnow', 'a', 'b');
  offer(8, 'indexnow', 'c');
  offer(7, 'feed', 'd');
  delivery.stir();
  await until('all are delivered', isEmpty);
  assert.equal(said.match(/<lococa:set [^>]*pid="7" origin="push">/g)?.length, 1);
  assert.equal(said.match(/<lococa:set [^>]*pid="8" origin="push">/g)?.length, 1);
  assert.equal(said.match(/<lococa:set [^>]*pid="7" origin="push" door="feed">/g)?.length, 1);
  assert.match(said, /<url curl="http:\/\/www\.example\.org\/a" mimetype="\*\/\*" outofroot="drop"\/>/);
});

test('a page that a feed has reported goes as one of a feed, by whatever doors it comes again while it waits', async () => {
  offer(7, 'feed', 'd');
  offer(7, 'indexnow', 'd');
  await open(accepts);
  delivery.stir();
  await until('it is delivered', isEmpty);
  assert.equal(said.match(/<url curl/g)?.length, 1);
  assert.match(said, /origin="push" door="feed">/);
});

test('a page that is wanted only if absent says so, until somebody else names it', async () => {
  const urls = ['d', 'e'].map(path => `http://www.example.org/${path}`);
  db.write(() => db.push.offer(7, 'feed', urls, Date.now(), 'absent'));
  offer(7, 'indexnow', 'd');
  await open(accepts);
  delivery.stir();
  await until('both are delivered', isEmpty);
  assert.match(said, /<url curl="http:\/\/www\.example\.org\/d" mimetype="\*\/\*" outofroot="drop"\/>/);
  assert.match(said, /<url curl="http:\/\/www\.example\.org\/e" [^>]*ifabsent="yes"/);
});

test('while there is no UNS urls wait, it is told why, and they go when there is one', async () => {
  offer(7, 'indexnow', 'a');
  delivery.stir();
  await until('the trouble is told', () => delivery.trouble !== undefined);
  assert.match(delivery.trouble ?? '', /door\.sock cannot be reached: there is no such socket/);
  assert.equal(db.push.waiting(), 1);
  await open(accepts);
  await until('it is delivered', isEmpty);
  await until('the trouble is over', () => delivery.trouble === undefined);
});

test('it is idle when no url waits, neither for a UNS nor for the end of its interval', async () => {
  delivery = newDelivery(60_000);
  assert.ok(delivery.isIdle);
  offer(7, 'indexnow', 'a');
  assert.ok(!delivery.isIdle);
  await open(accepts);
  delivery.stir();
  await until('it is delivered', isEmpty);
  await until('it is idle', () => delivery.isIdle);
  offer(7, 'indexnow', 'a');
  delivery.stir();
  assert.equal(said.split('org/a"').length, 2);
  assert.ok(!delivery.isIdle);
});

test('urls whose set was not answered, or refused for now, are sent again; those of a provider that is gone are not', async () => {
  let tries = 0;
  await open(set => {
    if (set.includes('pid="9"')) return rejects(101);
    tries++;
    return tries === 1 ? undefined : tries === 2 ? rejects(102) : accepts(set);
  });
  offer(9, 'indexnow', 'gone');
  offer(7, 'indexnow', 'a');
  delivery.stir();
  await until('all are delivered', isEmpty);
  assert.equal(tries, 3);
});

test('a UNS that is away keeps the urls of its providers, and those of others go, also while it is away', async () => {
  await open(accepts);
  placeOf = pid => (pid === 8 ? undefined : at(pid, pid === 7 ? 'away.sock' : 'door.sock'));
  for (const pid of [7, 8, 9]) offer(pid, 'indexnow', 'a');
  delivery.stir();
  await until('the one that is there has its url', () => db.push.waiting() === 2);
  await until('the trouble is told', () => delivery.trouble !== undefined);
  offer(9, 'indexnow', 'b');
  offer(7, 'indexnow', 'b');
  delivery.stir();
  await until('it has the next one', () => said.includes('org/b"'));
  assert.doesNotMatch(said, /pid="[78]"/);
  // Its home has another owner, and the other is served.
  placeOf = pid => at(pid, 'door.sock');
  await until('all are delivered', isEmpty);
  await until('the trouble is over', () => delivery.trouble === undefined);
});

test('urls of a provider that was moved between look and delivery go to its new home', async () => {
  const moved = createServer(
    socket => void socket.setEncoding('utf8').on('data', () => socket.write(rejects(101))),
  );
  await new Promise<void>(resolve => moved.listen(join(dir, 'old.sock'), resolve));
  await open(accepts);
  let looks = 0;
  placeOf = pid => at(pid, looks++ === 0 ? 'old.sock' : 'door.sock');
  offer(7, 'indexnow', 'a');
  delivery.stir();
  await until('it is delivered', isEmpty);
  assert.match(said, /pid="7"/);
  await new Promise(resolve => moved.close(resolve));
});
