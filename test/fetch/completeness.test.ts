/** A content is whole or it is none: whatever ends its connection, wherever it is cut. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { FetchJob } from '../../src/fetch/job.js';
import { within } from '../support/until.js';
import {
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
