/** What a record says: documents byte by byte, edges of their limit, redirects, times, names. */
import type { FetchLimits } from '../../../src/fetch/job.js';
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomInt } from 'node:crypto';
import type { LookupAddress } from 'node:dns';
import { createServer as createHttpsServer } from 'node:https';
import type { Server } from 'node:net';
import { after, describe, it } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { Authority } from '../../fetch/authority.js';
import { listen } from '../../fetch/hostile/tls.js';
import { answer, drip, rawServer } from '../../fetch/support.js';
import { scene, type SceneOptions } from './support.js';

/** Documents of random bytes that are fetched. */
const DOCUMENTS = Number(process.env['LCC_TEST_DOCUMENTS'] ?? 200);
const LARGEST_BYTES = 5 * 1024 * 1024;

const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

/** Fetches one url. @returns its record in a line: success, reason, flags; path of the new url; document */
async function fetched(url: string, options: SceneOptions = {}): Promise<string> {
  const { urls, stores, stop } = await scene(options);
  urls.send(1, url);
  await urls.dones(1);
  await stop();
  const [record] = stores[0]?.records ?? [];
  assert.ok(record);
  const { success, reason, redirected, cut, newUrl, document } = record;
  const flags = `${redirected ? ' redirected' : ''}${cut ? ' cut' : ''}`;
  const moved = newUrl === '' ? '' : ` → ${new URL(newUrl).pathname}`;
  return `${success ? 'yes' : 'no'} ${reason}${flags}${moved} ${document.toString('latin1')}`.trimEnd();
}

