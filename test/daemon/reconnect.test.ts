import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { loadConfig } from '../../src/config/load.js';
import { keepConnected } from '../../src/daemon/reconnect.js';
import type { Peer } from '../../src/daemon/types.js';
import { systemClock } from '../../src/lib/clock.js';
import { createLog } from '../../src/lib/log.js';
import { ManualClock } from '../support/manual-clock.js';
import { until } from '../support/until.js';

const CONNECTIONS = 16;
let home: string;
let peers: Peer[];
let server: Server;
let sockets: Set<Socket>;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'lcc-peers-'));
  peers = [];
  sockets = new Set();
  server = createServer(socket => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.resume();
  });
});
afterEach(() => {
  for (const peer of peers) peer.close();
  for (const socket of sockets) socket.destroy();
  server.close();
  rmSync(home, { recursive: true });
});

const path = () => join(home, 'qm.sock');

/** With the lines logged, `level event cause`. */
function contextOf(): { lines: string[]; context: Parameters<typeof keepConnected>[1] } {
  const lines: string[] = [];
  const log = createLog({
    name: 'test',
    level: 'info',
    human: false,
    write: line => {
      const { level, event, cause = '' } = JSON.parse(line) as Record<string, string>;
      lines.push(`${level} ${event} ${cause}`.trimEnd());
    },
  });
  const { net } = loadConfig({ env: { LCC_HOME: home }, file: undefined, overrides: {} }).settings;
  return { lines, context: { net, clock: systemClock, log, servers: new Map(), role: 'server' } };
}

/** Keeps connections to one server and returns the lines logged of them. */
function connectAll(): string[] {
  const { lines, context } = contextOf();
  for (let i = 0; i < CONNECTIONS; i++)
    peers.push(keepConnected({ kind: 'unix', path: path() }, context, ({ socket }) => socket.resume()));
  return lines;
}

const listen = async () => {
  server.listen(path());
  await once(server, 'listening');
};

describe('the connections to one server', () => {
  it('are logged as one: when the first is made, and when the last is lost', async () => {
    await listen();
    const lines = connectAll();
    await until('peers have said so', () => peers.every(peer => peer.connected));
    assert.deepEqual(lines, ['info connected']);

    const [one] = sockets;
    one?.destroy();
    await until(
      'peers have said so',
      () => sockets.size > CONNECTIONS && peers.every(peer => peer.connected),
    );
    assert.deepEqual(lines, ['info connected'], 'one was lost and made again');

    server.close();
    for (const socket of sockets) socket.destroy();
    await until('peers have said so', () => peers.every(peer => !peer.connected));
    assert.deepEqual(lines, [
      'info connected',
      `info connection lost the server at unix:${path()} closed it; this side connects again by itself`,
    ]);
  });

  it('are logged as one when the server is not there', async () => {
    const lines = connectAll();
    await until('peers have said so', () => lines.length > 0);
    await listen();
    await until('peers have said so', () => peers.every(peer => peer.connected));
    assert.deepEqual(lines, [`warn cannot connect, retrying connect ENOENT ${path()}`, 'info connected']);
  });

  it('are logged once while the server accepts and closes at once, and when one lives again', async () => {
    let accepted = 0;
    let closes = true;
    server.on('connection', socket => {
      accepted++;
      if (closes) socket.destroy();
    });
    await listen();
    const { lines, context } = contextOf();
    const clock = new ManualClock();
    const peer = keepConnected({ kind: 'unix', path: path() }, { ...context, clock }, ({ socket }) =>
      socket.resume(),
    );
    peers.push(peer);
    const nextTry = async () => {
      const before = accepted;
      // The longest delay that may come.
      await until('it is tried again', () => {
        clock.advance(100);
        return accepted > before;
      });
    };
    for (let n = 0; n < 12; n++) await nextTry();
    const told = [
      'info connected',
      `info connection lost the server at unix:${path()} closed it; this side connects again by itself`,
      `warn connections are closed at once, retrying the server at unix:${path()} closed it: its log says why`,
    ];
    assert.deepEqual(lines, told);
    closes = false;
    await nextTry();
    await until('peers have said so', () => peer.connected);
    assert.deepEqual(lines, told, 'it may be closed yet');
    clock.advance(2000);
    assert.deepEqual(lines, [...told, 'info connected']);
  });

  it('leave no line when they are closed here', async () => {
    await listen();
    const lines = connectAll();
    await until('peers have said so', () => peers.every(peer => peer.connected));
    for (const peer of peers) peer.close();
    await until('peers have said so', () => peers.every(peer => !peer.connected));
    assert.deepEqual(lines, ['info connected']);
  });

  it('outlives certificates that cannot be read for a while, but do not begin without them', async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const authorities = join(home, 'ca.pem');
    writeFileSync(join(home, 'lcc.toml'), `net.tls_ca = ${JSON.stringify(authorities)}\n`);
    const endpoint = { kind: 'tls', host: '127.0.0.1', port } as const;
    const { lines, context } = contextOf();
    const refused = { code: 'config', message: /net\.tls_ca: .*ca\.pem/ };
    assert.throws(() => keepConnected(endpoint, context, () => undefined), refused);
    writeFileSync(authorities, '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n');
    peers.push(keepConnected(endpoint, context, () => undefined));
    rmSync(authorities);
    for (const socket of sockets) socket.destroy();
    server.on('connection', socket => socket.destroy());
    await until('peers have said so', () => lines.some(line => line.startsWith('error cannot connect')));
  });
});

describe('a connection that may go to several places', () => {
  const places = () =>
    ['gone.sock', 'qm.sock'].map(name => ({ kind: 'unix', path: join(home, name) }) as const);

  it('goes to the next within half a second where one is away, and to the first again after a good one', async () => {
    await listen();
    const clock = new ManualClock();
    const { lines, context } = contextOf();
    let accepted = 0;
    server.on('connection', () => accepted++);
    const peer = keepConnected(places(), { ...context, clock }, ({ socket }) => socket.resume());
    peers.push(peer);
    await until('the first was tried', () => clock.nextMs() !== undefined);
    clock.advance(500);
    await until('the second is connected to', () => peer.connected && accepted === 1);
    assert.deepEqual(lines, ['info connected']);
    clock.advance(2000);

    const first = createServer(socket => void sockets.add(socket.resume()));
    first.listen(join(home, 'gone.sock'));
    await once(first, 'listening');
    const [connection] = sockets;
    connection?.destroy();
    await until('the loss is seen', () => !peer.connected);
    clock.advance(500);
    await until('the first is connected to', () => peer.connected);
    assert.equal(accepted, 1, 'one connection at a time');
    first.close();
  });

  it('does not wait long for a place that says nothing', async () => {
    // A queue that is full: who connects waits for ever.
    const full = createServer();
    full.listen({ host: '127.0.0.1', port: 0, backlog: 1 });
    await once(full, 'listening');
    const { port } = full.address() as AddressInfo;
    await listen();
    const { context } = contextOf();
    const mute = { kind: 'tls', host: '127.0.0.1', port } as const;
    const peer = keepConnected([mute, { kind: 'unix', path: path() }], context, ({ socket }) =>
      socket.resume(),
    );
    peers.push(peer);
    full.on('connection', socket => void sockets.add(socket));
    await until('the other is connected to', () => peer.connected);
    full.close();
  });
});
