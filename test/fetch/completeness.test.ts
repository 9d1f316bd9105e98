/** A content is whole or it is none: whatever ends its connection, wherever it is cut. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createSecureContext, TLSSocket, type SecureVersion } from 'node:tls';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { FetchJob } from '../../src/fetch/job.js';
import { within } from '../support/until.js';
import { Authority } from './authority.js';
import { listen } from './hostile/tls.js';
import {
  answer,
  fetchOnce,
  filesBelow,
  md5,
  newEngine,
  newFolder,
  PATIENT,
  rawServer,
  type Told,
} from './support.js';

const folder = newFolder();
let files = 0;
const engine = newEngine(PATIENT);
const PAGE = '<p>half of a page is no page';
const OPEN = `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n`;

/** `whole`, `unverified`, `contradicted`; or the kind of the failure, of which no file may be left. */
async function seen(url: string, job: Partial<FetchJob> = {}): Promise<string> {
  const file = join(folder, String(++files));
  const outcome = await within('a fetch ends', fetchOnce(engine, { url, file, ...job }));
  if (outcome.status === 'ok') assert.equal(md5(readFileSync(file)), outcome.md5);
  else assert.ok(!existsSync(file));
  assert.deepEqual(
    filesBelow(folder).filter(name => name.endsWith('.tmp')),
    [],
  );
  return nameOf(outcome);
}

function nameOf(outcome: Told): string {
  if (outcome.status === 'ok') return outcome.completeness;
  return outcome.status === 'error' ? outcome.failure.kind : outcome.status;
}

/** How a server ends a connection after the last byte. */
const ENDS: Record<'FIN' | 'RST', (socket: Socket, text: string | Buffer) => void> = {
  FIN: (socket, text) => void socket.end(text),
  // In the moment in which the content comes: to the client it may look like an end.
  RST: (socket, text) => void socket.write(text, () => socket.resetAndDestroy()),
};

async function endedBy(end: keyof typeof ENDS, text: string | Buffer): Promise<string> {
  return (await rawServer(socket => ENDS[end](socket, text))).url;
}

describe('a body that ends with its connection', () => {
  it('is whole where its announced length or md5 says so, and contradicted where they do not', async () => {
    const url = await endedBy('FIN', OPEN + PAGE);
    assert.equal(await seen(url), 'unverified');
    assert.equal(await seen(url, { len: PAGE.length }), 'whole');
    assert.equal(await seen(url, { md5: md5(PAGE).toUpperCase() }), 'whole');
    assert.equal(await seen(url, { md5: md5(PAGE), len: 5000 }), 'whole');
    for (const other of [
      { len: 5000 },
      { len: 1 },
      { md5: md5('other') },
      { md5: md5('other'), len: 5000 },
    ]) {
      assert.equal(await seen(url, other), 'contradicted', JSON.stringify(other));
      assert.equal(await seen(url, { ...other, enforce: true }), 'contradicted');
      assert.equal(await seen(url, { ...other, takesContradicted: true }), 'contradicted');
      assert.equal(await seen(url, { ...other, enforce: true, takesContradicted: true }), 'differs');
    }
  });

  it('is cut where that was reset in the moment in which it came', async () => {
    const url = await endedBy('RST', OPEN + PAGE);
    for (let round = 0; round < 10; round++)
      for (const job of [{}, { len: 5000 }, { takesContradicted: true, len: 5000 }])
        assert.equal(await seen(url, job), 'cut');
  });

  it('is cut where that was reset when some of it had been taken', async () => {
    let reset = (): unknown => undefined;
    const { url } = await rawServer(socket => {
      reset = () => socket.resetAndDestroy();
      socket.write(OPEN + PAGE);
    });
    const outcome = await within('a fetch ends', fetchOnce(engine, { url, sink: () => void reset() }));
    assert.equal(nameOf(outcome), 'cut');
  });

  it('is no content of a length that it does not have, whatever is said of it', async () => {
    for (const end of Object.keys(ENDS) as (keyof typeof ENDS)[])
      assert.equal(
        await seen(await endedBy(end, `HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n${PAGE}`), {
          len: PAGE.length,
          md5: md5(PAGE),
        }),
        'cut',
      );
  });

  it('is whole where an end came first, and a reset after it', async () => {
    // A server that closes with something unread resets what it has ended before.
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, socket => {
      socket.end(OPEN + PAGE, () => setImmediate(() => socket.destroy()));
    });
    await new Promise<void>(ready => void server.listen(0, '127.0.0.1', ready));
    after(() => server.close());
    const { port } = server.address() as AddressInfo;
    assert.equal(await seen(`http://127.0.0.1:${port}/`), 'unverified');
  });
});

