/** PUT, DELETE, PURGE and HEAD, with a body to send and without, over TCP and TLS. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import type { FetchJob } from '../../src/fetch/job.js';
import { MemorySink } from '../../src/fetch/sink.js';
import { noNginx, startSite } from '../support/nginx.js';
import { Authority } from './authority.js';
import { fetchOnce, md5, newEngine, newFolder, PATIENT, rawServer } from './support.js';

const MEGABYTE = Buffer.alloc(1024 * 1024, 'a body to send ');

describe('nginx with WebDAV', { skip: noNginx }, () => {
  it('takes what is put, from memory and from a file, and loses what is deleted', async () => {
    const [docroot, stateDir] = [join(newFolder(), 'www'), newFolder()];
    mkdirSync(docroot);
    const site = await startSite(docroot, stateDir, {
      location: 'dav_methods PUT DELETE; create_full_put_path on; client_max_body_size 2m;',
    });
    after(() => site.stop());
    const engine = newEngine();
    const ask = (path: string, job: Partial<FetchJob>) =>
      fetchOnce(engine, { url: site.url + path, sink: () => undefined, ...job });
    const file = join(newFolder(), 'source');
    writeFileSync(file, MEGABYTE);

    const small = await ask('a/small.html', { method: 'PUT', body: { bytes: Buffer.from('<p>page') } });
    assert.ok(small.status === 'ok' && small.http === 201, JSON.stringify(small));
    assert.equal(readFileSync(join(docroot, 'a/small.html'), 'utf8'), '<p>page');
    const large = await ask('large.html', { method: 'PUT', body: { file, length: MEGABYTE.length } });
    assert.ok(large.status === 'ok' && large.http === 201);
    assert.ok(readFileSync(join(docroot, 'large.html')).equals(MEGABYTE));
    const again = await ask('large.html', { method: 'PUT', body: { bytes: Buffer.alloc(0) } });
    assert.ok(again.status === 'ok' && again.http === 204);
    assert.equal(readFileSync(join(docroot, 'large.html')).length, 0);

    // In the second of its change it has no validators.
    utimesSync(join(docroot, 'a/small.html'), 1e9, 1e9);
    const head = await ask('a/small.html', { method: 'HEAD' });
    assert.ok(head.status === 'ok' && head.http === 200);
    assert.deepEqual([head.contentLength, head.len, head.md5, head.mimetype], [7, 0, '', 'text/html']);
    const etag = head.etag ?? '';
    assert.equal((await ask('a/small.html', { method: 'HEAD', etag })).status, 'unchanged');

    const gone = await ask('a/small.html', { method: 'DELETE' });
    assert.ok(gone.status === 'ok' && gone.http === 204);
    assert.ok(!existsSync(join(docroot, 'a/small.html')));
    for (const [method, path, status] of [
      ['DELETE', 'a/small.html', 404],
      ['HEAD', 'a/small.html', 404],
      ['PURGE', 'large.html', 405],
    ] as const) {
      const refused = await ask(path, { method });
      assert.deepEqual(refused.status === 'error' && refused.failure, { kind: 'status', status }, method);
    }
    const tooLarge = await ask('x', {
      method: 'PUT',
      body: { bytes: Buffer.concat([MEGABYTE, MEGABYTE, MEGABYTE]) },
    });
    assert.equal(tooLarge.status, 'error', 'more than nginx takes');
    // One connection after the other is used again, but for the last, which nginx ends.
    assert.deepEqual(
      (await site.requests()).map(line => line.split(' ')[0]),
      ['PUT', 'PUT', 'PUT', 'HEAD', 'HEAD', 'DELETE', 'DELETE', 'HEAD', 'PURGE', 'PUT'],
    );
  });
});

interface Asked {
  method: string;
  path: string;
  host: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

/** A server that says what it was asked. */
async function echo(make: (serve: (request: IncomingMessage, response: ServerResponse) => void) => Server) {
  const asked: Asked[] = [];
  const server = make((request, response) => {
    const answer = (body: Buffer) => {
      const { method = '', url = '', headers } = request;
      const host = headers.host ?? String(headers[':authority' as 'host']);
      asked.push({ method, path: url, host, headers, body });
      const status = Number(/status=(\d+)/.exec(url)?.[1] ?? 200);
      response.writeHead(status, { 'content-type': 'text/plain', location: '/elsewhere' });
      response.end(status === 204 ? undefined : `${method} of ${body.length} bytes`);
    };
    // One that is given up in the middle was not asked.
    buffer(request).then(answer, () => undefined);
  });
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  after(() => server.close());
  server.unref();
  return { asked, port: (server.address() as AddressInfo).port };
}

