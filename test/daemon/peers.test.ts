import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { loadConfig } from '../../src/config/load.js';
import { keepConnected } from '../../src/daemon/peers.js';
import type { Peer } from '../../src/daemon/types.js';
import { systemClock } from '../../src/lib/clock.js';
import { createLog } from '../../src/lib/log.js';

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

/** Keeps connections to one server and returns the lines logged of them, `level event cause`. */
function connectAll(): string[] {
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
  const config = loadConfig({ env: { LCC_HOME: home }, file: undefined, overrides: {} });
  const context = { config, clock: systemClock, log, servers: new Map() };
  for (let i = 0; i < CONNECTIONS; i++)
    peers.push(keepConnected({ kind: 'unix', path: path() }, context, ({ socket }) => socket.resume()));
  return lines;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setTimeout(resolve, 5));
}

const listen = async () => {
  server.listen(path());
  await once(server, 'listening');
};

describe('the connections to one server', () => {
  it('are logged as one: when the first is made, and when the last is lost', async () => {
    await listen();
    const lines = connectAll();
    await until(() => peers.every(peer => peer.connected));
    assert.deepEqual(lines, ['info connected']);

    const [one] = sockets;
    one?.destroy();
    await until(() => sockets.size > CONNECTIONS && peers.every(peer => peer.connected));
    assert.deepEqual(lines, ['info connected'], 'one was lost and made again');

    server.close();
    for (const socket of sockets) socket.destroy();
    await until(() => peers.every(peer => !peer.connected));
    assert.deepEqual(lines, ['info connected', 'info connection lost closed by the other side']);
  });

  it('are logged as one when the server is not there', async () => {
    const lines = connectAll();
    await until(() => lines.length > 0);
    await listen();
    await until(() => peers.every(peer => peer.connected));
    assert.deepEqual(lines, [`warn cannot connect, trying on connect ENOENT ${path()}`, 'info connected']);
  });

  it('leave no line when they are closed here', async () => {
    await listen();
    const lines = connectAll();
    await until(() => peers.every(peer => peer.connected));
    for (const peer of peers) peer.close();
    await until(() => peers.every(peer => !peer.connected));
    assert.deepEqual(lines, ['info connected']);
  });
});
