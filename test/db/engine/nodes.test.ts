import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { engineAccount } from '../../../src/db/engine/nodes.js';

const dir = mkdtempSync(join(tmpdir(), 'lcc-nodes-'));
after(() => rmSync(dir, { recursive: true }));

function file(name: string, text: string, mode = 0o600): string {
  const path = join(dir, name);
  writeFileSync(path, text, { mode });
  return path;
}
const passwordFile = file('password', 'rows of the engine\nno more\n');
const read = (more: object) =>
  engineAccount({ url: 'mariadb://lcc@127.0.0.1/lcc', passwordFile, tlsCa: '', plain: false, ...more });

it('reads the nodes of store.url in their order, with the port of MariaDB where none is named', () => {
  const url = 'mariadb://lcc@h1:3307,h2,[2001:db8::1]:3308/lcc_west';
  assert.deepEqual(read({ url, plain: true }), {
    nodes: [
      { kind: 'tcp', host: 'h1', port: 3307 },
      { kind: 'tcp', host: 'h2', port: 3306 },
      { kind: 'tcp', host: '2001:db8::1', port: 3308 },
    ],
    user: 'lcc',
    password: 'rows of the engine',
    database: 'lcc_west',
    ca: undefined,
  });
});

it('speaks plain text to loopback, and beyond it with an authority, or where that is allowed', () => {
  for (const host of ['127.0.0.1', '127.8.9.10:3307', 'localhost', '[::1]'])
    assert.equal(read({ url: `mariadb://lcc@${host}/lcc` }).ca, undefined);
  const pem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
  const tlsCa = file('ca.pem', pem);
  assert.equal(read({ url: 'mariadb://lcc@h1/lcc', tlsCa }).ca?.toString(), pem);
  for (const host of ['h1', '192.0.2.1', '127.0.0.1,h2', '127.example.org'])
    assert.throws(() => read({ url: `mariadb://lcc@${host}/lcc` }), {
      code: 'config',
      message:
        /^store\.url: \S+ would be spoken to in plain text; name .+ store\.tls_ca, or set store\.plain/,
    });
});

it('refuses a password in the url, and shows it to nobody', () => {
  for (const url of [
    'mariadb://lcc:se:cret@127.0.0.1/lcc',
    'mariadb://lcc:se/cret@127.0.0.1/lcc',
    'mariadb://:secret@127.0.0.1/lcc',
    'mysql://lcc:secret@127.0.0.1/lcc',
  ])
    assert.throws(
      () => read({ url }),
      (error: Error) =>
        error.message.startsWith('store.url: has a password in it') && !/cret/.test(error.message),
    );
});

it('refuses what is no list of nodes', () => {
  for (const url of [
    'mariadb://127.0.0.1/lcc',
    'mariadb://lcc@127.0.0.1',
    'mysql://lcc@127.0.0.1/lcc',
    'lcc',
  ])
    assert.throws(() => read({ url }), {
      code: 'config',
      message: /^store\.url: write mariadb:\/\/USER@HOST/,
    });
  for (const hosts of ['a,,b', 'a:0', 'a:70000', 'tls:a', 'unix:a'])
    assert.throws(() => read({ url: `mariadb://lcc@${hosts}/lcc` }), {
      code: 'config',
      message: /is no node/,
    });
  const many = Array.from({ length: 10 }, (_, i) => `h${i}`).join();
  assert.throws(() => read({ url: `mariadb://lcc@${many}/lcc` }), /more than 9 nodes/);
});

it('refuses a file of authorities that has no certificate, or is not there', () => {
  const refused = (tlsCa: string, message: RegExp) =>
    assert.throws(() => read({ tlsCa }), { code: 'config', message });
  refused(file('no.pem', 'PEM'), /^store\.tls_ca: .+ holds no certificate \(PEM\)$/);
  refused(join(dir, 'none'), /^store\.tls_ca: .+none: there is no such file/);
});

it('refuses a file of the password that others may read, is empty or not there', () => {
  const refused = (path: string, message: RegExp) =>
    assert.throws(() => read({ passwordFile: path }), { code: 'config', message });
  for (const mode of [0o640, 0o604])
    refused(
      file(`open-${mode}`, 'x', mode),
      /^store\.password_file: others may read or write .+; chmod 600 /,
    );
  refused(file('empty', '\nx\n'), /the first line of .+ is no password/);
  refused(join(dir, 'none'), /^store\.password_file: .+none: there is no such file/);
});
