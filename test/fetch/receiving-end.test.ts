import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { connect, createServer, type Server, type TLSSocket } from 'node:tls';
import { ReceivingEnd } from '../../src/fetch/receiving-end.js';
import { within } from '../support/until.js';
import { Authority } from './authority.js';
import { listen } from './hostile/tls.js';
import { askOnce, request, spawnBot } from '../bot/lccbot.js';
import {
  answer,
  fetchOnce,
  flood,
  MOST_WIRE_BYTES,
  newEngine,
  newFolder,
  rawServer,
  verdict,
} from './support.js';

const authority = new Authority();
const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

describe('what a fetch receives', () => {
  it('is bounded by what comes over the wire, where TLS makes many bytes of each', async () => {
    const { key, cert } = authority.issue();
    const server = createServer({ key, cert }, socket => {
      socket.on('error', () => undefined);
      socket.setNoDelay();
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n');
        const more = (error?: Error | null) =>
          void (error == null && !socket.destroyed && socket.write('x', more));
        more();
      });
    });
    servers.push(server);
    const config = join(newFolder(), 'lcc.toml');
    writeFileSync(config, '[bot]\nmax_content_bytes = 100000\n');
    const url = await listen(server);
    const result = await askOnce(`url="${url}" file="${join(newFolder(), 'page')}"`, {
      ...authority.env,
      LCC_CONFIG: config,
    });
    assert.match(result, /code="606" reach="real"/);
    assert.match(result, /twice 100000 bytes \(bot.max_content_bytes\) and 64 KB have come/);
    const wireBytes = Number(/ wirebytes="(\d+)"/.exec(result)?.[1]);
    assert.ok(wireBytes > 264_000 && wireBytes < 264_000 + 200_000, result);
  });

  it('is bounded over all of its redirects', async () => {
    const server = await rawServer((socket, _request, nth) =>
      socket.write(answer(Buffer.alloc(60_000), `Location: /${nth}\r\n`, '302 Found')),
    );
    const engine = newEngine({ maxContentBytes: 100_000 });
    const outcome = await fetchOnce(engine, { url: server.url, sink: () => undefined });
    assert.equal(verdict(outcome), 606);
    assert.equal(server.requests.length, 5);
    assert.ok(outcome.wireBytes <= MOST_WIRE_BYTES);
  });

  it('is bounded anew for the next fetch over the same connection', async () => {
    const server = await rawServer(socket => void socket.write(answer(Buffer.alloc(90_000))));
    const engine = newEngine({ maxContentBytes: 100_000 });
    for (let n = 0; n < 8; n++)
      assert.equal(verdict(await fetchOnce(engine, { url: server.url, sink: () => undefined })), 'ok');
    assert.equal(server.connections, 1);
  });

  it('has an end, too, on a connection that is kept for the next fetch', async () => {
    let note = () => {};
    const closed = new Promise<void>(resolve => (note = resolve));
    const server = createServer(authority.issue(), socket => {
      socket.on('error', () => undefined).once('close', note);
      socket.once('data', () => {
        socket.write(answer('page'));
        flood(socket, Buffer.alloc(8000));
      });
    });
    servers.push(server);
    const url = await listen(server);
    const config = join(newFolder(), 'lcc.toml');
    writeFileSync(config, '[bot]\nkeep_alive_ms = "1h"\n');
    const bot = spawnBot(
      ['--stdio', '--allow-address=127.0.0.0/8', '--allow-address=::1', `--config=${config}`],
      authority.env,
    );
    bot.child.stdin?.write(request(1, url, join(newFolder(), 'page')));
    await closed;
    bot.child.stdin?.end();
    assert.match(await bot.stdout, /status="ok"/);
  });
});

it('an end that came while nobody read is known to be the goodbye of TLS, or none', async () => {
  const ends: Record<string, { end: (secured: TLSSocket) => void; isReset: boolean }> = {
    goodbye: { end: secured => void secured.end(), isReset: false },
    'goodbye, then the end': { end: secured => void secured.end(() => secured.destroy()), isReset: false },
    'the end': { end: secured => void secured.destroy(), isReset: true },
  };
  const certificate = authority.issue();
  // Node reads 16 or 64 KB ahead; after more than that it stops until somebody has taken it.
  for (const bytes of [1, 20_000, 40_000, 200_000])
    for (const [name, { end, isReset }] of Object.entries(ends)) {
      const server = createServer(certificate, secured => {
        secured.on('error', () => undefined);
        secured.once('data', () => secured.write(Buffer.alloc(bytes), () => end(secured)));
      });
      const { port } = new URL(await listen(server));
      const socket = connect({ host: 'localhost', port: Number(port), ca: authority.ca });
      await within('TLS is there', once(socket, 'secureConnect'));
      const receiving = new ReceivingEnd(socket);
      socket.write('ask');
      await within('something has come', once(socket, 'readable'));
      await new Promise(resolve => void setImmediate(resolve));
      let length = 0;
      socket.on('data', (chunk: Buffer) => (length += chunk.length)).resume();
      await within('the end comes', once(socket, 'end'));
      assert.deepEqual({ length, isReset: receiving.wasReset }, { length: bytes, isReset }, name);
      socket.destroy();
      server.close();
    }
});
