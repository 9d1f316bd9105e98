import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { it } from 'node:test';
import { Exchange } from '../../src/fetch/exchange.js';
import { LenientExchange } from '../../src/fetch/lenient-exchange.js';
import { Links } from '../../src/fetch/kept-connections.js';
import { until } from '../support/until.js';

/** A host that never answers, and what is being connected to it. */
function deaf(): { connect: () => Socket; sockets: Socket[] } {
  const sockets: Socket[] = [];
  const connect = () => {
    const socket = new Socket().on('error', () => undefined);
    sockets.push(socket);
    return socket;
  };
  return { connect, sockets };
}

const nobody = { onFailure: () => assert.fail('nobody asked') } as never;
const limits = { maxHeaderBytes: 1000, headerLimitText: '' };

it('a fetch that is given up leaves no connection that is being made', async () => {
  const { connect, sockets } = deaf();
  const links = new Links({
    connect,
    maxHeaderBytes: 1000,
    maxIdleConnections: 1,
    keepAliveMs: 0,
  });
  const link = links.take('http://127.0.0.1:1', false);
  const exchange = new Exchange(links, link, nobody, limits);
  exchange.start({ method: 'GET', path: '/', headers: [], body: undefined });
  await until('it connects', () => sockets[0]?.destroyed === false);
  exchange.cancel();
  assert.deepEqual(
    sockets.map(({ destroyed }) => destroyed),
    [true],
  );
});

it('nor does one that is asked for leniently', () => {
  const { connect, sockets } = deaf();
  const exchange = new LenientExchange(connect, 'http://127.0.0.1:1', undefined, nobody, {
    ...limits,
    takesOldAnswers: false,
  });
  exchange.start({ method: 'GET', path: '/', headers: [], body: undefined });
  exchange.cancel();
  assert.deepEqual(
    sockets.map(({ destroyed }) => destroyed),
    [true],
  );
});
