import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Resolve } from '../../src/fetch/connect.js';
import { answer, fetchOnce, filesBelow, newEngine, newFolder, rawServer, verdict } from './support.js';

/** Answers each look-up with the next list, the last one for ever. */
function resolver(...lists: string[][]): Resolve & { asked: string[] } {
  const asked: string[] = [];
  const resolve: Resolve = (hostname, _options, callback) => {
    const list = lists[Math.min(asked.length, lists.length - 1)] ?? [];
    asked.push(hostname);
    const found: LookupAddress[] = list.map(address => ({ address, family: address.includes(':') ? 6 : 4 }));
    setImmediate(() => callback(null, found));
  };
  return Object.assign(resolve, { asked });
}

describe('forbidden addresses', () => {
  const canary = () => rawServer(socket => void socket.write(answer('secret')));

  it('are never connected to as literals, however written', async () => {
    const { port, ...server } = await canary();
    const engine = newEngine({ allowAddresses: [] });
    const folder = newFolder();
    for (const host of [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f.1',
      '017700000001',
      '[::ffff:127.0.0.1]',
      '0.0.0.0',
    ]) {
      const outcome = await fetchOnce(engine, { url: `http://${host}:${port}/`, file: join(folder, 'x') });
      assert.equal(verdict(outcome), 610, host);
    }
    assert.equal(server.connections, 0);
    assert.deepEqual(filesBelow(folder), []);
  });

  it('are never connected to by name', async () => {
    const server = await canary();
    const resolve = resolver(['127.0.0.1', '10.0.0.1', '::1']);
    const engine = newEngine({ allowAddresses: [], resolve });
    const outcome = await fetchOnce(engine, {
      url: `http://canary.example:${server.port}/`,
      file: join(newFolder(), 'x'),
    });
    assert.equal(verdict(outcome), 610);
    assert.equal(server.connections, 0);
    assert.deepEqual(resolve.asked, ['canary.example']);
  });

  it('are left out of the addresses of a name, the permitted ones used', async () => {
    const server = await rawServer(socket => void socket.write(answer('fine')));
    const resolve = resolver(['10.255.255.1', '127.0.0.1']);
    const engine = newEngine({ allowAddresses: ['127.0.0.1'], resolve });
    const outcome = await fetchOnce(engine, {
      url: `http://mixed.example:${server.port}/`,
      file: join(newFolder(), 'x'),
    });
    assert.equal(verdict(outcome), 'ok');
  });

  it('are not reached by a name that changes between check and connection', async () => {
    const server = await canary();
    // What is checked is what is connected to: one look-up, and its refused answer ends the fetch.
    const resolve = resolver(['127.0.0.1'], ['127.0.0.2']);
    const engine = newEngine({ allowAddresses: ['127.0.0.2'], resolve });
    const outcome = await fetchOnce(engine, {
      url: `http://rebind.example:${server.port}/`,
      file: join(newFolder(), 'x'),
    });
    assert.equal(verdict(outcome), 610);
    assert.equal(resolve.asked.length, 1);
    assert.equal(server.connections, 0);
  });

  it('are not reached by a redirect from a permitted one', async () => {
    const target = await canary();
    const server = await rawServer(
      socket =>
        void socket.write(
          `HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2:${target.port}/\r\nContent-Length: 0\r\n\r\n`,
        ),
    );
    const engine = newEngine({ allowAddresses: ['127.0.0.1'] });
    const outcome = await fetchOnce(engine, { url: server.url, file: join(newFolder(), 'x') });
    assert.equal(verdict(outcome), 610);
    assert.equal(target.connections, 0);
  });
});

describe('connections that cannot be made', () => {
  it('are an error of the provider', async () => {
    const server = await rawServer(() => undefined);
    const cases: [url: string, code: number, connectTimeoutMs: number][] = [
      ['http://nowhere.invalid/', 601, 30_000],
      ['http://127.0.0.1:1/', 602, 30_000],
      [server.url.replace('http:', 'https:'), 603, 1000],
    ];
    for (const [url, code, connectTimeoutMs] of cases) {
      const outcome = await fetchOnce(newEngine({ connectTimeoutMs }), { url, file: join(newFolder(), 'x') });
      assert.equal(verdict(outcome), code, JSON.stringify(outcome));
      assert.ok(outcome.status === 'error' && outcome.reach === 'provider');
    }
  });

  it('are given up in time when nobody answers the look-up', async () => {
    const engine = newEngine({ connectTimeoutMs: 100, resolve: () => undefined });
    const outcome = await fetchOnce(engine, { url: 'http://slow.example/', file: join(newFolder(), 'x') });
    assert.equal(verdict(outcome), 603);
    assert.ok(outcome.status === 'error' && outcome.reach === 'provider');
  });

  it('cost a url that is none only itself', async () => {
    for (const url of ['', 'nonsense', 'ftp://example.org/', 'file:///etc/passwd', 'http://[', 'http://']) {
      const outcome = await fetchOnce(newEngine(), { url, file: join(newFolder(), 'x') });
      assert.equal(verdict(outcome), 611, url);
      assert.ok(outcome.status === 'error' && outcome.reach === 'real');
    }
  });
});
