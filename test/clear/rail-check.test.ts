/** What `lccrail check` finds at caches that answer as a test says. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { probeRail } from '../../src/clear/rail-check.js';
import type { Secrets } from '../../src/clear/rails/secrets.js';
import { systemClock } from '../../src/lib/clock.js';
import { railOf } from '../db/clear/support.js';
import { rawServer } from '../fetch/support.js';

const LIMITS = {
  connectTimeoutMs: 2000,
  answerTimeoutMs: 2000,
  totalTimeoutMs: 5000,
  keepAliveMs: 4000,
  allowPlain: false,
};
const secrets: Secrets = new Map([['cdn', { bearer: 'token', headers: [] }]]);

/** @returns what was found with the login, and without */
async function check(own: number, stranger: number, driver = 'varnish') {
  const server = await rawServer((socket, request) => {
    const status = /^authorization: Bearer token/im.test(request) ? own : stranger;
    socket.write(`HTTP/1.1 ${status} Said\r\nContent-Length: 0\r\n\r\n`);
  });
  const rail = railOf('r1', 'us', { url: server.url, driver, authRef: 'cdn', host: 'www' });
  const findings = await probeRail(rail, '/news/', secrets, LIMITS, systemClock);
  const results = findings.map(({ result }) => result);
  // What clears pages, then, at other caches, what replaces them softly.
  assert.deepEqual(results.slice(2), results.slice(0, 2));
  return results.slice(0, 2);
}

describe('a cache that a stranger asks to clear a page', () => {
  it('is closed when it answers 404 to strangers only', async () => {
    assert.deepEqual(await check(200, 404), ['ok', 'ok']);
    assert.deepEqual(await check(204, 410), ['ok', 'ok']);
    assert.deepEqual(await check(200, 404, 'nginx-refresh'), ['ok', 'ok']);
  });

  it('is open when it does as it was asked, or answers both alike', async () => {
    assert.deepEqual(await check(200, 200), ['ok', 'open']);
    assert.deepEqual(await check(404, 200), ['ok', 'open']);
    assert.deepEqual(await check(404, 404), ['ok', 'open']);
    assert.deepEqual(await check(404, 404, 'nginx-refresh'), ['ok', 'open']);
  });

  it('is closed when it refuses', async () => {
    assert.deepEqual(await check(200, 403), ['ok', 'ok']);
    assert.deepEqual(await check(404, 401), ['ok', 'ok']);
  });
});

describe('a cache that finds pages by their host', () => {
  const found = async (driver: string, host: string | null, cacheOf: (request: string) => string) => {
    const server = await rawServer((socket, request) => {
      const head = `HTTP/1.1 200 Said\r\nContent-Length: 0\r\nX-Cache: ${cacheOf(request)}\r\n\r\n`;
      socket.write(/^authorization: Bearer token/im.test(request) ? head : head.replace('200', '403'));
    });
    const rail = railOf('r1', 'us', { url: server.url, driver, authRef: 'cdn', host });
    const findings = await probeRail(rail, '/news/', secrets, LIMITS, systemClock);
    return findings.filter(({ result }) => result !== 'ok').map(({ what, text }) => `${what}: ${text}`);
  };

  it('is asked with the host of readers: an address in its url is reported unless it is given as host', async () => {
    for (const driver of ['varnish', 'varnish-ban', 'nginx-refresh']) {
      const [line = '', ...others] = await found(driver, null, () => 'MISS');
      assert.match(line, /^Host: pages of 127\.0\.0\.1:\d+ are cleared: lccrail set r1 --host=NAME/);
      assert.deepEqual(others, []);
      assert.deepEqual(await found(driver, '127.0.0.1', () => 'MISS'), []);
    }
    assert.deepEqual(await found('varnish-xkey', null, () => 'MISS'), [], 'keys know no hosts');
  });

  it('does not answer a refresh from the cache', async () => {
    const bypasses = (request: string) => (/^x-lcc-refresh: 1/im.test(request) ? 'BYPASS' : 'HIT');
    assert.deepEqual(await found('nginx-refresh', 'www', bypasses), []);
    const [line = '', ...others] = await found('nginx-refresh', 'www', () => 'HIT');
    assert.match(line, /^GET of \/news\/ past the cache: X-Cache: HIT: .*x-lcc-refresh.*proxy_cache_bypass/);
    assert.deepEqual(others, []);
  });
});
