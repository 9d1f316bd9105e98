/** What programs may have different from a cache: connections for one request, gzip alone, cut content, odd servers. */
import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { EngineOptions } from '../../src/fetch/engine.js';
import { MANNERS_OF_A_CACHE, type Manners } from '../../src/fetch/manners.js';
import { MemorySink } from '../../src/fetch/sink.js';
import { within } from '../support/until.js';
import { listen } from './hostile/tls.js';
import { Authority } from './authority.js';
import { answer, fetchOnce as fetchUnbounded, newEngine, PATIENT, rawServer, type Told } from './support.js';

const SPIDER: Manners = {
  codings: 'gzip',
  asksFresh: false,
  cutsContent: true,
  takesOldAnswers: true,
  keepsCookies: false,
  permitsDowngrade: true,
};

/** Timers of the engine keep no process alive; the bound of a wait does. */
const fetchOnce: typeof fetchUnbounded = (...args) => within('a fetch ends', fetchUnbounded(...args));

async function ask(
  serve: (socket: Socket, request: string, nth: number) => void,
  options: Partial<EngineOptions> = {},
): Promise<{ outcome: Told; content: string; requests: string[] }> {
  const server = await rawServer(serve);
  const sink = new MemorySink();
  const engine = newEngine({ ...PATIENT, keepAliveMs: 0, manners: SPIDER, ...options });
  const outcome = await fetchOnce(engine, { url: server.url, into: sink });
  assert.equal(engine.idleConnections, 0);
  return { outcome, content: sink.bytes().toString('latin1'), requests: server.requests };
}

const say = (text: string | Buffer) => (socket: Socket) => {
  socket.end(typeof text === 'string' ? Buffer.from(text, 'latin1') : text);
};

function kindOf(outcome: Told): string {
  return outcome.status === 'error' ? outcome.failure.kind : outcome.status;
}

describe('a request of a spider', () => {
  it('asks for gzip alone, for nothing fresh, and for the end of the connection', async () => {
    const { outcome, requests } = await ask(socket => void socket.write(answer('page')));
    assert.equal(outcome.status, 'ok');
    const [first, host, ...fields] = requests[0]?.split('\r\n') ?? [];
    assert.equal(first, 'GET / HTTP/1.1');
    assert.match(host ?? '', /^host: 127\.0\.0\.1:\d+$/);
    assert.deepEqual(fields.toSorted(), [
      'accept-encoding: gzip',
      'accept: */*',
      'connection: close',
      'user-agent: test/1 (+mailto:robots@example.org)',
    ]);
  });

  it('goes to the address that is given, with the name of the url as host', async () => {
    const server = await rawServer(socket => void socket.write(answer('page')));
    const engine = newEngine({
      ...PATIENT,
      manners: SPIDER,
      resolve: () => assert.fail('nothing is looked up'),
    });
    const url = `http://www.example.org:${server.port}/x`;
    const outcome = await fetchOnce(engine, { url, address: '127.0.0.1', sink: () => undefined });
    assert.equal(outcome.status, 'ok');
    assert.match(server.requests[0] ?? '', /^GET \/x HTTP\/1\.1\r\nhost: www\.example\.org:\d+\r\n/i);
  });

  it('goes to a given address only if that is permitted, and never for a redirect', async () => {
    const server = await rawServer((socket, request) =>
      socket.write(
        request.startsWith('GET /there')
          ? answer('page')
          : answer('', 'Location: http://b.example/there\r\n', '301 Moved'),
      ),
    );
    const looked: string[] = [];
    const engine = newEngine({
      ...PATIENT,
      manners: SPIDER,
      resolve: (name, _options, found) => {
        looked.push(name);
        found(null, [{ address: '127.0.0.2', family: 4 }] satisfies LookupAddress[]);
      },
    });
    const url = `http://a.example:${server.port}/`;
    const strict = newEngine({ ...PATIENT, manners: SPIDER, allowAddresses: [] });
    const refused = await fetchOnce(strict, { url, address: '127.0.0.1', sink: () => undefined });
    assert.equal(kindOf(refused), 'guard');
    const moved = await fetchOnce(engine, { url, address: '127.0.0.1', sink: () => undefined });
    assert.equal(kindOf(moved), 'refused', 'nothing listens on port 80 of the other address');
    assert.deepEqual(looked, ['b.example']);
    assert.ok(moved.status === 'error' && moved.isRedirected === true && moved.http === 301);
  });

  it('over TLS asks for the name of the url, and checks it, at the address that is given', async () => {
    const authority = new Authority();
    const names: unknown[] = [];
    const server = createHttpsServer(authority.issue('www.example.org'), (request, response) => {
      names.push((request.socket as unknown as { servername: unknown }).servername);
      response.end('page');
    });
    after(() => server.close());
    const { port } = new URL(await listen(server));
    const engine = newEngine({ ...PATIENT, manners: SPIDER, ca: authority.ca });
    const from = (url: string) =>
      fetchOnce(engine, { url, address: '127.0.0.1', sink: () => undefined }).then(kindOf);
    assert.equal(await from(`https://www.example.org:${port}/`), 'ok');
    assert.equal(await from(`https://example.org:${port}/`), 'tls', "the name is not the certificate's");
    assert.equal(await from(`https://192.0.2.1:${port}/`), 'tls', 'nor is an address in the url');
    assert.deepEqual(names.slice(0, 1), ['www.example.org']);
    const careless = newEngine({ ...PATIENT, manners: SPIDER, isInsecure: true });
    const url = `https://example.org:${port}/`;
    assert.equal(
      kindOf(await fetchOnce(careless, { url, address: '127.0.0.1', sink: () => undefined })),
      'ok',
    );
  });
});

