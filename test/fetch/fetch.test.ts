import fc from 'fast-check';
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { MemorySink } from '../../src/fetch/sink.js';
import { decodesZstd } from '../../src/fetch/zstd.js';
import { until } from '../support/until.js';
import {
  answer,
  fetchOnce,
  filesBelow,
  md5,
  newEngine,
  newFolder,
  rawServer,
  toldOf,
  verdict,
  type Told,
} from './support.js';

const fresh = () => join(newFolder(), 'file');
/** In chunks of one byte six come for each: more than this passes what may come for a content of 1 MB. */
const MOST_BYTES = 350_000;

describe('a fetch', () => {
  it('stores any content, however it is coded and framed', async () => {
    const engine = newEngine();
    let next: Buffer = Buffer.alloc(0);
    const server = await rawServer(socket => void socket.write(next));
    const codings = {
      identity: (content: Buffer) => content,
      gzip: (content: Buffer) => gzipSync(content),
      br: (content: Buffer) => brotliCompressSync(content),
    };
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: 0, max: MOST_BYTES })),
        fc.boolean(),
        fc.constantFrom('identity' as const, 'gzip' as const, 'br' as const),
        fc.boolean(),
        fc.integer({ min: 1, max: 100_000 }),
        async (length, compressible, coding, chunked, piece) => {
          const content = compressible ? Buffer.alloc(length, 'abc') : randomBytes(length);
          const body = codings[coding](content);
          const header = coding === 'identity' ? '' : `Content-Encoding: ${coding}\r\n`;
          next = chunked ? inChunks(body, header, piece) : answer(body, header);
          const file = fresh();
          const outcome = await fetchOnce(engine, { url: server.url, file });
          assert.ok(outcome.status === 'ok', JSON.stringify(outcome));
          assert.deepEqual(
            [outcome.md5, outcome.len, outcome.completeness],
            [md5(content), content.length, 'whole'],
          );
          assert.ok(readFileSync(file).equals(content));
          assert.equal(outcome.wireBytes, next.length);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('gives back what the server said of the content, as it said it', async () => {
    const headers =
      'Content-Type: Text/HTML; charset=x\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nETag: W/"a b"\r\n';
    const server = await rawServer(socket => void socket.write(answer('page', headers)));
    const outcome = await fetchOnce(newEngine(), { url: server.url, file: fresh(), mimetype: 'text/html' });
    assert.ok(outcome.status === 'ok');
    assert.equal(outcome.mimetype, 'text/html');
    assert.equal(outcome.lastModified, 'Sun, 06 Nov 1994 08:49:37 GMT');
    assert.equal(outcome.etag, 'W/"a b"');
    assert.equal(outcome.http, 200);
    assert.equal(outcome.finalUrl, undefined);
  });

  it('takes no validator of an answer that is within the second of its Last-Modified', async () => {
    const said = 'Sun, 06 Nov 1994 08:49:37 GMT';
    for (const [date, lastModified, modifiedNow] of [
      ['Sun, 06 Nov 1994 08:49:38 GMT', said, undefined],
      [said, undefined, said],
      ['Sun, 06 Nov 1994 08:49:07 GMT', undefined, said],
      ['Sunday, 06-Nov-94 08:49:37 GMT', undefined, said],
      ['yesterday', said, undefined],
    ]) {
      const headers = `Date: ${date}\r\nLast-Modified: ${said}\r\nETag: "e"\r\n`;
      const server = await rawServer(socket => void socket.write(answer('page', headers)));
      const outcome = await fetchOnce(newEngine(), { url: server.url, file: fresh() });
      assert.ok(outcome.status === 'ok');
      assert.deepEqual([outcome.lastModified, outcome.modifiedNow], [lastModified, modifiedNow], date);
      assert.equal(outcome.etag, lastModified && '"e"', date);
    }
  });

  it('gives back the encoding that the server names, by its name in the standard, and no other', async () => {
    const engine = newEngine();
    const charsetOf = async (contentType: string) => {
      const server = await rawServer(
        socket => void socket.write(answer('page', `Content-Type: ${contentType}\r\n`)),
      );
      const outcome = await fetchOnce(engine, { url: server.url, file: fresh() });
      assert.ok(outcome.status === 'ok', JSON.stringify(outcome));
      return outcome.charset;
    };
    assert.equal(await charsetOf('text/html; charset=koi8-r'), 'koi8-r');
    assert.equal(await charsetOf('Text/HTML;Charset="ISO-8859-1";charset=utf-8'), 'windows-1252');
    assert.equal(await charsetOf('text/html; title="; charset=big5"; charset=GB2312'), 'gbk');
    assert.equal(await charsetOf('text/html; charset=martian'), undefined);
    assert.equal(await charsetOf('text/html; charset='), undefined);
    assert.equal(await charsetOf('charset=koi8-r'), undefined);
    assert.equal(await charsetOf(`text/html; charset=koi8-r; x=${'y'.repeat(2000)}`), undefined);
    assert.equal(await charsetOf('text/html'), undefined);
  });

  it('says who it is and what it takes', async () => {
    const server = await rawServer(socket => void socket.write(answer('')));
    await fetchOnce(newEngine(), { url: `${server.url}a%20b?c=d#e`, file: fresh(), mimetype: 'text/xml' });
    const lines = server.requests[0]?.split('\r\n') ?? [];
    assert.equal(lines[0], 'GET /a%20b?c=d HTTP/1.1');
    assert.ok(lines.includes(`host: 127.0.0.1:${server.port}`));
    assert.ok(lines.includes('user-agent: test/1 (+mailto:robots@example.org)'));
    assert.ok(lines.includes('accept: text/xml,*/*;q=0.1'));
    assert.ok(lines.includes(`accept-encoding: gzip, br${decodesZstd() ? ', zstd' : ''}`));
    assert.ok(lines.includes('cache-control: no-cache'));
  });

  it('says what a provider wants it to say, and no header that is none', async () => {
    const server = await rawServer(socket => void socket.write(answer('')));
    const ask = async (userAgent: string) => {
      await fetchOnce(newEngine(), { url: server.url, file: fresh(), userAgent });
      return /^user-agent: (.*)$/m.exec(server.requests.at(-1) ?? '')?.[1]?.trim();
    };
    assert.equal(await ask('house/7 (it@example.org)'), 'house/7 (it@example.org)');
    assert.equal(await ask('x\r\nX-Injected: yes'), 'test/1 (+mailto:robots@example.org)');
  });

  it('gives a login to the origin it is for, through its redirects, and to no other', async () => {
    const other = await rawServer(socket => void socket.write(answer('there')));
    const site = await rawServer((socket, request) => {
      const to = /GET \/(here|there) /.exec(request)?.[1];
      const target = { here: '/end', there: other.url }[to ?? ''];
      socket.write(target === undefined ? answer('') : answer('', `Location: ${target}\r\n`, '302 Found'));
    });
    const given = (request = '') => /^authorization: (.*)$/m.exec(request)?.[1]?.trim();
    // RFC 7617, section 2.1.
    const login = 'test:123\u00a3';
    await fetchOnce(newEngine(), { url: `${site.url}here`, file: fresh(), login });
    assert.deepEqual(site.requests.map(given), ['Basic dGVzdDoxMjPCow==', 'Basic dGVzdDoxMjPCow==']);
    await fetchOnce(newEngine(), { url: `${site.url}there`, file: fresh(), login });
    assert.deepEqual(other.requests.map(given), [undefined]);
  });

  it('is limited in time as its provider wants it, where that is less', async () => {
    const server = await rawServer(() => undefined);
    const outcome = await fetchOnce(newEngine(), { url: server.url, file: fresh(), timeoutMs: 100 });
    assert.equal(verdict(outcome), 603);
  });

  it('asks for urls of any length', async () => {
    const server = await rawServer(socket => void socket.write(answer('long')));
    for (const length of [65_535, 65_536]) {
      const url = server.url.padEnd(length, 'a');
      assert.equal(verdict(await fetchOnce(newEngine(), { url, file: fresh() })), 'ok');
      assert.equal(server.requests.at(-1)?.split(' ')[1], new URL(url).pathname);
    }
  });

  it('gives content to who wants it piece by piece, decoded and limited as any', async () => {
    const page = Buffer.from('a page of a spider '.repeat(20_000));
    const server = await rawServer(
      socket => void socket.write(answer(gzipSync(page), 'Content-Encoding: gzip\r\n')),
    );
    const into = async (maxBytes: number, take: (chunk: Uint8Array) => void) =>
      fetchOnce(newEngine(), { url: server.url, maxBytes, sink: take });
    const pieces: Uint8Array[] = [];
    const outcome = await into(1_000_000, chunk => void pieces.push(chunk));
    assert.ok(outcome.status === 'ok' && outcome.md5 === md5(page) && outcome.len === page.length);
    assert.ok(Buffer.concat(pieces).equals(page));
    let bytes = 0;
    assert.equal(verdict(await into(100_000, chunk => (bytes += chunk.length))), 606);
    assert.ok(bytes <= 100_000);
    const full = () => {
      throw new Error('no room');
    };
    assert.equal(verdict(await into(1_000_000, full)), 613);
  });

  it('asks conditionally and takes 304 for unchanged', async () => {
    const server = await rawServer(
      socket => void socket.write('HTTP/1.1 304 Not Modified\r\nETag: "2"\r\nContent-Length: 99\r\n\r\n'),
    );
    const folder = newFolder();
    const outcome = await fetchOnce(newEngine(), {
      url: server.url,
      file: join(folder, 'x'),
      lastModified: 'Sun, 06 Nov 1994 08:49:37 GMT',
      etag: '"1"',
    });
    assert.ok(outcome.status === 'unchanged' && outcome.etag === '"2"');
    assert.match(
      server.requests[0] ?? '',
      /if-modified-since: Sun, 06 Nov 1994 08:49:37 GMT\r\nif-none-match: "1"/,
    );
    assert.deepEqual(filesBelow(folder), []);
  });

  it('sends no validator that is no header', async () => {
    const server = await rawServer(socket => void socket.write(answer('')));
    const etag = '"1"\r\nX-Injected: yes';
    const outcome = await fetchOnce(newEngine(), { url: server.url, file: fresh(), etag });
    assert.equal(verdict(outcome), 'ok');
    assert.doesNotMatch(server.requests[0] ?? '', /if-none-match|injected/i);
  });

  it('follows redirects within the roots and says where it ended', async () => {
    const server = await rawServer((socket, request) => {
      const status = /GET \/docs\/(30[12378])/.exec(request)?.[1];
      if (status === undefined) socket.write(answer('there'));
      else socket.write(answer('moved', 'Location: ../docs/end#x\r\n', `${status} Moved`));
    });
    for (const status of [301, 302, 303, 307, 308]) {
      const outcome = await fetchOnce(newEngine(), {
        url: `${server.url}docs/${status}`,
        file: fresh(),
        roots: [`${server.url}docs/`],
      });
      assert.ok(
        outcome.status === 'ok' && outcome.finalUrl === `${server.url}docs/end`,
        JSON.stringify(outcome),
      );
    }
  });

  it('does not follow a redirect out of the roots', async () => {
    const server = await rawServer(
      socket => void socket.write(answer('', 'Location: /docs/../private/\r\n', '302 Found')),
    );
    const roots = [`${server.url}docs/`];
    const outcome = await fetchOnce(newEngine(), { url: `${server.url}docs/a`, file: fresh(), roots });
    assert.equal(verdict(outcome), 609);
    assert.equal(server.requests.length, 1);
  });

  it('follows exactly as many redirects as permitted', async () => {
    const server = await rawServer((socket, request) => {
      const left = Number(/GET \/(\d+)/.exec(request)?.[1]);
      socket.write(left === 0 ? answer('end') : answer('', `Location: /${left - 1}\r\n`, '302 Found'));
    });
    const engine = newEngine({ maxRedirects: 3 });
    assert.equal(verdict(await fetchOnce(engine, { url: `${server.url}3`, file: fresh() })), 'ok');
    assert.equal(verdict(await fetchOnce(engine, { url: `${server.url}4`, file: fresh() })), 608);
  });

  it('takes content up to the limit and not a byte more, decoded', async () => {
    const engine = newEngine({ maxContentBytes: 1000 });
    for (const code of [
      (b: Buffer) => answer(b),
      (b: Buffer) => answer(gzipSync(b), 'Content-Encoding: gzip\r\n'),
    ]) {
      const server = await rawServer(
        (socket, request) => void socket.write(code(Buffer.alloc(Number(/\/(\d+)/.exec(request)?.[1]), 'x'))),
      );
      assert.equal(verdict(await fetchOnce(engine, { url: `${server.url}1000`, file: fresh() })), 'ok');
      assert.equal(verdict(await fetchOnce(engine, { url: `${server.url}1001`, file: fresh() })), 606);
      assert.equal(
        verdict(await fetchOnce(engine, { url: `${server.url}500`, file: fresh(), maxBytes: 499 })),
        606,
      );
    }
  });

  it('refuses content that is not what was announced only where that is enforced', async () => {
    const server = await rawServer(socket => void socket.write(answer('content')));
    const fetch = (job: object) => fetchOnce(newEngine(), { url: server.url, file: fresh(), ...job });
    assert.equal(verdict(await fetch({ md5: md5('other'), len: 1 })), 'ok');
    assert.equal(verdict(await fetch({ md5: md5('other'), enforce: true })), 612);
    assert.equal(verdict(await fetch({ len: 8, enforce: true })), 612);
    assert.equal(verdict(await fetch({ md5: md5('content').toUpperCase(), len: 7, enforce: true })), 'ok');
  });

  it('reads Retry-After, and says how far a status reaches', async () => {
    const at = (status: string, header = '') =>
      rawServer(socket => void socket.write(answer('', header, status))).then(server =>
        fetchOnce(newEngine(), { url: server.url, file: fresh() }),
      );
    const seen = async (status: string, header = '') => {
      const outcome = await at(status, header);
      return outcome.status === 'error'
        ? [outcome.code, outcome.reach, outcome.retryAfterMs]
        : outcome.status;
    };
    assert.deepEqual(await seen('503 No', 'Retry-After: 7\r\n'), [503, 'url', 7000]);
    assert.deepEqual(await seen('429 Slow', 'Retry-After: 99999999\r\n'), [429, 'url', 86_400_000]);
    assert.deepEqual(await seen('503 No', 'Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n'), [503, 'url', 0]);
    assert.deepEqual(await seen('503 No', 'Retry-After: soon\r\n'), [503, 'url', undefined]);
    assert.deepEqual(await seen('408 Late'), [408, 'url', undefined]);
    assert.deepEqual(await seen('404 Gone'), [404, 'real', undefined]);
    assert.deepEqual(await seen('410 Gone'), [410, 'real', undefined]);
  });

  it('makes a request again when the connection kept alive turns out to be closed', async () => {
    const server = await rawServer((socket, _request, nth) => {
      if (nth === 2) socket.resetAndDestroy();
      else socket.write(answer('fine'));
    });
    const engine = newEngine();
    assert.equal(verdict(await fetchOnce(engine, { url: server.url, file: fresh() })), 'ok');
    assert.equal(verdict(await fetchOnce(engine, { url: server.url, file: fresh() })), 'ok');
    assert.equal(server.requests.length, 3);
  });

  it('uses a connection again, and never more at a time than fetches', async () => {
    const server = await rawServer(socket => void socket.write(answer('fine')));
    const engine = newEngine();
    for (let i = 0; i < 20; i++) await fetchOnce(engine, { url: server.url, file: fresh() });
    assert.equal(server.connections, 1);
    assert.equal(engine.idleConnections, 1);
  });

  it('keeps a bounded number of idle connections', async () => {
    const engine = newEngine({ maxIdleConnections: 3 });
    for (let i = 0; i < 6; i++) {
      const server = await rawServer(socket => void socket.write(answer('fine')));
      await fetchOnce(engine, { url: server.url, file: fresh() });
    }
    assert.equal(engine.idleConnections, 3);
  });

  it('gives a second answer nobody asked for to nobody', async () => {
    const server = await rawServer((socket, _request, nth) => {
      socket.write(nth === 1 ? Buffer.concat([answer('first'), answer('injected')]) : answer('right'));
    });
    const engine = newEngine();
    const files = [fresh(), fresh()];
    for (const file of files) await fetchOnce(engine, { url: server.url, file });
    assert.deepEqual(
      files.map(file => readFileSync(file, 'utf8')),
      ['first', 'right'],
    );
  });

  it('gives every fetch cancelled its result and leaves nothing of it', async () => {
    const folder = newFolder();
    const server = await rawServer(
      socket => void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n${'x'.repeat(400_000)}`),
    );
    const engine = newEngine();
    const results = [1, 2, 3].map(n => fetchOnce(engine, { url: server.url, file: join(folder, `${n}`) }));
    const ended: unknown[] = [];
    void Promise.race(results).then(result => ended.push(result));
    while (filesBelow(folder).length < 3 && ended.length === 0)
      await new Promise(resolve => void setImmediate(resolve));
    engine.close();
    assert.deepEqual((await Promise.all(results)).map(verdict), [605, 605, 605]);
    assert.deepEqual(filesBelow(folder), []);
    assert.equal(engine.activeCount, 0);
  });

  it('has no second result however late, and often, it is cancelled', async () => {
    const server = await rawServer((socket, request) => {
      if (request.startsWith('GET /page ')) socket.write(answer('page'));
    });
    for (const [path, expected] of [
      ['page', 'ok'],
      ['silence', 605],
    ] as const) {
      const engine = newEngine();
      const outcomes: Told[] = [];
      const job = { url: server.url + path, roots: [] };
      const fetch = engine.fetch(job, new MemorySink(), {
        done: outcome => void outcomes.push(toldOf(outcome, '')),
      });
      if (path === 'silence') fetch.cancel();
      await until('an outcome is there', () => outcomes.length > 0);
      fetch.cancel();
      engine.close();
      assert.deepEqual(outcomes.map(verdict), [expected]);
    }
  });
});

function inChunks(body: Buffer, header: string, piece: number): Buffer {
  const frame = `${piece.toString(16)}\r\n\r\n`.length;
  const chunks = Buffer.allocUnsafe(Math.ceil(body.length / piece) * (piece + frame));
  let used = 0;
  for (let at = 0; at < body.length; at += piece) {
    const length = Math.min(piece, body.length - at);
    used += chunks.write(`${length.toString(16)}\r\n`, used, 'latin1');
    used += body.copy(chunks, used, at, at + length);
    used += chunks.write('\r\n', used, 'latin1');
  }
  const head = Buffer.from(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n${header}\r\n`);
  return Buffer.concat([head, chunks.subarray(0, used), Buffer.from('0\r\n\r\n')]);
}
