/** Proofs against servers that answer as sites do, and as attackers do. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { before, describe, it } from 'node:test';
import type { Resolve } from '../../src/fetch/connect.js';
import { parseNetwork } from '../../src/lib/network.js';
import type { ProofOptions } from '../../src/rs/proof/prove.js';
import { PROOF_CODES } from '../../src/rs/proof/reasons.js';
import { siteOf, type Site } from '../../src/rs/site.js';
import { Authority } from '../fetch/authority.js';
import { readProjectFile } from '../support/tree.js';
import {
  addresses,
  AT,
  check,
  closing,
  codeOf,
  FILE,
  files,
  listen,
  PAIRS_PASSWORD,
  PUBLIC,
  SECRET,
} from './proof-scene.js';

describe('a proof', () => {
  it('is the secret in the file, with or without line end and BOM, and asks for two more things', async () => {
    for (const content of [SECRET, `${SECRET}\n`, `${SECRET}\r\n`, `\ufeff${SECRET} \n`]) {
      const seen: string[] = [];
      const port = await listen(createHttpServer(files({ [AT]: content }, seen)));
      assert.deepEqual(await check(port, '/docs/'), {
        failed: undefined,
        prefixes: [`http://www.example.org:${port}/docs/`],
        addresses: ['127.0.0.2'],
      });
      const [first, second = '', third, ...more] = seen;
      assert.deepEqual([first, third, more], [AT, '/robots.txt', []]);
      assert.match(second, /^\/docs\/lcc-[0-9a-f]{20}\.txt$/);
    }
  });

  it('fails with a reason of its own for each way in which the file can be wrong', async () => {
    const wrong: [string, string | Buffer | undefined][] = [
      ['missing', undefined],
      ['empty', ''],
      ['empty', '\ufeff\r\n'],
      ['html', '<!DOCTYPE html><title>Not found</title>'],
      ['password', `${PAIRS_PASSWORD}\n`],
      ['other', `${SECRET}x`],
      ['other', `x${SECRET}`],
      ['other', SECRET.toUpperCase()],
      ['long', `${SECRET}${' '.repeat(1024)}`],
      ['long', Buffer.alloc(1024 * 1024, 'x')],
      ['binary', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2])],
    ];
    for (const [code, content] of wrong)
      assert.equal(await codeOf(files(content === undefined ? {} : { [AT]: content })), code);
    for (const [status, code] of [
      [401, 'forbidden'],
      [403, 'forbidden'],
      [410, 'missing'],
      [418, 'status'],
      [203, 'status'],
      [429, 'try-later'],
      [503, 'try-later'],
    ] as const)
      assert.equal(await codeOf((_, response) => void response.writeHead(status).end(SECRET)), code);
  });

  it('names each reason in the description of the API, and no other one of its own', () => {
    const [, list = ''] = /`code` is one of ([^:]+):/.exec(readProjectFile('docs/frontdoor-api.md')) ?? [];
    const named = new Set([...list.matchAll(/`([\w-]+)`/g)].map(([, code]) => code));
    assert.deepEqual(named, new Set([...PROOF_CODES, 'address', 'refused', 'not-a-root', 'roots']));
  });

  it('ends in time with a site that does not', async () => {
    const silent = () => undefined;
    assert.equal(await codeOf(silent, { fetchTimeoutMs: 1500 }), 'slow');
    assert.equal(await codeOf(silent, { checkTimeoutMs: 100 }), 'slow');
  });

  it('says alike of names that are unknown, inner addresses and closed ports that the site cannot be reached', async () => {
    const port = await listen(createHttpServer(files({ [AT]: SECRET })));
    const closed = await listen(createHttpServer());
    closing.pop()?.();
    addresses.set('inner.example.org', ['127.0.0.1']);
    const answers = await Promise.all([
      check(port, '/docs/', {}, 'unknown.example.org'),
      check(port, '/docs/', {}, 'inner.example.org'),
      check(closed, '/docs/'),
    ]);
    for (const { failed } of answers) assert.deepEqual(failed, answers[0]?.failed);
    assert.equal(answers[0]?.failed?.code, 'unreachable');
  });

  it('is not given by a server that answers every name alike, or repeats what it is asked', async () => {
    assert.equal(await codeOf((_, response) => void response.end(SECRET)), 'catch-all');
    assert.equal(await codeOf(({ url }, response) => void response.end(url)), 'other');
    assert.equal(
      await codeOf(({ url, headers }, response) => void response.end(`${url} ${JSON.stringify(headers)}`)),
      'other',
    );
    // Nobody knows what a neighbour is that cannot be asked for.
    assert.equal(
      await codeOf(({ url }, response) => void (url === AT ? response.end(SECRET) : response.destroy())),
      'broken',
    );
  });

  it('is of the directory that was asked for: /~joe/ is neither /~joel/ nor /', async () => {
    const port = await listen(createHttpServer(files({ [`/~joe/${FILE}`]: SECRET })));
    assert.deepEqual((await check(port, '/~joe/')).prefixes, [`http://www.example.org:${port}/~joe/`]);
    for (const path of ['/', '/~joel/']) assert.equal((await check(port, path)).failed?.code, 'missing');
  });
});

describe('redirects of a proof', () => {
  let authority: Authority;
  before(() => (authority = new Authority()));

  it('lead from http to the same path under https, which is proven as well, and nowhere else', async () => {
    const secure = await listen(
      createHttpsServer(authority.issue('www.example.org'), files({ [AT]: SECRET, '/elsewhere': SECRET })),
    );
    const leading = (to: string) =>
      createHttpServer(
        ({ url = '' }, response) => void response.writeHead(301, { location: to + url }).end(),
      );
    const plain = await listen(leading(`https://www.example.org:${secure}`));
    const more = { ports: [String(plain), String(secure)], ca: authority.ca };
    assert.deepEqual((await check(plain, '/docs/', more)).prefixes, [
      `http://www.example.org:${plain}/docs/`,
      `https://www.example.org:${secure}/docs/`,
    ]);
    const codeAt = async (server: Server, options: Partial<ProofOptions> = more) => {
      const port = await listen(server);
      const ports = [String(port), String(secure)];
      return (await check(port, '/docs/', { ...options, ports })).failed?.code;
    };
    assert.equal(await codeAt(leading(`https://other.example.org:${secure}`)), 'elsewhere');
    assert.equal(await codeAt(leading(`https://www.example.org:${secure}/elsewhere?`)), 'elsewhere');
    assert.equal(await codeAt(leading('/docs/moved')), 'elsewhere');
    assert.equal(await codeAt(leading(`https://user:x@www.example.org:${secure}`)), 'elsewhere');
    const { ca: _ca, ...withoutCa } = more;
    assert.equal(await codeAt(leading(`https://www.example.org:${secure}`), withoutCa), 'tls');
    const port = await listen(leading(`https://www.example.org:${secure}`));
    const ports = [String(port)];
    assert.equal(
      (await check(port, '/docs/', { ...more, ports })).failed?.code,
      'elsewhere',
      'not one of the ports',
    );
  });
});

describe('inner addresses', () => {
  /** Connections that came where none may. */
  let caught = 0;
  let canary = 0;

  before(async () => {
    const trap = createServer(socket => {
      caught++;
      socket.destroy();
    });
    trap.listen(0, '::');
    await once(trap, 'listening');
    canary = (trap.address() as AddressInfo).port;
    closing.push(() => void trap.close());
  });

  it('are not connected to, whatever a name leads to', async () => {
    for (const address of [
      '127.0.0.1',
      '::1',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '64:ff9b::7f00:1',
      '2002:7f00:1::',
      '169.254.169.254',
      'fe80::1',
      'fc00::1',
      '0.0.0.0',
      '::',
      '10.0.0.1',
    ]) {
      addresses.set('trap.example.org', [address]);
      const { failed, addresses: reached } = await check(canary, '/', {}, 'trap.example.org');
      assert.deepEqual([failed?.code, reached], ['unreachable', []], address);
    }
    assert.equal(caught, 0);
  });

  it('are not connected to when a name leads elsewhere the second time, or the site sends there', async () => {
    let looks = 0;
    const rebinding: Resolve = (_name, _options, callback) =>
      callback(null, [{ address: looks++ === 0 ? '127.0.0.2' : '127.0.0.1', family: 4 }]);
    const site = createHttpServer({ keepAlive: false }, (request, response) => {
      response.shouldKeepAlive = false;
      files({ [AT]: SECRET })(request, response);
    });
    const port = await listen(site);
    assert.equal((await check(port, '/docs/', { resolve: rebinding })).failed?.code, 'unreachable');
    assert.equal(looks, 2);
    for (const location of [
      `http://127.0.0.1:${canary}/`,
      `https://[::1]:${canary}${AT}`,
      `//localhost:${canary}${AT}`,
    ])
      assert.equal(
        await codeOf((_, response) => void response.writeHead(302, { location }).end()),
        'elsewhere',
        location,
      );
    assert.equal(caught, 0);
  });

  it('are not connected to for robots.txt, or the neighbour of the file, wherever a site sends those requests', async () => {
    const { hostname } = new URL('http://2130706433/');
    for (const host of [
      '127.0.0.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '2130706433',
      hostname,
      '169.254.169.254',
    ])
      for (const isRobots of [true, false]) {
        const location = `http://${host}:${canary}/`;
        const port = await listen(
          createHttpServer((request, response) => {
            const isFile = request.url === AT;
            if (isFile || isRobots !== (request.url === '/robots.txt'))
              files({ [AT]: SECRET })(request, response);
            else response.writeHead(302, { location }).end();
          }),
        );
        const { addresses: reached } = await check(port, '/docs/', { ports: [String(port), String(canary)] });
        assert.ok(
          reached.every(address => address === '127.0.0.2'),
          `${location}: ${reached.join(' ')}`,
        );
      }
    assert.equal(caught, 0);
  });

  it('cannot be registered in any notation, but where the operator allows them', () => {
    const rules = { ports: ['80', '443'], allowed: PUBLIC.map(parseNetwork) };
    for (const host of [
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '169.254.169.254',
    ])
      assert.equal((siteOf(`http://${host}/`, rules) as { code?: string }).code, 'address', host);
    assert.deepEqual(siteOf('http://127.0.0.2/', rules), {
      prefix: 'http://127.0.0.2/',
      host: '127.0.0.2',
      isInner: false,
    } satisfies Site);
  });

  it('are what a name without a dot must lead to, within what the operator allows', async () => {
    addresses.set('intranet', ['127.0.0.2']);
    const port = await listen(createHttpServer(files({ [`/${FILE}`]: SECRET })));
    assert.equal((await check(port, '/', {}, 'intranet')).failed, undefined);
    // A public one: nothing is sent there.
    addresses.set('intranet', ['192.88.98.1']);
    const { failed, addresses: reached } = await check(port, '/', {}, 'intranet');
    assert.deepEqual([failed?.code, reached], ['unreachable', []]);
  });
});

describe('the address of a site', () => {
  const rules = { ports: ['80', '443'], allowed: [] };

  it('is that of a directory, without anything that servers understand in several ways', () => {
    for (const text of [
      'http://www.example.org/docs',
      'ftp://www.example.org/',
      'http://user@www.example.org/',
      'http://www.example.org/?q=/',
      'http://www.example.org/#/',
      'http://www.example.org/a/../b/',
      'http://www.example.org/a/%2e%2e/b/',
      'http://www.example.org:8080/',
      'https://www.example.org:80000/',
      'http://www.example.org./',
      'http://*.example.org/',
      'www.example.org/',
      `http://www.example.org/${'x'.repeat(2000)}/`,
      'http://www.exa\nmple.org/',
      '',
    ]) {
      const found = siteOf(text, rules);
      assert.ok('code' in found && found.code === 'address' && found.do !== '', text);
    }
  });

  it('is written as parsers write it', () => {
    assert.deepEqual(siteOf('HTTP://WWW.Example.ORG:80/~joe/', rules), {
      prefix: 'http://www.example.org/~joe/',
      host: 'www.example.org',
      isInner: false,
    });
  });
});
