import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { newFolder } from './support.js';
import { askOnce } from './lccbot.js';

const dir = newFolder();
const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { cwd: dir, stdio: 'ignore' });
}

openssl(
  'req',
  '-x509',
  '-newkey',
  'rsa:2048',
  '-nodes',
  '-keyout',
  'ca.key',
  '-out',
  'ca.pem',
  '-days',
  '30',
  '-subj',
  '/CN=Test CA',
);

/** A certificate of our CA. */
function issue(name: string, host: string, days: number): void {
  openssl(
    'req',
    '-new',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.csr`,
    '-subj',
    `/CN=${host}`,
  );
  writeFileSync(join(dir, `${name}.ext`), `subjectAltName=DNS:${host}\n`);
  openssl(
    'x509',
    '-req',
    '-in',
    `${name}.csr`,
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
    '-CAcreateserial',
    '-out',
    `${name}.pem`,
    '-days',
    String(days),
    '-extfile',
    `${name}.ext`,
  );
}

async function serve(name: string): Promise<string> {
  const server = createServer(
    { key: readFileSync(join(dir, `${name}.key`)), cert: readFileSync(join(dir, `${name}.pem`)) },
    (_request, response) => void response.end('secret page'),
  );
  servers.push(server);
  server.unref();
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  return `https://localhost:${(server.address() as AddressInfo).port}/`;
}

const file = () => join(newFolder(), 'page');
const trusted = { NODE_EXTRA_CA_CERTS: join(dir, 'ca.pem') };

describe('a robot over TLS', () => {
  it('takes content from a server whose certificate is right', async () => {
    issue('good', 'localhost', 30);
    const result = await askOnce(`url="${await serve('good')}" file="${file()}"`, trusted);
    assert.match(result, /status="ok".* len="11"/);
  });

  const refused: [what: string, host: string, days: number, env: NodeJS.ProcessEnv, why: RegExp][] = [
    ['of an authority nobody knows', 'localhost', 30, {}, /unable to verify|self.signed|unable to get/],
    ['that has expired', 'localhost', -1, trusted, /expired/],
    ['of another host', 'example.org', 30, trusted, /altnames|does not match/],
  ];
  for (const [what, host, days, env, why] of refused) {
    it(`refuses a certificate ${what}`, async () => {
      issue('bad', host, days);
      const path = file();
      const result = await askOnce(`url="${await serve('bad')}" file="${path}"`, env);
      assert.match(result, /status="error" code="604" reach="provider"/);
      assert.match(result, why);
      assert.throws(() => readFileSync(path), { code: 'ENOENT' });
    });
  }

  it('refuses a certificate a server signed itself', async () => {
    openssl(
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      'self.key',
      '-out',
      'self.pem',
      '-days',
      '30',
      '-subj',
      '/CN=localhost',
    );
    assert.match(await askOnce(`url="${await serve('self')}" file="${file()}"`), /code="604".*self.signed/);
  });
});
