/** Requests for what nobody announced: types that are taken, redirects that are reported, contents that come with the result. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import type { EngineOptions } from '../../src/fetch/engine.js';
import type { FetchJob } from '../../src/fetch/job.js';
import { MemorySink } from '../../src/fetch/sink.js';
import { within } from '../support/until.js';
import { answer, fetchOnce, flood, newEngine, PATIENT, rawServer, type Told } from './support.js';

type Serve = (socket: Socket, path: string, nth: number) => void;

/** One fetch of `/` at a server, and what was asked of it. */
async function ask(
  serve: Serve,
  job: Partial<FetchJob>,
  limits: Partial<EngineOptions> = {},
): Promise<{ outcome: Told; content: Buffer; paths: string[]; origin: string }> {
  const pathOf = (request: string) => request.split(' ')[1] ?? '';
  const server = await rawServer((socket, request, nth) => serve(socket, pathOf(request), nth));
  const sink = new MemorySink();
  const url = new URL(job.url ?? '/', server.url).href;
  const outcome = await within(
    'a fetch ends',
    fetchOnce(newEngine({ ...PATIENT, ...limits }), { ...job, url, into: sink }),
  );
  return {
    outcome,
    content: sink.bytes(),
    paths: server.requests.map(pathOf),
    origin: server.url.slice(0, -1),
  };
}

const to = (location: string, status = '302 Found') => answer('', `Location: ${location}\r\n`, status);

function redirectOf(outcome: Told): unknown {
  return outcome.status === 'error' && outcome.failure.kind === 'status'
    ? [outcome.failure.status, outcome.failure.location]
    : outcome;
}

describe('a type that is not taken', () => {
  it('is refused by its header: nothing of the body is waited for', async () => {
    const { outcome } = await ask(
      socket => socket.write('HTTP/1.1 200 OK\r\nContent-Type: Image/PNG\r\nContent-Length: 9\r\n\r\n'),
      { accept: ['text/*', 'application/pdf'] },
    );
    assert.ok(outcome.status === 'error');
    assert.deepEqual(
      [outcome.code, outcome.reach, outcome.message],
      [303, 'real', 'mimetype not accepted here: image/png is served'],
    );
  });

  it('is application/octet-stream where the site names none', async () => {
    const serve: Serve = socket => void socket.write(answer('x'));
    const { outcome } = await ask(serve, { accept: ['text/*'] });
    assert.ok(outcome.status === 'error' && outcome.code === 303);
    assert.equal((await ask(serve, { accept: ['application/octet-stream'] })).outcome.status, 'ok');
  });

  it('is none of those that patterns name, whatever the case of letters and the parameters', async () => {
    const serve: Serve = socket =>
      void socket.write(answer('x', 'Content-Type: Text/HTML; charset=utf-8\r\n'));
    for (const accept of [['TEXT/*'], ['image/*', 'text/html'], ['*/*']])
      assert.equal((await ask(serve, { accept })).outcome.status, 'ok', String(accept));
  });
});

describe('a redirect that is to be reported', () => {
  const report = { redirects: 'report' } as const;

  it('is not followed, wherever it leads', async () => {
    for (const location of ['/there?a=1#part', 'https://elsewhere.example/x', '//elsewhere.example/']) {
      const { outcome, paths, origin } = await ask(socket => void socket.write(to(location)), {
        ...report,
        roots: ['http://127.0.0.1/'],
      });
      const [absolute] = new URL(location, `${origin}/`).href.split('#', 1);
      assert.deepEqual(redirectOf(outcome), [302, absolute]);
      assert.deepEqual(paths, ['/']);
    }
  });

  it('is followed where both urls are one in their canonical form, and reported after that', async () => {
    const serve: Serve = (socket, path) =>
      void socket.write(
        path.includes('utm_source') ? to('/%7ea') : path === '/%7ea' ? to('/~a/') : answer('x'),
      );
    const { outcome, paths, origin } = await ask(serve, { ...report, url: '/~a?utm_source=x' });
    assert.deepEqual(redirectOf(outcome), [302, `${origin}/~a/`]);
    assert.deepEqual(paths, ['/~a?utm_source=x', '/%7ea']);
  });

  it('to the url itself is a loop', async () => {
    const { outcome } = await ask(socket => void socket.write(to('/')), report);
    assert.ok(outcome.status === 'error' && outcome.code === 608);
  });

  it('is a failure where nobody could follow it', async () => {
    for (const [location, code] of [
      ['http://[::g]/', 611],
      ['mailto:a@example.org', 609],
      ['http://user:pw@h.example/', 609],
    ] as const) {
      const { outcome } = await ask(socket => void socket.write(to(location)), report);
      assert.ok(outcome.status === 'error' && outcome.code === code, JSON.stringify(outcome));
    }
  });
});

describe('a content that is to come with the result', () => {
  it('is cut where it is longer, and the site sends no more', async () => {
    const { outcome, content } = await ask(
      socket => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n');
        flood(socket, 'x'.repeat(10_000));
      },
      { inline: 512_000 },
    );
    assert.ok(outcome.status === 'ok');
    assert.deepEqual([outcome.isCut, outcome.len, content.length], [true, 512_000, 512_000]);
    assert.ok(outcome.wireBytes < 2_000_000, `${outcome.wireBytes} bytes came`);
  });

  it('comes after five redirects, whatever the engine permits, and not after six', async () => {
    const chain =
      (length: number): Serve =>
      (socket, _path, nth) =>
        void socket.write(nth > length ? answer('Disallow:') : to(`/${nth}`));
    const five = await ask(chain(5), { inline: 1000 }, { maxRedirects: 1 });
    assert.equal(five.content.toString(), 'Disallow:');
    const six = await ask(chain(6), { inline: 1000 });
    assert.ok(six.outcome.status === 'error' && six.outcome.code === 608);
    assert.equal(six.paths.length, 6);
  });
});

describe('X-Robots-Tag', () => {
  const robotsOf = async (headers: string) => {
    const { outcome } = await ask(socket => void socket.write(answer('x', headers)), {});
    return outcome.status === 'ok' ? outcome.robots : outcome;
  };

  it('is reported as the site says it, all fields of the name together', async () => {
    assert.equal(await robotsOf('X-Robots-Tag: noindex\r\n'), 'noindex');
    assert.equal(
      await robotsOf(
        'x-robots-tag: otherbot: none\r\nContent-Type: text/html\r\nX-ROBOTS-TAG:  nofollow \r\n',
      ),
      'otherbot: none, nofollow',
    );
    assert.equal(await robotsOf('Content-Type: text/html\r\nx-other-name: 1\r\n'), undefined);
  });

  it('has no character that a message could not carry', async () => {
    assert.equal(await robotsOf('X-Robots-Tag: no\u00e9index\tall\r\n'), 'no index all');
  });
});