const file = join(newFolder(), 'body');
writeFileSync(file, MEGABYTE);
const authority = new Authority();
const { key, cert } = authority.issue();

for (const [protocol, make] of [
  ['TCP', serve => createServer(serve)],
  ['TLS', serve => createSecureServer({ key, cert }, serve)],
] as const satisfies [string, Parameters<typeof echo>[0]][]) {
  describe(`a request of any method over ${protocol}`, () => {
    const newScene = async () => {
      const { asked, port } = await echo(make);
      const url = protocol === 'TLS' ? `https://localhost:${port}/` : `http://127.0.0.1:${port}/`;
      const engine = newEngine({ ...PATIENT, ca: authority.ca });
      const ask = async (path: string, job: Partial<FetchJob>) => {
        const into = new MemorySink();
        const outcome = await fetchOnce(engine, { url: url + path, into, ...job });
        return { outcome, text: into.bytes().toString() };
      };
      return { asked, url, ask };
    };

    it('carries its body and its headers, and gives back what the server says', async () => {
      const { asked, ask } = await newScene();
      const bodies = [
        { bytes: Buffer.from('small') },
        { bytes: MEGABYTE },
        { file, length: MEGABYTE.length },
        { bytes: Buffer.alloc(0) },
        undefined,
      ];
      for (const method of ['PUT', 'DELETE', 'PURGE', 'MKCOL'] as const) {
        for (const body of bodies) {
          const headers = ['content-type', 'text/css', 'x-key', 'k1 k2', 'x-bad', 'a\r\nx-injected: yes'];
          const { outcome, text } = await ask('page', { method, headers, ...(body && { body }) });
          const last = asked.at(-1);
          const sent = body === undefined ? Buffer.alloc(0) : 'bytes' in body ? body.bytes : MEGABYTE;
          assert.ok(last !== undefined && outcome.status === 'ok', JSON.stringify(outcome));
          assert.deepEqual([last.method, last.path], [method, '/page']);
          assert.ok(last.body.equals(sent), `${method} ${last.body.length} of ${sent.length}`);
          assert.deepEqual([last.headers['content-type'], last.headers['x-key']], ['text/css', 'k1 k2']);
          assert.deepEqual([last.headers['x-bad'], last.headers['x-injected']], [undefined, undefined]);
          assert.equal(text, `${method} of ${sent.length} bytes`);
          assert.deepEqual([outcome.md5, outcome.len], [md5(text), text.length]);
        }
      }
    });

    it('takes every 2xx for done, and nothing else; follows no redirect but those of GET and HEAD', async () => {
      const { asked, url, ask } = await newScene();
      for (const method of ['PUT', 'DELETE', 'PURGE'] as const) {
        for (const status of [200, 201, 202, 204, 207]) {
          const { outcome } = await ask(`?status=${status}`, { method });
          assert.ok(outcome.status === 'ok' && outcome.http === status, `${method} ${status}`);
        }
        for (const status of [301, 302, 303, 304, 307, 308, 409, 500]) {
          const { outcome } = await ask(`?status=${status}`, { method });
          // Where a redirect leads to is said, and not gone to.
          const isLed = status < 400 && status !== 304;
          const location = isLed ? { location: `${url}elsewhere` } : {};
          assert.deepEqual(outcome.status === 'error' && outcome.failure, {
            kind: 'status',
            status,
            ...location,
          });
        }
      }
      const { outcome } = await ask('?status=302', { method: 'HEAD' });
      assert.ok(outcome.status === 'ok' && outcome.finalUrl === `${url}elsewhere`);
      assert.deepEqual(
        asked.slice(-2).map(({ method, path }) => `${method} ${path}`),
        ['HEAD /?status=302', 'HEAD /elsewhere'],
      );
    });

    it('may be for another host than the one that is asked', async () => {
      const { asked, ask } = await newScene();
      await ask('page', { method: 'PURGE', headers: ['host', 'localhost'] });
      assert.equal(asked[0]?.host, 'localhost');
    });

    it('says that what was to be sent cannot be read', async () => {
      const { ask } = await newScene();
      const body = { file: join(newFolder(), 'not-there'), length: 10 };
      const { outcome } = await ask('page', { method: 'PUT', body });
      assert.ok(outcome.status === 'error' && outcome.failure.kind === 'source', JSON.stringify(outcome));
      assert.match(String(outcome.failure.error), /ENOENT/);
    });

    it('does not send less than it said', async () => {
      const { asked, ask } = await newScene();
      const { outcome } = await ask('page', { method: 'PUT', body: { file, length: MEGABYTE.length + 1 } });
      assert.equal(outcome.status, 'error');
      assert.deepEqual(asked, []);
    });
  });
}

