import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { LccError } from '../../src/lib/errors.js';
import { parseNetwork } from '../../src/lib/network.js';
import { clientAddress } from '../../src/web/client.js';
import { fixed } from '../../src/web/fixed.js';
import { routed } from '../../src/web/routes.js';
import type { WebServer } from '../../src/web/server.js';
import { ask, ground, open, serve } from './support.js';

describe('a table of doors', { timeout: 60_000 }, () => {
  const here = ground({ after });
  const proxies = ['127.0.0.0/8'].map(parseNetwork);
  let server: WebServer;
  before(async () => {
    const listener = routed({
      doors: {
        '/': { GET: () => ({ body: 'home' }) },
        '/echo': { POST: async ({ body, query }) => ({ body: `${query.get('a')} ${String(await body())}` }) },
        '/style.css': { GET: fixed('p{}', 'text/css') },
        '/me': { GET: ({ request }) => ({ body: clientAddress(request, proxies) }) },
        '/direct': { GET: ({ request }) => ({ body: clientAddress(request, []) }) },
        '/bug': {
          GET: () => {
            throw new TypeError('secret of ours');
          },
        },
        '/split': { GET: () => ({ headers: { location: '/a\r\nset-cookie: b' } }) },
        '/full': { GET: () => Promise.reject(new LccError('io.full', '/path/of/ours: no room')) },
        '/wrong': { GET: () => Promise.reject(new LccError('data.malformed', 'a is no number')) },
      },
      elsewhere: 'nothing is here',
      limits: here.limits,
      log: here.services.log,
    });
    server = await serve(here, listener);
  });
  after(() => server.close());

  it('finds a path with and without a slash at its end, and nothing by another spelling', async () => {
    for (const path of ['/', '/?x', '/me', '/me/', '/me?x=/y/'])
      assert.equal((await ask(server, path)).status, 200);
    for (const path of ['/no', '/me//', '/ME', '/%6de', '/echo/..', '//me', '/__proto__', '/constructor']) {
      const { status, body } = await ask(server, path);
      assert.deepEqual([status, body], [404, 'nothing is here\n'], path);
    }
  });

  it('answers HEAD as GET without the body, and says which methods a door has', async () => {
    const head = await ask(server, '/', { method: 'HEAD' });
    assert.deepEqual([head.status, head.headers['content-length'], head.body], [200, '4', '']);
    for (const [path, method, allow] of [
      ['/', 'POST', 'GET, HEAD'],
      ['/echo', 'GET', 'POST'],
      ['/echo', 'HEAD', 'POST'],
    ] as const) {
      const { status, headers } = await ask(server, path, { method });
      assert.deepEqual([status, headers.allow], [405, allow]);
    }
  });

  it('hands a body to its door, and refuses one that is too large, announced or not, with the setting', async () => {
    const post = (body: string, headers = {}) => ask(server, '/echo?a=b', { method: 'POST', body, headers });
    assert.equal((await post('x'.repeat(16_384))).body, `b ${'x'.repeat(16_384)}`);
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
      const { status, body } = await post('x'.repeat(16_385), headers);
      assert.deepEqual([status, body], [413, 'the body is larger than 16 KB (web.max_body_bytes)\n']);
    }
  });

  it('survives a body that is cut', async () => {
    const { socket, heard } = await open(server);
    socket.write('POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc');
    socket.end();
    await heard;
    assert.equal((await ask(server, '/')).status, 200);
  });

  it('shows a client what it can mend, and keeps to the log what it cannot', async () => {
    assert.deepEqual(
      [await ask(server, '/wrong')].map(({ status, body }) => [status, body]),
      [[400, 'a is no number\n']],
    );
    for (const [path, expected] of [
      ['/bug', 500],
      ['/full', 503],
    ] as const) {
      const { status, body } = await ask(server, path);
      assert.equal(status, expected);
      assert.doesNotMatch(body, /ours/);
    }
    await assert.rejects(ask(server, '/split'), /socket hang up|ECONNRESET/);
    assert.deepEqual(here.errors, [
      { path: '/bug', error: 'secret of ours' },
      { path: '/full', error: '/path/of/ours: no room' },
      { path: '/split', error: 'Invalid character in header content ["location"]' },
    ]);
  });

  it('says of fixed content that has not changed no more than that', async () => {
    const first = await ask(server, '/style.css');
    const { etag = '' } = first.headers;
    assert.deepEqual([first.headers['content-type'], first.body], ['text/css', 'p{}']);
    for (const named of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const { status, body } = await ask(server, '/style.css', { headers: { 'if-none-match': named } });
      assert.deepEqual([status, body], [304, ''], named);
    }
    assert.equal((await ask(server, '/style.css', { headers: { 'if-none-match': '"x"' } })).status, 200);
  });

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