describe('a document', () => {
  it('is in its record as the site has it, whatever its bytes, its length and its framing', async () => {
    const sums = new Map<number, string>();
    const site = await rawServer((socket, request) => {
      const docId = Number(/^GET \/(\d+)/.exec(request)?.[1]);
      // Lengths of all sizes are as likely.
      const document = randomBytes(Math.floor(LARGEST_BYTES ** Math.random()) - (docId % 50 === 0 ? 1 : 0));
      sums.set(docId, createHash('md5').update(document).digest('hex'));
      const framing = docId % 4;
      if (framing === 0) socket.write(answer(document));
      else if (framing === 1)
        socket.write(answer(gzipSync(document, { level: 1 }), 'Content-Encoding: gzip\r\n'));
      else if (framing === 2) {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
        for (let at = 0; at < document.length;) {
          const chunk = document.subarray(at, at + randomInt(1, 100_000));
          socket.write(
            Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]),
          );
          at += chunk.length;
        }
        socket.write('0\r\n\r\n');
      } else socket.end(Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), document]));
    });
    // Half of them go through files.
    const { urls, stores } = await scene({ settings: { slots: '20' }, bounds: { memoryDocBytes: 10_240 } });
    for (let docId = 0; docId < DOCUMENTS; docId++) {
      await urls.credits(1);
      urls.send(docId, `${site.url}${docId}`);
    }
    await urls.dones(DOCUMENTS);
    for (const { docId, success, reason, document } of stores[0]?.records ?? []) {
      assert.ok(success, `${docId}: ${reason}`);
      assert.equal(createHash('md5').update(document).digest('hex'), sums.get(docId), `${docId}`);
      assert.equal(reason, document.length === 0 ? 'empty' : 'ok');
    }
    assert.equal(stores[0]?.records.length, DOCUMENTS);
  });

  it('is cut where it is longer than Max_Doc_Size, and said to be only then', async () => {
    const page = 'x'.repeat(1000);
    const framings = [
      answer(page),
      answer(gzipSync(page), 'Content-Encoding: gzip\r\n'),
      Buffer.from(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n${page}\r\n0\r\n\r\n`),
      Buffer.from(`HTTP/1.1 200 OK\r\n\r\n${page}`),
      Buffer.from(`HTTP/1.0 200 OK\nContent-Length: 1000\n\n${page}`),
    ];
    const site = await rawServer((socket, request) =>
      socket.end(framings[Number(/^GET \/(\d)/.exec(request)?.[1])] ?? ''),
    );
    for (const [size, length, isCut] of [
      ['999', 999, true],
      ['1000', 1000, false],
      ['1001', 1000, false],
      ['1', 1, true],
      ['0', 1000, false],
    ] as const) {
      const { urls, stores, stop } = await scene({ settings: { slots: '9', max_doc_bytes: size } });
      for (const [docId] of framings.entries()) urls.send(docId, `${site.url}${docId}`);
      await urls.dones(framings.length);
      for (const { docId, success, reason, cut, document } of stores[0]?.records ?? [])
        assert.deepEqual(
          [success, reason, cut, document.length],
          [true, 'ok', isCut, length],
          `${docId} at ${size}`,
        );
      await stop();
    }
  });

  it('of an error is left out', async () => {
    const site = await rawServer(socket => void socket.write(answer('not here', '', '404 Not Found')));
    assert.equal(await fetched(site.url), 'no http-4xx');
  });
});

describe('a redirect', () => {
  const CHAINS: [statuses: number[], record: string][] = [
    [[301, 308], 'yes ok redirected → /2 page'],
    [[301, 302], 'yes ok redirected → /1 page'],
    [[302, 301], 'yes ok redirected page'],
    [[303], 'yes ok redirected page'],
    [[301, 404], 'no http-4xx redirected'],
    [[300], 'no http-other'],
    [[305], 'no http-other'],
  ];
  for (const [statuses, record] of CHAINS)
    it(`says where the document is from now on, if it was fetched: ${statuses.join(', ')}`, async () => {
      const site = await rawServer((socket, request) => {
        const at = Number(/^GET \/(\d*)/.exec(request)?.[1]);
        const status = statuses[at] ?? 200;
        socket.write(answer(status === 200 ? 'page' : '', `Location: /${at + 1}\r\n`, `${status} There`));
      });
      assert.equal(await fetched(site.url), record);
    });

  it('is followed as often as is permitted', async () => {
    const site = await rawServer((socket, request) => {
      const at = Number(/^GET \/(\d*)/.exec(request)?.[1]);
      socket.write(at === 3 ? answer('page') : answer('', `Location: /${at + 1}\r\n`, '302 There'));
    });
    assert.equal(await fetched(site.url, { settings: { max_redirects: '3' } }), 'yes ok redirected page');
    assert.equal(
      await fetched(site.url, { settings: { max_redirects: '2' } }),
      'no too-many-redirects redirected',
    );
  });

  it('from https to http is forbidden where it is not permitted', async () => {
    const authority = new Authority();
    const plain = await rawServer(socket => void socket.write(answer('page')));
    const server = createHttpsServer(authority.issue(), (_request, response) =>
      response.writeHead(302, { location: plain.url }).end(),
    );
    servers.push(server);
    const url = await listen(server);
    const engine = { ca: authority.ca };
    assert.equal(await fetched(url, { engine }), 'yes ok redirected page');
    assert.equal(await fetched(url, { engine, settings: { downgrade: 'false' } }), 'no forbidden-target');
  });
});

describe('the end of a time', () => {
  const TIMES: [
    what: string,
    serve: Parameters<typeof rawServer>[0],
    bound: keyof FetchLimits,
    record: string,
  ][] = [
    ['silence', () => undefined, 'headersTimeoutMs', 'no header-timeout'],
    [
      'headers that drip',
      socket => {
        socket.write('HTTP/1.1 200 OK\r\n');
        drip(socket, 'X: y\r\n');
      },
      'headersTimeoutMs',
      'no header-timeout',
    ],
    [
      'a body that stops',
      socket => void socket.write('HTTP/1.1 200 OK\r\n\r\npa'),
      'idleTimeoutMs',
      'no idle-timeout',
    ],
    [
      'a body that drips',
      socket => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        drip(socket, 'x');
      },
      'totalTimeoutMs',
      'no total-timeout',
    ],
  ];
  for (const [what, serve, bound, record] of TIMES)
    it(`is known by its name: ${what}`, async () => {
      const site = await rawServer(serve);
      assert.equal(await fetched(site.url, { engine: { [bound]: 300 } }), record);
    });

  it('is that of all times for a url whose name is not found out in time', async () => {
    const engine = { resolve: () => undefined };
    const settings = { timeout_req_ms: '300' };
    assert.equal(await fetched('http://www.example.org/', { engine, settings }), 'no connect-timeout');
  });
});

describe('a name', () => {
  const resolving = (addresses: LookupAddress[]): SceneOptions => ({
    engine: { resolve: (_name, _options, found) => found(null, addresses) },
  });
  const four = (address: string): LookupAddress => ({ address, family: 4 });

  it('with a hundred addresses is asked for at those that are permitted', async () => {
    const site = await rawServer(socket => void socket.write(answer('page')));
    const forbidden = Array.from({ length: 99 }, (_, at) => four(`10.0.0.${at}`));
    const url = `http://www.example.org:${site.port}/`;
    assert.equal(await fetched(url, resolving([...forbidden, four('127.0.0.1')])), 'yes ok page');
    assert.equal(await fetched(url, resolving(forbidden)), 'no address-forbidden');
  });

  it('that leads to this machine is forbidden, by whatever detour', async () => {
    const site = await rawServer(socket => void socket.write(answer('page')));
    const strict = { ...resolving([four('127.0.0.1')]).engine, allowAddresses: [] };
    assert.equal(
      await fetched(`http://www.example.org:${site.port}/`, { engine: strict }),
      'no address-forbidden',
    );
    assert.equal(site.requests.length, 0);
  });

  it('that does not exist differs from one that cannot be resolved now', async () => {
    for (const [code, record] of [
      ['ENOTFOUND', 'no no-such-name'],
      ['EAI_AGAIN', 'no name-trouble'],
    ] as const) {
      const resolve: NonNullable<SceneOptions['engine']>['resolve'] = (_name, _options, found) =>
        found(Object.assign(new Error('no answer'), { code }), []);
      assert.equal(await fetched('http://www.example.org/', { engine: { resolve } }), record);
    }
  });
});

describe('a certificate', () => {
  it('is not looked at where that is said', async () => {
    const authority = new Authority();
    const server = createHttpsServer(authority.issue('example.org', -1), (_request, response) =>
      response.end('page'),
    );
    servers.push(server);
    const url = await listen(server);
    assert.equal(await fetched(url), 'no tls');
    assert.equal(await fetched(url, { settings: { insecure: 'true' } }), 'yes ok page');
  });

  it('may be asked for again in the middle of an answer', async () => {
    const authority = new Authority();
    const server = createTlsServer({ ...authority.issue(), maxVersion: 'TLSv1.2' }, socket => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npa');
        socket.renegotiate({}, () => socket.end('ge'));
      });
    });
    servers.push(server);
    const url = await listen(server);
    assert.match(
      await fetched(url, { engine: { ca: authority.ca } }),
      /^(?:yes ok page|no tls|no short-body)$/,
    );
  });
});
