import assert from 'node:assert/strict';
import type { IncomingMessage, RequestListener } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { parseNetwork } from '../../src/lib/network.js';
import { clientAddress } from '../../src/web/client.js';
import type { WebServer } from '../../src/web/server.js';
import { ask, ground, serve } from './support.js';

describe('the address of a client', { timeout: 60_000 }, () => {
  const here = ground({ after });
  const proxies = ['127.0.0.0/8'].map(parseNetwork);
  let server: WebServer;
  before(async () => {
    const listener: RequestListener = (request, response) =>
      void response.end(clientAddress(request, request.url === '/me' ? proxies : []));
    server = await serve(here, listener);
  });
  after(() => server.close());

  it('believes a proxy, and none else, for whom it asks', async () => {
    const asked = async (path: string, forwarded?: string) =>
      (await ask(server, path, forwarded === undefined ? {} : { headers: { 'x-forwarded-for': forwarded } }))
        .body;
    assert.equal(await asked('/me'), '127.0.0.1');
    assert.equal(await asked('/me', '192.0.2.1, 192.0.2.7'), '192.0.2.7');
    assert.equal(await asked('/me', '2001:DB8:0::1'), '2001:db8::1');
    assert.equal(await asked('/me', '::ffff:192.0.2.7'), '192.0.2.7');
    assert.equal(await asked('/me', '192.0.2.1, unknown'), '127.0.0.1');
    assert.equal(await asked('/direct', '192.0.2.7'), '127.0.0.1');
    // As proxies in a row, and those that add a port, write it.
    for (const [forwarded, client] of [
      ['192.0.2.5:5678', '192.0.2.5'],
      ['[2001:db8::1]:443', '2001:db8::1'],
      ['[2001:db8::1]', '2001:db8::1'],
      ['192.0.2.6,', '192.0.2.6'],
      ['192.0.2.1, 192.0.2.6, 127.0.0.1', '192.0.2.6'],
      ['127.0.0.1:80, 127.0.0.1', '127.0.0.1'],
      ['192.0.2.1, x, 127.0.0.1', '127.0.0.1'],
      [' , ', '127.0.0.1'],
    ] as const)
      assert.equal(await asked('/me', forwarded), client, forwarded);
  });

  it('believes who may connect to a Unix socket, where somebody is believed', () => {
    const headers = { 'x-forwarded-for': '192.0.2.1, 192.0.2.7:99' };
    const request = { socket: {}, headers } as unknown as IncomingMessage;
    assert.equal(clientAddress(request, []), '192.0.2.7');
    assert.equal(clientAddress(request, undefined), '');
    const silent = { socket: {}, headers: {} } as unknown as IncomingMessage;
    assert.equal(clientAddress(silent, []), '');
  });
});
