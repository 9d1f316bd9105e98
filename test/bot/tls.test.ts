import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { createServer as createTcpServer, type Server } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { Authority, type Certificate } from '../fetch/authority.js';
import { BEGUN_HELLO, listen as listenOn } from '../fetch/hostile/tls.js';
import { drip, newFolder } from '../fetch/support.js';
import { askOnce } from './lccbot.js';

const authority = new Authority();
const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

async function serve({ key, cert }: Certificate): Promise<string> {
  const server = createServer({ key, cert }, (_request, response) => void response.end('secret page'));
  return listen(server);
}

function listen(server: Server): Promise<string> {
  servers.push(server);
  return listenOn(server);
}

const file = () => join(newFolder(), 'page');
const trusted = authority.env;

describe('a robot over TLS', () => {
  it('takes content from a server whose certificate is right', async () => {
    const result = await askOnce(`url="${await serve(authority.issue())}" file="${file()}"`, trusted);
    assert.match(result, /status="ok".* len="11"/);
  });

  const refused: [what: string, host: string, days: number, env: NodeJS.ProcessEnv, why: RegExp][] = [
    ['of an authority nobody knows', 'localhost', 30, {}, /unable to verify|self.signed|unable to get/],
    ['that has expired', 'localhost', -1, trusted, /expired/],
    ['of another host', 'example.org', 30, trusted, /altnames|does not match/],
  ];
  for (const [what, host, days, env, why] of refused) {
    it(`refuses a certificate ${what}`, async () => {
      const path = file();
      const result = await askOnce(`url="${await serve(authority.issue(host, days))}" file="${path}"`, env);
      assert.match(result, /status="error" code="604" reach="provider"/);
      assert.match(result, why);
      assert.throws(() => readFileSync(path), { code: 'ENOENT' });
    });
  }

  it('refuses a certificate a server signed itself', async () => {
    const result = await askOnce(`url="${await serve(authority.selfSigned())}" file="${file()}"`);
    assert.match(result, /code="604".*self.signed/);
  });

  const deadlines = join(newFolder(), 'lcc.toml');
  writeFileSync(deadlines, '[bot]\nconnect_timeout_ms = 400\nheaders_timeout_ms = 800\n');

  it('gives a handshake up that is never finished, or drips', async () => {
    const silent = createTcpServer(socket => void socket.on('error', () => undefined));
    const dripping = createTcpServer(socket => {
      socket.write(BEGUN_HELLO);
      drip(socket, 'x');
      socket.on('error', () => undefined);
    });
    for (const server of [silent, dripping]) {
      const result = await askOnce(`url="${await listen(server)}" file="${file()}"`, {
        ...trusted,
        LCC_CONFIG: deadlines,
      });
      assert.match(result, /code="603" reach="provider"/);
    }
  });

  it('gives one result where a server starts a handshake anew in the middle', async () => {
    const { key, cert } = authority.issue();
    const outcomes: (Error | null)[] = [];
    const server = createTlsServer({ key, cert, maxVersion: 'TLSv1.2' }, socket => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe');
        socket.renegotiate({}, error => {
          outcomes.push(error);
          socket.write('llo');
        });
      });
    });
    const path = file();
    const result = await askOnce(`url="${await listen(server)}" file="${path}"`, {
      ...trusted,
      LCC_CONFIG: deadlines,
    });
    assert.match(result, /status="ok".* len="5"|code="60[345]"/);
    if (result.includes('status="ok"')) assert.equal(readFileSync(path, 'utf8'), 'hello');
  });

  it('calls plain text on a port of TLS, and garbage, what they are', async () => {
    const plain = createTcpServer(socket => {
      socket.on('error', () => undefined);
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    const result = await askOnce(`url="${await listen(plain)}" file="${file()}"`, trusted);
    assert.match(result, /code="604" reach="provider"/);
  });
});
