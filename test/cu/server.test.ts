import assert from 'node:assert/strict';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { OPEN_GATE } from '../../src/daemon/kept.js';
import { cuOptions } from '../../src/cu/server/options.js';
import { CuServer } from '../../src/cu/server/server.js';
import { loadConfig } from '../../src/config/load.js';
import { describe as describeSocket } from '../../src/daemon/connection.js';
import { boundReadAhead } from '../../src/daemon/listeners.js';
import { silentLog } from '../../src/lib/log.js';
import { ManualClock } from '../support/manual-clock.js';
import { TestCache } from '../support/cache.js';
import { ask, Cu } from '../support/cu.js';
import { ends, settle } from '../support/duplex.js';
import { STRANGER_BYTES } from '../support/flood.js';
import { configOf } from '../support/settings.js';

const cache = new TestCache();
after(() => cache.close());

test('lccd-cu stops at once although a content user waits after failed logins', async () => {
  const clock = new ManualClock();
  const options = cuOptions(loadConfig({ env: { LCC_HOME: cache.home }, overrides: {} }), Infinity);
  const cu = new CuServer({
    kept: OPEN_GATE,
    options,
    clock,
    log: silentLog,
    fail: error => assert.fail(String(error)),
  });
  const server = createServer(socket => cu.accept(describeSocket(socket)));
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const login = '<lococa:reader name="search" passwd="wrong"/>';
  for (let failures = 0; failures < 4; failures++) assert.match(await ask(port, login), /code="101"/);
  const waiting = new Cu(port).send(login);
  // What is left is due later than the wait, a tenth of a second.
  while ((clock.nextMs() ?? Infinity) > 100) await settle();
  await cu.stop();
  assert.match(await waiting.reply, /code="102">[^<]*the daemon stops/);
  server.close();
});

test('of a crowd that lccd-cu refuses only some stay to read why, and the log hears of it once', async () => {
  const clock = new ManualClock();
  const config = configOf({ 'cu.anonymous': 'true', 'cu.max_connections_per_address': '2' });
  const options = { ...cuOptions(config, Infinity), dbPath: cache.dbPath };
  const said: unknown[] = [];
  const log = { ...silentLog, warn: (event: string, fields?: object) => void said.push([event, fields]) };
  const cu = new CuServer({
    kept: OPEN_GATE,
    options,
    clock,
    log,
    fail: error => assert.fail(String(error)),
  });
  const come = (address = '192.0.2.7') => {
    const pair = ends();
    cu.accept({ socket: pair.ours as Socket, peer: `${address}:1`, address });
    return pair;
  };
  const inside = [come(), come()];
  const crowd = Array.from({ length: 1000 }, () => come());
  await settle();
  const staying = crowd.filter(({ ours }) => !ours.destroyed);
  assert.ok(staying.length > 0 && staying.length <= 256, String(staying.length));
  assert.match(
    staying[0]?.received() ?? '',
    /code="102">too many connections from 192\.0\.2\.7, .*cu\.max_connections_per_address/,
  );
  clock.advance(1000);
  assert.ok(crowd.every(({ ours }) => ours.destroyed));
  const event = [
    'connections refused',
    {
      peer: '192.0.2.7:1',
      reason:
        'too many connections from 192.0.2.7, try again later: the limit is 2 (cu.max_connections_per_address)',
    },
  ];
  assert.deepEqual(said, [event]);
  for (const { ours } of inside) ours.destroy();
  await settle();
  for (let n = 0; n < 4; n++) come();
  assert.deepEqual(said, [event, event], 'and again when half of the places were free meanwhile');
  const stopped = cu.stop();
  await settle();
  clock.advance(60_000);
  await stopped;
});

test('lccd-cu reads little of those that send no query, cuts them off, and answers others meanwhile', async () => {
  const config = configOf({ 'cu.anonymous': 'true' });
  const options = { ...cuOptions(config, Infinity), dbPath: cache.dbPath };
  const clock = new ManualClock();
  const cu = new CuServer({
    kept: OPEN_GATE,
    options,
    clock,
    log: silentLog,
    fail: error => assert.fail(String(error)),
  });
  boundReadAhead();
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket);
    cu.accept(describeSocket(socket));
  });
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const floods = Array.from({ length: 30 }, () => {
    const flood = new Cu(port);
    const write = () => {
      while (!flood.socket.destroyed && flood.socket.write('<!-- x -->\n'.repeat(1000)));
    };
    flood.socket
      .on('connect', write)
      .on('drain', write)
      .on('error', () => undefined);
    return flood.reply;
  });
  assert.match(await ask(port, '<query last="yes"/>'), /<lococa:result/);
  for (const reply of floods)
    assert.match(await reply, /code="106">the query is too long: the limit is 16 KB/);
  const read = [...sockets].map(({ bytesRead }) => bytesRead);
  assert.ok(Math.max(...read) <= STRANGER_BYTES, String(Math.max(...read)));
  server.close();
  await cu.stop();
});

test('a query that is not complete within a minute is refused with 106', async () => {
  const clock = new ManualClock();
  const options = { ...cuOptions(configOf({ 'cu.anonymous': 'true' }), Infinity), dbPath: cache.dbPath };
  const fail = (error: unknown) => assert.fail(String(error));
  const cu = new CuServer({ kept: OPEN_GATE, options, clock, log: silentLog, fail });
  const all = ['', '<query>', '<query/'].map(text => {
    const pair = ends();
    cu.accept({ socket: pair.ours as Socket, peer: '192.0.2.7:1', address: '192.0.2.7' });
    pair.theirs.write(text);
    return pair;
  });
  await settle();
  clock.advance(59_999);
  await settle();
  for (const { received } of all) assert.equal(received(), '');
  clock.advance(1);
  await settle();
  for (const { received } of all)
    assert.match(received(), /code="106">no complete query in time: the limit is 1 min</);
  const stopped = cu.stop();
  await settle();
  clock.advance(60_000);
  await stopped;
});
