/** Sites on this machine, and proofs of them. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Resolve } from '../../src/fetch/connect.js';
import { systemClock } from '../../src/lib/clock.js';
import { parseNetwork } from '../../src/lib/network.js';
import { hashPassword } from '../../src/lib/password.js';
import { prove, randomFileName, type Proof, type ProofOptions } from '../../src/rs/proof/prove.js';
import { siteOf } from '../../src/rs/site.js';
import { atEnd } from '../support/at-end.js';

export const SECRET = 'c2VjcmV0LW9mLXRoZS1wYWly';
export const FILE = randomFileName();
export const closing: (() => void)[] = [];
atEnd(() => closing.forEach(close => close()));

export async function listen(server: Server, host = '127.0.0.2'): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Where the names of sites lead; every other one is unknown. */
export const addresses = new Map<string, string[]>([
  ['www.example.org', ['127.0.0.2']],
  ['other.example.org', ['127.0.0.2']],
]);
const resolve: Resolve = (hostname, _options, callback) => {
  const found = addresses.get(hostname);
  if (found === undefined) callback(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }), []);
  else
    callback(
      null,
      found.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
};

/** The one address that counts as public here. */
export const PUBLIC = ['127.0.0.2'];
const OPTIONS: Omit<ProofOptions, 'ports'> = {
  clock: systemClock,
  fetchTimeoutMs: 30_000,
  checkTimeoutMs: 60_000,
  userAgent: 'test/1',
  allowAddresses: PUBLIC,
  resolve,
};

/** @param more of the options @param host where in the address */
export function check(
  port: number,
  path = '/',
  more: Partial<ProofOptions> = {},
  host = 'www.example.org',
): Promise<Proof> {
  const ports = more.ports ?? [String(port)];
  const site = siteOf(`http://${host}:${port}${path}`, { ports, allowed: PUBLIC.map(parseNetwork) });
  assert.ok('prefix' in site, JSON.stringify(site));
  const pair = { file: FILE, secret: hash('sha256', SECRET), password: hashPassword(PAIRS_PASSWORD) };
  return prove(site, pair, { ...OPTIONS, ports, ...more });
}

/** What a site with these files answers. */
export function files(content: Record<string, string | Buffer>, seen: string[] = []): RequestListener {
  return ({ url = '' }, response) => {
    seen.push(url);
    const found = content[url];
    response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'text/plain' }).end(found);
  };
}

export async function codeOf(
  answer: RequestListener,
  more: Partial<ProofOptions> = {},
): Promise<string | undefined> {
  const port = await listen(createHttpServer(answer));
  const { failed, prefixes } = await check(port, '/docs/', more);
  assert.equal(prefixes.length === 0, failed !== undefined);
  assert.ok(failed === undefined || (failed.what !== '' && failed.do !== ''));
  return failed?.code;
}

export const PAIRS_PASSWORD = 'the-password-of-the-pair';
export const AT = `/docs/${FILE}`;
