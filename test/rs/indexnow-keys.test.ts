/** Looks at key files: nobody leads them to an inner address, and nothing but the key in its place is believed. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Resolve } from '../../src/fetch/connect.js';
import { systemClock as realClock } from '../../src/lib/clock.js';
import { parseNetwork } from '../../src/lib/network.js';
import { keyProblem, lookAtKey } from '../../src/rs/indexnow/key-file.js';
import { TestSite } from '../support/site.js';

const KEY = 'a1b2c3d4e5f6';
const PUBLIC = '192.0.2.1';

/** A server that nobody may be led to, and how often somebody was. */
async function canary(host: string) {
  let connections = 0;
  const server = createServer((_request, response) => response.end(KEY)).on(
    'connection',
    () => connections++,
  );
  await new Promise<void>(resolve => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return { port: String(port), seen: () => connections, close: () => server.close() };
}
const resolving =
  (...answers: string[]): Resolve =>
  (_name, _options, callback) => {
    const address = answers.length > 1 ? (answers.shift() ?? '') : (answers[0] ?? '');
    callback(null, [{ address, family: address.includes(':') ? 6 : 4 }]);
  };
const verdictOf = (host: string, ports: string[], resolve?: Resolve, allow: string[] = [], location = '') =>
  lookAtKey(
    { host, key: KEY, location },
    {
      fetch: {
        clock: realClock,
        fetchTimeoutMs: 500,
        userAgent: 'lccbot',
        allowAddresses: allow,
        ...(resolve && { resolve }),
      },
      site: { ports, allowed: allow.map(parseNetwork) },
    },
  );

test('a key file that may not be asked for is said to be so, with the ports that sites may have', () => {
  const problemOf = (host: string, location: string, ...ports: string[]) =>
    keyProblem({ host, key: KEY, location }, { ports, allowed: [] })?.what;
  assert.equal(problemOf('www.example.org:8443', '', '80', '443'), 'port 8443 is not one of 80, 443');
  assert.equal(
    problemOf('www.example.org', 'http://www.example.org:81/k.txt', '80'),
    'port 81 is not one of 80',
  );
  assert.equal(problemOf('127.0.0.1', '', '80', '443'), 'the address has a number for a host');
  for (const port of ['80', '443']) assert.equal(problemOf('www.example.org', '', port), undefined);
});

test('no name, number or redirect leads the look at a key to an address that is not public', async () => {
  const inner = await canary('127.0.0.1');
  const inner6 = await canary('::1');
  const { port } = inner;
  try {
    for (const address of ['127.0.0.1', '169.254.169.254', '10.0.0.1', '::1', '::ffff:127.0.0.1', 'fe80::1'])
      assert.equal(await verdictOf(`site.example:${port}`, [port], resolving(address)), 'bad', address);
    for (const host of [
      `2130706433:${port}`,
      `127.0.0.1:${port}`,
      `0x7f.1:${port}`,
      `[::1]:${inner6.port}`,
    ]) {
      const { host: written } = new URL(`http://${host}/`);
      assert.equal(await verdictOf(written, [port, inner6.port]), 'bad', host);
    }
    // A name that changes its answer between two looks.
    await verdictOf(`site.example:${port}`, [port], resolving(PUBLIC, '127.0.0.1', PUBLIC, '127.0.0.1'));
    assert.equal(
      await verdictOf(`site.example:${port}`, ['80', '443'], resolving('127.0.0.1')),
      'bad',
      'a port',
    );
    assert.deepEqual([inner.seen(), inner6.seen()], [0, 0]);
  } finally {
    inner.close();
    inner6.close();
  }
});

test('a key file is read from its place alone: redirected, HTML, another text, too long, missing, in a folder', async () => {
  const elsewhere = await canary('127.0.0.2');
  const site = await TestSite.listen((request, response) => {
    const path = request.url ?? '';
    if (path === '/away/k.txt')
      response.writeHead(302, { location: `http://127.0.0.2:${elsewhere.port}/k.txt` });
    else if (path === '/moved/k.txt') response.writeHead(301, { location: '/k.txt' });
    else if (path === '/busy/k.txt') response.writeHead(503);
    else if (!site.pages.has(path)) response.writeHead(404);
    response.end(site.pages.get(path));
  });
  const { host, port } = new URL(site.url);
  const of = (path: string) =>
    verdictOf(host, [port], undefined, ['127.0.0.1'], path === '' ? '' : site.urlOf(path));
  site.pages
    .set('/k.txt', KEY)
    .set('/folder/k.txt', `\ufeff${KEY} \r\n`)
    .set('/html/k.txt', `<html>${KEY}`)
    .set('/two/k.txt', `${KEY}\n${KEY}`)
    .set('/long/k.txt', KEY + ' '.repeat(2000))
    .set(`/${KEY}.txt`, KEY);
  try {
    for (const [path, verdict] of [
      ['', 'good'],
      ['/k.txt', 'good'],
      ['/folder/k.txt', 'good'],
      ['/html/k.txt', 'bad'],
      ['/two/k.txt', 'bad'],
      ['/long/k.txt', 'bad'],
      ['/missing/k.txt', 'bad'],
      ['/moved/k.txt', 'bad'],
      ['/away/k.txt', 'bad'],
      ['/busy/k.txt', 'unknown'],
    ] as const)
      assert.equal(await of(path), verdict, path);
    assert.equal(elsewhere.seen(), 0);
  } finally {
    site.close();
    elsewhere.close();
  }
});