describe('a method that servers of their own kind have', () => {
  it('is sent as it is written, and not at all when it cannot be one', async () => {
    const server = await rawServer(socket => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
    const ask = (method: Uppercase<string>) =>
      fetchOnce(newEngine(), { url: `${server.url}a`, method, sink: () => undefined });
    for (const method of ['BAN', 'SOFTPURGE', 'REFRESH'] as const)
      assert.equal((await ask(method)).status, 'ok', method);
    assert.deepEqual(
      server.requests.map(request => request.split('\r\n', 1)[0]),
      ['BAN /a HTTP/1.1', 'SOFTPURGE /a HTTP/1.1', 'REFRESH /a HTTP/1.1'],
    );
    for (const method of ['A B', '', 'A\r\nX: Y'] as const) {
      const outcome = await ask(method);
      assert.ok(outcome.status === 'error' && outcome.failure.kind === 'bad-url', method);
    }
    assert.equal(server.requests.length, 3);
  });
});

describe('a body on its way', () => {
  it('is sent whole again where a connection turns out to be closed', async () => {
    let first = true;
    const server = await rawServer((socket, request) => {
      if (request.startsWith('GET')) {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      } else if (first) {
        first = false;
        socket.resetAndDestroy();
      } else socket.write('HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n');
    });
    const engine = newEngine();
    await fetchOnce(engine, { url: server.url, sink: () => undefined });
    const outcome = await fetchOnce(engine, {
      url: server.url,
      method: 'PUT',
      body: { bytes: Buffer.from('x') },
      sink: () => undefined,
    });
    assert.ok(outcome.status === 'ok' && outcome.http === 201, JSON.stringify(outcome));
    assert.equal(server.connections, 2);
  });

  it('may take longer than the answer to it, as long as it moves', async () => {
    // Takes a megabyte, rests, takes the next: in all longer than the time to the headers.
    const server = createServer((request, response) => {
      let taken = 0;
      request.on('data', (chunk: Buffer) => {
        taken += chunk.length;
        if (taken < MEGABYTE.length) return;
        taken -= MEGABYTE.length;
        request.pause();
        setTimeout(() => request.resume(), 30);
      });
      request.on('end', () => void response.end('done'));
    });
    await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
    after(() => server.close());
    const large = join(newFolder(), 'large');
    writeFileSync(large, Buffer.alloc(64 * MEGABYTE.length));
    const { port } = server.address() as AddressInfo;
    const outcome = await fetchOnce(newEngine({ ...PATIENT, headersTimeoutMs: 1500 }), {
      url: `http://127.0.0.1:${port}/`,
      method: 'PUT',
      body: { file: large, length: 64 * MEGABYTE.length },
      sink: () => undefined,
    });
    assert.equal(outcome.status, 'ok', JSON.stringify(outcome));
  });
});