describe('content of a spider', () => {
  const page = '0123456789';
  const bounds: [what: string, say: Buffer][] = [
    ['with a length', answer(page)],
    [
      'in chunks',
      Buffer.from(
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n',
      ),
    ],
    ['until the connection closes', Buffer.from(`HTTP/1.1 200 OK\r\n\r\n${page}`)],
    ['in gzip', answer(gzipSync(page), 'Content-Encoding: gzip\r\n')],
  ];
  for (const [what, bytes] of bounds)
    it(`is cut where it is longer than its limit, and only there: ${what}`, async () => {
      for (const [maxContentBytes, kept, isCut] of [
        [11, page, undefined],
        [10, page, undefined],
        [9, '012345678', true],
        [1, '0', true],
      ] as const) {
        const { outcome, content } = await ask(say(bytes), { maxContentBytes });
        assert.ok(outcome.status === 'ok', JSON.stringify(outcome));
        assert.deepEqual([content, outcome.isCut], [kept, isCut]);
      }
    });

  it('is cut where a small bomb or a large one goes beyond the limit', async () => {
    for (const length of [2_000_000, 200_000_000]) {
      const bomb = answer(gzipSync(Buffer.alloc(length)), 'Content-Encoding: gzip\r\n');
      const { outcome, content } = await ask(say(bomb), { maxContentBytes: 1_000_000 });
      assert.ok(outcome.status === 'ok' && outcome.isCut === true, JSON.stringify(outcome));
      assert.equal(content.length, 1_000_000);
    }
  });

  it('comes in one layer of gzip or in none', async () => {
    for (const coding of ['br', 'zstd', 'deflate', 'gzip, gzip', 'gzip, identity'])
      assert.equal(
        kindOf((await ask(say(answer('x', `Content-Encoding: ${coding}\r\n`)))).outcome),
        'coding',
      );
    const twice = answer(gzipSync(gzipSync(page)), 'Content-Encoding: gzip\r\n');
    assert.equal((await ask(say(twice))).content, gzipSync(page).toString('latin1'));
  });
});