describe('a body that ends with its connection, over TLS', () => {
  const authority = new Authority();
  const certificate = authority.issue();
  const tls = newEngine({ ...PATIENT, ca: authority.ca });
  type Secured = { secured: TLSSocket; wire: Socket };

  /** How the fetch of `bytes` ends, of a server of one version of TLS. @param end what the server does after the last byte */
  async function seenOver(
    maxVersion: SecureVersion,
    bytes: string | Buffer,
    end: (to: Secured) => void,
  ): Promise<string> {
    const secureContext = createSecureContext({ ...certificate, maxVersion });
    const server = createServer(wire => {
      const secured = new TLSSocket(wire, { isServer: true, secureContext });
      wire.on('error', () => undefined);
      secured.on('error', () => undefined);
      secured.once('data', () => secured.write(bytes, () => end({ secured, wire })));
    });
    const url = await listen(server);
    const outcome = await within('a fetch ends', fetchOnce(tls, { url, sink: () => undefined }));
    server.close();
    return nameOf(outcome);
  }

  const GOODBYES: Record<string, (to: Secured) => void> = {
    'and the end of the connection': ({ secured }) => void secured.end(),
    'and the end at once': ({ secured, wire }) => void secured.end(() => wire.destroy()),
  };
  const CUTS: Record<string, (to: Secured) => void> = {
    ended: ({ wire }) => void wire.end(),
    closed: ({ wire }) => void wire.destroy(),
    reset: ({ wire }) => void wire.resetAndDestroy(),
    'ended within a record': ({ wire }) => void wire.end(Buffer.from('1703030040ab', 'hex')),
  };
  const BODIES: Record<string, Buffer> = {
    nothing: Buffer.from(OPEN),
    page: Buffer.from(OPEN + PAGE),
    // More than what Node reads ahead, so that it stops reading in between.
    'long page': Buffer.concat([Buffer.from(OPEN), Buffer.alloc(600_000, 'x')]),
    'odd head': Buffer.from(`${OPEN.slice(0, -2)}X: a\r\n b\r\n\r\n${PAGE}`),
  };

  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    it(`is taken where TLS has said goodbye, ${maxVersion}`, async () => {
      for (const [body, bytes] of Object.entries(BODIES))
        for (const [way, end] of Object.entries(GOODBYES))
          assert.equal(await seenOver(maxVersion, bytes, end), 'unverified', `${body}, ${way}`);
    });

    it(`is cut where the connection below it was ended, or reset, without that, ${maxVersion}`, async () => {
      for (const [body, bytes] of Object.entries(BODIES))
        for (const [way, end] of Object.entries(CUTS))
          assert.equal(await seenOver(maxVersion, bytes, end), 'cut', `${body}, ${way}`);
    });
  }

  it('does not matter where the answer says itself where it ends', async () => {
    for (const end of Object.values({ ...GOODBYES, ...CUTS }))
      assert.equal(await seenOver('TLSv1.3', answer(PAGE), end), 'whole');
  });
});

/** Ways to send a page, and whether each says itself where that ends. */
const LONG = Buffer.from(`${PAGE}\n`.repeat(40));
const WAYS: Record<string, { bytes: Buffer; isFramed: boolean }> = {
  length: { bytes: answer(LONG), isFramed: true },
  chunks: {
    bytes: Buffer.concat([
      Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'),
      ...[LONG.subarray(0, 700), LONG.subarray(700)].flatMap(piece => [
        Buffer.from(`${piece.length.toString(16)}\r\n`),
        piece,
        Buffer.from('\r\n'),
      ]),
      Buffer.from('0\r\n\r\n'),
    ]),
    isFramed: true,
  },
  gzip: {
    bytes: Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n'), gzipSync(LONG)]),
    isFramed: true,
  },
  'folded headers': {
    bytes: Buffer.concat([
      Buffer.from(`HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: ${LONG.length}\r\n\r\n`),
      LONG,
    ]),
    isFramed: true,
  },
  'blanks after sizes': {
    bytes: Buffer.concat([
      Buffer.from(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${LONG.length.toString(16)}  \r\n`),
      LONG,
      Buffer.from('\r\n0 \r\n\r\n'),
    ]),
    isFramed: true,
  },
  nothing: { bytes: Buffer.concat([Buffer.from(OPEN), LONG]), isFramed: false },
};

it('half of a page is never taken for the page that was announced, wherever it is cut and whatever ends it', async () => {
  const announced = { len: LONG.length, md5: md5(LONG) };
  for (const [way, { bytes, isFramed }] of Object.entries(WAYS)) {
    let cut = bytes.length;
    const urls = await Promise.all(
      (['FIN', 'RST'] as const).map(
        async end => (await rawServer(s => ENDS[end](s, bytes.subarray(0, cut)))).url,
      ),
    );
    const ask = async (job: Partial<FetchJob>) => Promise.all(urls.map(url => seen(url, job)));
    assert.equal((await ask(announced))[0], 'whole', way);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: bytes.length - 1 }), fc.boolean(), async (at, isSaid) => {
        cut = at;
        for (const name of await ask(isSaid ? announced : {})) {
          assert.notEqual(name, 'whole', `${way}, cut at ${at}`);
          assert.ok(isSaid || isFramed ? name !== 'unverified' : true, `${way}, cut at ${at}: ${name}`);
        }
      }),
      // Also where the headers are all that comes.
      { numRuns: 40, examples: [[bytes.indexOf('\r\n\r\n') + 4, false]] },
    );
  }
});
