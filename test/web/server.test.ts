import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../support/until.js';
import { ask, ground, open, serve } from './support.js';

const BOUND_MS = 30_000;
const hello = (_request: unknown, response: ServerResponse) => void response.end('hello');

test('listens on every kind of endpoint, several at a time', { timeout: BOUND_MS }, async t => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-web-'));
  try {
    const server = await serve(ground(t), hello, ['127.0.0.1:0', '[::1]:0', `unix:${dir}/web.sock`]);
    assert.equal(server.endpoints.length, 3);
    for (const endpoint of server.endpoints)
      assert.equal((await ask({ endpoints: [endpoint] }, '/')).body, 'hello');
    await server.close();
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test(
  'a request with two Host headers is none: a proxy in front may have looked at the other',
  { timeout: BOUND_MS },
  async t => {
    let asked = 0;
    const server = await serve(ground(t), (_request, response) => void response.end(String(++asked)));
    for (const hosts of ['Host: x\r\nHost: y', 'Host: x\r\nhost: x']) {
      const { socket, heard } = await open(server);
      socket.write(`GET / HTTP/1.1\r\n${hosts}\r\n\r\n`);
      assert.match(await heard, /^HTTP\/1\.1 400 [\s\S]*there is more than one Host header/);
    }
    assert.equal(asked, 0);
    await server.close();
  },
);

test(
  'one connection carries one request, and every answer has the headers that keep browsers safe',
  { timeout: BOUND_MS },
  async t => {
    const server = await serve(ground(t), (_request, response) =>
      response.setHeader('cache-control', 'no-cache').end(),
    );
    const { headers } = await ask(server, '/');
    assert.equal(headers.connection, 'close');
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.match(String(headers['content-security-policy']), /^default-src 'none';.* frame-ancestors 'none'/);
    assert.equal(headers['referrer-policy'], 'same-origin');
    assert.equal(headers['cache-control'], 'no-cache', 'a door has the last word');
    await server.close();
  },
);

test('what follows the first request of a connection is no request', { timeout: BOUND_MS }, async t => {
  const asked: (string | undefined)[] = [];
  const server = await serve(ground(t), (request, response) => {
    asked.push(request.url);
    setImmediate(() => response.end('first'));
  });
  const { socket, heard } = await open(server);
  socket.write('GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\n\r\n');
  assert.match(await heard, /first$/);
  assert.deepEqual(asked, ['/1']);
  await server.close();
});

test('a listener that throws ends its connection, and nothing else', { timeout: BOUND_MS }, async t => {
  const here = ground(t);
  const server = await serve(here, (request, response) => {
    if (request.url === '/bug') throw new TypeError('a bug');
    response.end('well');
  });
  await assert.rejects(ask(server, '/bug'), /socket hang up|ECONNRESET/);
  assert.equal((await ask(server, '/')).body, 'well');
  assert.deepEqual(here.errors, [{ error: 'a bug' }]);
  await server.close();
});

test('a client that has not asked in time is told the limit and cut off', { timeout: BOUND_MS }, async t => {
  const { clock, ...rest } = ground(t);
  const server = await serve({ clock, ...rest }, hello);
  const { socket, heard } = await open(server);
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n');
  // Answered, so the first connection has been taken on as well.
  await ask(server, '/');
  clock.advance(9_999);
  assert.equal(socket.destroyed, false);
  clock.advance(1);
  assert.match(await heard, /^HTTP\/1\.1 408 [^]*longer than 10 s\n$/);
  await server.close();
});

test(
  'a client that has no answer in time is told the limit; one that has half of it is cut off',
  { timeout: BOUND_MS },
  async t => {
    const { clock, ...rest } = ground(t);
    let arrived = 0;
    let both: () => void;
    const asked = new Promise<void>(resolve => (both = resolve));
    const server = await serve({ clock, ...rest }, (request, response) => {
      if (request.url === '/half') response.write('half');
      if (++arrived === 2) both();
    });
    const [none, half] = [await open(server), await open(server)];
    none.socket.write('POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n');
    half.socket.write('GET /half HTTP/1.1\r\nHost: x\r\n\r\n');
    await asked;
    await new Promise<void>(resolve => void half.socket.once('data', () => resolve()));
    clock.advance(10_000);
    assert.deepEqual([none.socket.destroyed, half.socket.destroyed], [false, false]);
    clock.advance(10_000);
    assert.match(await none.heard, /^HTTP\/1\.1 408 [^]*longer than 20 s\n$/);
    assert.match(await half.heard, /^HTTP\/1\.1 200 [^]*4\r\nhalf\r\n$/);
    await server.close();
  },
);

test(
  'an answer that is there before all of its request was read is heard, and the connection ends soon',
  { timeout: BOUND_MS },
  async t => {
    const { clock, ...rest } = ground(t);
    const limits = { ...rest.limits, maxBodyBytes: 1024 * 1024 };
    const server = await serve({ clock, ...rest, limits }, (request, response) => {
      // Long after its first bytes, and long before its last.
      request.once('data', () => response.writeHead(413).end('too large'));
    });
    const sender = await open(server);
    const piece = `${(64 * 1024).toString(16)}\r\n${'x'.repeat(64 * 1024)}\r\n`;
    sender.socket.write(`POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${piece}`);
    for (let i = 0; i < 15; i++)
      await new Promise<void>(resolve => void sender.socket.write(piece, () => resolve()));
    sender.socket.write('0\r\n\r\n');
    assert.match(await sender.heard, /^HTTP\/1\.1 413 [^]*too large/);
    const idle = await open(server);
    idle.socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx');
    assert.match(await idle.heard, /413/);
    const closed = server.close();
    clock.advance(5000);
    await closed;
  },
);

test('headers that are too large are refused with 431', { timeout: BOUND_MS }, async t => {
  const at = ground(t);
  const server = await serve({ ...at, limits: { ...at.limits, maxHeaderBytes: 1024 } }, hello);
  assert.equal((await ask(server, '/', { headers: { 'x-a': 'a'.repeat(900) } })).status, 200);
  const { status, body } = await ask(server, '/', { headers: { 'x-a': 'a'.repeat(1100) } });
  assert.deepEqual([status, body], [431, 'the headers are longer than 1 KB\n']);
  await server.close();
});

test('an address that is too long is refused with 414, whatever it is of', { timeout: BOUND_MS }, async t => {
  const server = await serve(ground(t), hello);
  const most = 8 * 1024;
  assert.equal((await ask(server, `/${'a'.repeat(most - 1)}`)).status, 200);
  for (const path of [`/${'a'.repeat(most)}`, `/?a=${'%20'.repeat(most / 3)}`]) {
    const { status, body } = await ask(server, path);
    assert.deepEqual([status, body], [414, 'the address is longer than 8 KB\n']);
  }
  await server.close();
});

test('what is no request is told so, once, also in the middle of a body', { timeout: BOUND_MS }, async t => {
  const server = await serve(ground(t), (_request, response) => void response);
  for (const text of [
    'SSH-2.0-x\r\n\r\n',
    'SSH-2.0-x\r\nSSH\r\n\r\nSSH\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno number\r\n',
  ]) {
    const { socket, heard } = await open(server);
    socket.end(text);
    const said = await heard;
    assert.match(said, /^HTTP\/1\.1 400 Bad Request\r\n[^]*\r\n\r\nthis is no HTTP request\n$/);
    assert.equal(said.split('HTTP/1.1').length, 2);
  }
  await server.close();
});

test(
  'a client that sends more than a request has is cut off, be it empty lines or a body',
  { timeout: BOUND_MS },
  async t => {
    const server = await serve(ground(t), (_request, response) => void response);
    for (const [head, more] of [
      ['', '\r\n'],
      ['POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n', '1;x\r\nx\r\n'],
    ] as const) {
      const { socket, heard } = await open(server);
      const block = more.repeat(1000);
      socket.write(head);
      const write = () => {
        while (!socket.destroyed && socket.write(block));
      };
      socket.on('drain', write);
      write();
      await heard;
    }
    await server.close();
  },
);

test(
  'a connection beyond the limit takes the place of the one that has waited longest without having asked',
  { timeout: BOUND_MS },
  async t => {
    const server = await serve(
      ground(t, { 'web.max_connections': '3' }),
      (request, response) => void request.resume().once('end', () => response.end('hello')),
    );
    const inside = [];
    for (let i = 0; i < 3; i++) inside.push(await open(server));
    const [silent, slowBody, last] = inside;
    slowBody?.socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nslow');
    for (const one of [silent, slowBody]) {
      const request = ask(server, '/');
      assert.match(
        (await one?.heard) ?? '',
        /^HTTP\/1\.1 503 [^]*too many connections of HTTP clients, [^]*3 \(web\.max_connections\)/,
      );
      assert.equal((await request).status, 200);
      inside.push(await open(server));
    }
    last?.socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.match((await last?.heard) ?? '', /hello/);
    for (const { socket } of inside) socket.destroy();
    await server.close();
  },
);

test(
  'a connection beyond the limit is told so when all others have asked; the next is served when another has gone',
  { timeout: BOUND_MS },
  async t => {
    const answers: (() => void)[] = [];
    const server = await serve(ground(t, { 'web.max_connections': '3' }), (_request, response) => {
      answers.push(() => void response.end('hello'));
    });
    const inside = await Promise.all([open(server), open(server), open(server)]);
    for (const { socket } of inside) socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await until('all have asked', () => answers.length === 3);
    const { heard } = await open(server);
    assert.match(
      await heard,
      /^HTTP\/1\.1 503 [^]*too many connections of HTTP clients, [^]*3 \(web\.max_connections\)/,
    );
    answers[0]?.();
    assert.match((await Promise.race(inside.map(each => each.heard))) ?? '', /hello/);
    const next = ask(server, '/');
    await until('the next has asked', () => answers.length === 4);
    for (const answer of answers.slice(1)) answer();
    assert.equal((await next).status, 200);
    await server.close();
  },
);

test(
  'closes in order: no new connection, none that has not asked, the answers begun are finished',
  { timeout: BOUND_MS },
  async t => {
    let answer: (() => void) | undefined;
    let begun: () => void;
    const asked = new Promise<void>(resolve => (begun = resolve));
    const server = await serve(ground(t), (_request, response) => {
      answer = () => void response.end('whole');
      begun();
    });
    const silent = await open(server);
    const waiting = ask(server, '/');
    await asked;
    let isClosed = false;
    const closed = server.close().then(() => (isClosed = true));
    assert.equal(await silent.heard, '');
    await assert.rejects(ask(server, '/'), /ECONNREFUSED/);
    assert.equal(isClosed, false);
    answer?.();
    assert.equal((await waiting).body, 'whole');
    await closed;
  },
);