describe('a server that does not speak HTTP/1.1', () => {
  const ODD: [what: string, says: string, content: string, http: number][] = [
    ['HTTP/0.9', '\r\n <html>old</html>', '\r\n <html>old</html>', 9],
    ['ICY', 'ICY 200 OK\r\nicy-name: x\r\n\r\nmusic', 'music', 200],
    ['lines that end by LF', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nokay', 'ok', 200],
    ['a folded header', 'HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok', 'ok', 200],
    ['a blank before the colon', 'HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok', 'ok', 200],
    ['a line without colon', 'HTTP/1.1 200 OK\r\nnonsense\r\n\r\nok', 'ok', 200],
    ['103 among these', 'HTTP/1.1 103 Hints\n\nHTTP/1.1 200 OK\n\nok', 'ok', 200],
  ];
  for (const [what, says, content, http] of ODD)
    it(`is understood: ${what}`, async () => {
      const heard = await ask(say(says));
      assert.deepEqual(
        { content: heard.content, http: heard.outcome.status === 'ok' && heard.outcome.http },
        { content, http },
        JSON.stringify(heard.outcome),
      );
      assert.deepEqual(
        heard.requests.map(request => request.split('\r\n')[0]),
        ['GET / HTTP/1.1', 'GET / HTTP/1.0'],
      );
    });

  it('is understood byte by byte', async () => {
    const { content } = await ask(socket => {
      const bytes = 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok';
      let at = 0;
      const next = () => {
        if (at < bytes.length) socket.write(bytes[at++] ?? '', () => setImmediate(next));
      };
      next();
    });
    assert.equal(content, 'ok');
  });

  const REFUSED: [what: string, says: string, kind: string, tries: number][] = [
    ['SSH', 'SSH-2.0-OpenSSH_9.2\r\n', 'malformed', 2],
    ['HTTP/3.0', 'HTTP/3.0 200 OK\r\n\r\nok', 'malformed', 2],
    ['HTTP/1.1x', 'HTTP/1.1x 200 OK\r\n\r\nok', 'malformed', 2],
    ['status 0200', 'HTTP/1.1 0200 OK\r\n\r\n', 'malformed', 2],
    ['status 99', 'HTTP/1.1 99 Low\r\n\r\n', 'malformed', 2],
    ['NUL', 'HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\nok', 'malformed', 2],
    ['a bare CR', 'HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\nok', 'malformed', 2],
    ['a coded transfer', 'HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nok\n0\n\n', 'framing', 2],
    ['two lengths', 'HTTP/1.1 200 OK\nContent-Length: 2\nContent-Length: 2\n\nok', 'content-length', 2],
    ['a length in words', 'HTTP/1.1 200 OK\nContent-Length: two\n\nok', 'content-length', 2],
    [
      'two lengths, strictly',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok',
      'content-length',
      1,
    ],
    ['chunks ended by LF', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\nok\n0\n\n', 'framing', 1],
    [
      'chunks cut, and the end announced',
      'HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok',
      'cut',
      1,
    ],
    ['a body cut short', 'HTTP/1.1 200 OK\nContent-Length: 9\n\nok', 'cut', 2],
    ['an endless head', `HTTP/1.1 200 OK\n${'X: y\n'.repeat(5000)}`, 'headers-too-big', 2],
    ['101', 'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n', 'unexpected-status', 1],
    ['101 and LF', 'HTTP/1.1 101 Switching\n\n', 'unexpected-status', 2],
    ['a flood of 103 and LF', 'HTTP/1.1 103 Hints\n\n'.repeat(21), 'interim', 2],
  ];
  for (const [what, says, kind, tries] of REFUSED)
    it(`is refused in the words of a failure: ${what}`, async () => {
      const { outcome, requests } = await ask(say(says));
      assert.deepEqual([kindOf(outcome), requests.length], [kind, tries], JSON.stringify(outcome));
      if (what.startsWith('101')) assert.ok(outcome.status === 'error' && outcome.http === 101);
    });

  it('is no site of a cache where it has no status, and is not asked a third time', async () => {
    for (const old of ['<html>old</html>', 'ICY 200 OK\r\n\r\nmusic']) {
      const strict = await ask(say(old), { manners: MANNERS_OF_A_CACHE });
      assert.deepEqual([kindOf(strict.outcome), strict.requests.length], ['malformed', 2]);
    }
    const gone = await ask(
      (socket, _request, nth) => void (nth === 1 ? say('nonsense')(socket) : socket.destroy()),
    );
    assert.deepEqual([kindOf(gone.outcome), gone.requests.length], ['malformed', 2], 'what was wrong first');
  });

  it('is bounded by the same clock and the same allowance', async () => {
    const late = await ask(
      (socket, _request, nth) => {
        if (nth === 1) say('nonsense')(socket);
      },
      {
        totalTimeoutMs: 300,
      },
    );
    assert.equal(kindOf(late.outcome), 'total-timeout');
    const endless = await ask(
      (socket, _request, nth) => {
        if (nth === 1) return say('nonsense')(socket);
        socket.write('HTTP/1.0 200 OK\n\n');
        const more = () => {
          while (!socket.destroyed && socket.write(Buffer.alloc(65_536, 'x')));
        };
        socket.on('drain', more);
        return more();
      },
      { maxContentBytes: 100_000 },
    );
    assert.ok(endless.outcome.status === 'ok' && endless.outcome.isCut === true);
    assert.equal(endless.content.length, 100_000);
  });
});

describe('redirects of a spider', () => {
  const chain =
    (...statuses: number[]) =>
    (socket: Socket, request: string) => {
      const at = Number(/^GET \/(\d*)/.exec(request)?.[1]);
      const status = statuses[at] ?? 200;
      socket.write(
        status === 200 ? answer('page') : answer('', `Location: /${at + 1}\r\n`, `${status} There`),
      );
    };
  const MOVES: [statuses: number[], moved: string | undefined][] = [
    [[301, 308], '/2'],
    [[301, 302], '/1'],
    [[302, 301], undefined],
    [[307], undefined],
    [[301, 303, 308], '/1'],
  ];
  for (const [statuses, moved] of MOVES)
    it(`say what stands for a url from now on: ${statuses.join(', ')}`, async () => {
      const { outcome } = await ask(chain(...statuses));
      assert.ok(outcome.status === 'ok' && outcome.finalUrl?.endsWith(`/${statuses.length}`));
      assert.equal(outcome.movedTo && new URL(outcome.movedTo).pathname, moved);
    });

  it('lead from https to http only where that is permitted', async () => {
    const authority = new Authority();
    const plain = await rawServer(socket => void socket.write(answer('page')));
    const server = createHttpsServer(authority.issue('localhost'), (_request, response) =>
      response.writeHead(302, { location: plain.url }).end(),
    );
    after(() => server.close());
    const url = (await listen(server)).replace('127.0.0.1', 'localhost');
    for (const [permitsDowngrade, kind] of [
      [true, 'ok'],
      [false, 'redirect-downgrade'],
    ] as const) {
      const manners = { ...SPIDER, permitsDowngrade };
      const engine = newEngine({ ...PATIENT, manners, ca: authority.ca });
      assert.equal(kindOf(await fetchOnce(engine, { url, sink: () => undefined })), kind);
    }
  });
});
