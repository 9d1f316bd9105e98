/** Answers that are no proper HTTP/1.1, and leave no doubt: what they mean to a cache, over TCP and TLS. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import { createServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import type { FetchJob } from '../../src/fetch/job.js';
import { MemorySink } from '../../src/fetch/sink.js';
import { within } from '../support/until.js';
import { Authority } from './authority.js';
import { listen } from './hostile/tls.js';
import { answer, fetchOnce, newEngine, PATIENT, rawServer, verdict, type Told } from './support.js';

const authority = new Authority();
const engine = newEngine({ ...PATIENT, ca: authority.ca, maxHeaderBytes: 256 * 1024 });
const certificate = authority.issue();

const bytesOf = (text: string | Buffer) => (typeof text === 'string' ? Buffer.from(text, 'latin1') : text);

interface Heard {
  outcome: Told;
  content: string;
  requests: string[];
}

async function heard(url: string, job: Partial<FetchJob> = {}): Promise<Omit<Heard, 'requests'>> {
  const into = new MemorySink();
  const outcome = await within('a fetch ends', fetchOnce(engine, { url, into, ...job }));
  return { outcome, content: into.bytes().toString('latin1') };
}

async function ask(
  says: string | Buffer | ((socket: Socket, request: string, nth: number) => void),
  job: Partial<FetchJob> = {},
): Promise<Heard> {
  const { url, requests } = await rawServer(
    typeof says === 'function' ? says : socket => void socket.write(bytesOf(says)),
  );
  return { ...(await heard(url, job)), requests };
}

const said = ({ outcome }: Pick<Heard, 'outcome'>) =>
  outcome.status === 'error' && 'detail' in outcome.failure ? outcome.failure.kind : verdict(outcome);

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

describe('an odd answer that leaves no doubt', () => {
  const ODD: Record<string, string> = {
    'a folded header': `${OK}X-A: b\r\n c\r\nContent-Length: 2\r\n\r\nOK`,
    'a header folded by a tab, twice': `${OK}X-A: b\r\n\tc\r\n\td\r\nContent-Length: 2\r\n\r\nOK`,
    'a length on a line of its own': `${OK}Content-Length:\r\n 2\r\n\r\nOK`,
    'lines that end by LF': 'HTTP/1.1 200 OK\nContent-Length: 2\n\nOK',
    'one line that ends by LF': `${OK}X: y\nContent-Length: 2\r\n\r\nOK`,
    'a blank before the colon': `${OK}Content-Length : 2\r\n\r\nOK`,
    'a line without colon': `${OK}nonsense\r\nContent-Length: 2\r\n\r\nOK`,
    'a line that begins with the colon': `${OK}: x\r\nContent-Length: 2\r\n\r\nOK`,
    'a name with a blank': `${OK}X Y: z\r\nContent-Length: 2\r\n\r\nOK`,
    'a name beyond ASCII': `${OK}X-\xe9: z\r\nContent-Length: 2\r\n\r\nOK`,
    'a control character in a header nobody reads': `${OK}X: a\x01b\x7f\r\nContent-Length: 2\r\n\r\nOK`,
    'blanks after the size of a chunk': `${CHUNKED}2  \r\nOK\r\n0\r\n\r\n`,
    'a tab after the size of a chunk': `${CHUNKED}2\t\r\nOK\r\n0\r\n\r\n`,
    'blanks after a later size': `${CHUNKED}1\r\nO\r\n1   \r\nK\r\n0  \r\n\r\n`,
    'a blank before an extension': `${CHUNKED}2 ;a=b\r\nOK\r\n0\r\n\r\n`,
    'blanks after a size, and trailers': `${CHUNKED}2 \r\nOK\r\n0 \r\nX: y\r\nnonsense\r\n\r\n`,
    'a folded header, and chunks': `${OK}X: a\r\n b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nOK\r\n0\r\n\r\n`,
  };
  for (const [what, says] of Object.entries(ODD))
    it(`is read: ${what}`, async () => {
      const { outcome, content, requests } = await ask(says);
      assert.deepEqual([said({ outcome }), content], ['ok', 'OK'], JSON.stringify(outcome));
      assert.ok(outcome.status === 'ok' && outcome.completeness === 'whole' && outcome.http === 200);
      assert.deepEqual(
        requests.map(request => request.split('\r\n', 1)[0]),
        ['GET / HTTP/1.1', 'GET / HTTP/1.0'],
      );
    });

  it('is read over TLS, and byte by byte', async () => {
    const says = Object.values(ODD);
    let next = '';
    const server = createServer(certificate, socket => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        const bytes = bytesOf(next);
        const more = (at: number) =>
          void (at < bytes.length && socket.write(bytes.subarray(at, at + 1), () => more(at + 1)));
        more(0);
      });
    });
    after(() => server.close());
    const url = await listen(server);
    for (next of says) assert.deepEqual([(await heard(url)).content], ['OK'], next);
  });

  it('is read for what is said of what was done, whose body is sent again', async () => {
    const bodies: string[] = [];
    const { outcome, requests } = await ask(
      (socket, request) => {
        bodies.push(request);
        socket.write(`${OK}X-A: b\r\n c\r\nContent-Length: 0\r\n\r\n`);
      },
      { method: 'PUT', body: { bytes: Buffer.from('page\r\n\r\n') } },
    );
    assert.equal(said({ outcome }), 'ok', JSON.stringify(outcome));
    assert.deepEqual(
      requests.filter(request => request.startsWith('PUT')).map(request => request.split('\r\n', 1)[0]),
      ['PUT / HTTP/1.1', 'PUT / HTTP/1.0'],
    );
    assert.deepEqual(
      bodies.filter(each => !each.startsWith('PUT')),
      ['page', 'page'],
    );
  });

  const DOUBTFUL: Record<string, string> = {
    'two lengths': 'HTTP/1.1 200 OK\nContent-Length: 2\nContent-Length: 3\n\nOK!',
    'a length that is folded': `${OK}Content-Length: 2\r\n 3\r\n\r\nOK`,
    'a length beside chunks': `${OK}X: a\r\n b\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nOK`,
    'a coding under chunks': `${OK}X: a\r\n b\r\nTransfer-Encoding: gzip, chunked\r\n\r\nOK`,
    'a name that is nearly that of the length': `${OK}Content-Length\x01: 2\r\n\r\nOK`,
    'a name that is nearly that of the coding': `${OK}X: a\r\n b\r\nTransfer Encoding: chunked\r\n\r\nOK`,
    'a bare CR': `${OK}X: a\rContent-Length: 1\r\n\r\nOK`,
    NUL: `${OK}X: a\0b\r\nContent-Length: 2\r\n\r\nOK`,
    'a chunk longer than its size': `${CHUNKED}1 \r\nOK\r\n0\r\n\r\n`,
    'a size in words': `${CHUNKED}two\r\nOK\r\n0\r\n\r\n`,
    'a size with a blank in it': `${CHUNKED}1 0\r\nOK\r\n0\r\n\r\n`,
    'an endless size': `${CHUNKED}2 ${' '.repeat(5000)}\r\nOK\r\n0\r\n\r\n`,
  };
  for (const [what, says] of Object.entries(DOUBTFUL))
    it(`is refused: ${what}`, async () => {
      const { outcome } = await ask(says);
      assert.equal(verdict(outcome), 611, JSON.stringify(outcome));
    });
});

describe('Content-Encoding', () => {
  const coded = (header: string, body: string | Buffer = 'OK') =>
    ask(answer(body, `Content-Encoding: ${header}\r\n`));

  it('that names no coding is none', async () => {
    for (const none of [
      'utf-8',
      'none',
      'binary',
      'aws-chunked',
      'identity',
      ',',
      'UTF-8, identity',
      'iso-8859-1',
    ])
      assert.deepEqual([(await coded(none)).content], ['OK'], none);
  });

  it('is the one coding that it names, whatever stands beside', async () => {
    const packed = gzipSync('OK');
    for (const one of [
      'gzip,aws-chunked',
      'gzip, identity',
      'identity, gzip',
      'gzip,',
      ', gzip',
      'GZIP',
      'utf-8, x-gzip',
    ])
      assert.deepEqual([(await coded(one, packed)).content], ['OK'], one);
  });

  it('is refused where it names a coding that is not decoded here, or two', async () => {
    for (const foreign of ['deflate', 'compress', 'gzip, gzip', 'br, gzip', 'gzip, utf-8, br', 'exi', 'dcb'])
      assert.equal(said(await coded(foreign)), 'coding', foreign);
  });
});

describe('what an answer says', () => {
  it('may take a quarter of a megabyte of headers', async () => {
    const { outcome } = await ask(answer('OK', `Content-Security-Policy: ${'x'.repeat(250_000)}\r\n`));
    assert.equal(outcome.status, 'ok');
    assert.equal(said(await ask(answer('OK', `X: ${'x'.repeat(270_000)}\r\n`))), 'headers-too-big');
  });

  it('is no content where there is none: what is held stays until it is known to be gone', async () => {
    for (const status of ['204 No Content', '205 Reset Content']) {
      const { outcome } = await ask(`HTTP/1.1 ${status}\r\n\r\n`);
      assert.ok(outcome.status === 'error' && outcome.reach === 'url', JSON.stringify(outcome));
      assert.equal((await ask(`HTTP/1.1 ${status}\r\n\r\n`, { inline: 100 })).outcome.status, 'ok');
    }
  });

  it('asks for patience by 429 and 503 only', async () => {
    const waits = async (status: string) => {
      const { outcome } = await ask(answer('', 'Retry-After: 20\r\n', status));
      return outcome.status === 'error' ? outcome.retryAfterMs : 'ok';
    };
    for (const status of ['429 Slow', '503 No']) assert.equal(await waits(status), 20_000);
    for (const status of ['400 Bad', '403 No', '404 None', '410 Gone', '421 Other', '500 Oh', '502 Bad'])
      assert.equal(await waits(status), undefined, status);
  });

  it('may be for now: 421 is asked again', async () => {
    const { outcome } = await ask(answer('', '', '421 Misdirected Request'));
    assert.ok(outcome.status === 'error' && outcome.reach === 'url' && outcome.code === 421);
  });
});

describe('a request', () => {
  const lineOf = (request: string | undefined, name: string) =>
    request?.split('\r\n').find(line => line.toLowerCase().startsWith(`${name}:`));

  it('asks caches to look in a way that lets servers say 304', async () => {
    const { requests } = await ask(answer('OK'), { etag: '"1"' });
    assert.equal(lineOf(requests[0], 'cache-control'), 'cache-control: max-age=0');
    assert.equal(lineOf((await ask(answer('OK'))).requests[0], 'cache-control'), 'cache-control: no-cache');
  });

  it('brings back the cookies that came with a redirect, to where they came from', async () => {
    const other = await rawServer(socket => void socket.write(answer('other')));
    const { outcome, requests, content } = await ask((socket, request) => {
      const cookie = lineOf(request, 'cookie');
      const to = (url: string, headers = '') =>
        socket.write(answer('', `Location: ${url}\r\n${headers}`, '302 Found'));
      if (cookie === undefined) to('/', 'Set-Cookie: s=1; Path=/; HttpOnly\r\nSet-Cookie: t=a=b\r\n');
      else if (!request.startsWith('GET /out')) to('/out', 'Set-Cookie: t=; Max-Age=0\r\n');
      else to(other.url);
    });
    assert.equal(outcome.status, 'ok', JSON.stringify(outcome));
    assert.equal(content, 'other');
    assert.deepEqual(
      requests.map(request => lineOf(request, 'cookie')),
      [undefined, 'cookie: s=1; t=a=b', 'cookie: s=1'],
    );
    assert.equal(lineOf(other.requests[0], 'cookie'), undefined, 'they are no other origin’s');
    const again = await ask(answer('OK'));
    assert.equal(lineOf(again.requests[0], 'cookie'), undefined);
  });

  it('ends where cookies lead in a circle, and where their header would be long', async () => {
    const round = await ask(
      (socket, _request, nth) =>
        void socket.write(answer('', `Location: /\r\nSet-Cookie: n=${nth % 2}\r\n`, '302 Found')),
    );
    assert.equal(said(round), 'redirect-loop');
    const counting = await ask(
      (socket, _request, nth) =>
        void socket.write(answer('', `Location: /\r\nSet-Cookie: n=${nth}\r\n`, '302 Found')),
    );
    assert.equal(said(counting), 'too-many-redirects');
    const crowd = Array.from({ length: 100 }, (_, n) => `Set-Cookie: c${n}=${'x'.repeat(200)}\r\n`).join('');
    const { requests } = await ask((socket, request) => {
      const isFirst = request.startsWith('GET / ');
      socket.write(isFirst ? answer('', `Location: /a\r\n${crowd}`, '302 Found') : answer('OK'));
    });
    assert.ok((lineOf(requests[1], 'cookie') ?? '').length <= 4200);
  });
});
