/** lcccp over TLS, with certificate authorities made for the test. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ROOT } from '../support/tree.js';
import { Home, Receiver, SITE } from '../support/uns.js';
import type { Daemon } from '../support/daemon.js';

const NAME = ['-subj', '/CN=uns', '-addext', 'subjectAltName=IP:127.0.0.1'];
const home = new Home();
let password: string;
let uns: Daemon;
let receiver: Receiver;

const file = (name: string) => join(home.dir, name);

function openssl(...args: string[]): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...key, ...args], { stdio: 'ignore' });
}

function makeAuthority(name: string): void {
  openssl('-subj', `/CN=${name}`, '-keyout', file(`${name}.key`), '-out', file(`${name}.pem`));
}

before(async () => {
  makeAuthority('authority');
  makeAuthority('stranger');
  const signed = ['-CA', file('authority.pem'), '-CAkey', file('authority.key')];
  openssl(...signed, ...NAME, '-keyout', file('uns.key'), '-out', file('uns.pem'));
  password = home.addProvider(7);
  home.configure(
    `[net]\ntls_cert = ${JSON.stringify(file('uns.pem'))}\ntls_key = ${JSON.stringify(file('uns.key'))}\n`,
  );
  receiver = await new Receiver().listen(home.qmPath);
  uns = await home.start({}, ['--listen=tls:127.0.0.1:0']);
});
after(async () => {
  await uns.stop();
  await receiver.close();
  await home.remove();
});

const tlsPort = () => Number(/"endpoint":"tls:127\.0\.0\.1:(\d+)"/.exec(uns.log)?.[1]);

async function lcccp(endpoint: string, ...args: string[]): Promise<{ status: number; stderr: string }> {
  const child = spawn(
    join(ROOT, 'bin/lcccp'),
    [`--uns=${endpoint}`, '--pid=7', `--urlprefix=${SITE}`, ...args],
    { env: { ...process.env, LCC_HOME: home.dir, LCC_CONFIG: '', LCC_PWD: password } },
  );
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', text => (stderr += text));
  child.stdin
    .on('error', () => undefined)
    .end('<?lcc from="test"?>\n<url curl="a" mimetype="text/html"/>\n<?lcc end?>\n');
  const [status] = (await once(child, 'close')) as [number];
  return { status, stderr };
}

describe('lcccp over TLS', () => {
  it('delivers to a UNS whose certificate the authority named has signed', async () => {
    const { status, stderr } = await lcccp(`tls:127.0.0.1:${tlsPort()}`, `--cafile=${file('authority.pem')}`);
    assert.equal(status, 0, stderr);
    await receiver.until(({ sets }) => sets.length === 1);
    assert.deepEqual(receiver.sets[0]?.curls, ['a']);
  });

  for (const [what, args, why] of [
    [
      'another authority',
      () => [`--cafile=${file('stranger.pem')}`],
      /certificate is not trusted: .*--cafile/,
    ],
    ['no authority that is known', () => [], /certificate is not trusted: .*--cafile/],
  ] as const) {
    it(`tells ${what} nothing, not even its password`, async () => {
      const before = uns.log.length;
      const { status, stderr } = await lcccp(`tls:127.0.0.1:${tlsPort()}`, ...args());
      assert.equal(status, 69);
      assert.match(stderr, why);
      assert.equal(stderr.split('\n').length, 2, `one line:\n${stderr}`);
      assert.doesNotMatch(uns.log.slice(before), /CP connected/);
      assert.ok(!stderr.includes(password));
    });
  }

  it('names a file of authorities that is not there', async () => {
    const { status, stderr } = await lcccp(`tls:127.0.0.1:${tlsPort()}`, '--cafile=/nonexistent');
    assert.deepEqual(
      [status, stderr],
      [66, 'lcccp: --cafile: /nonexistent: there is no such file or directory; check the name\n'],
    );
  });

  it('does not take the certificate of one host for that of another', async () => {
    const { status, stderr } = await lcccp(`tls:localhost:${tlsPort()}`, `--cafile=${file('authority.pem')}`);
    assert.equal(status, 69);
    assert.match(stderr, /cannot reach the UNS at tls:localhost:\d+: its certificate is for another name/);
  });

  it('says so where plain text is spoken', async () => {
    const { status, stderr } = await lcccp(`tls:127.0.0.1:${uns.port}`, `--cafile=${file('authority.pem')}`);
    assert.equal(status, 69);
    assert.match(stderr, /does not speak TLS/);
  });

  it('says of a certificate that has expired whom to tell, and not to name another authority', async () => {
    copyFileSync(file('uns.pem'), file('good.pem'));
    const request = ['req', '-new', '-key', file('uns.key'), '-out', file('uns.csr'), ...NAME];
    execFileSync('openssl', request, { stdio: 'ignore' });
    const authority = ['-CA', file('authority.pem'), '-CAkey', file('authority.key'), '-set_serial', '7'];
    const sign = ['x509', '-req', '-in', file('uns.csr'), ...authority, '-copy_extensions', 'copyall'];
    execFileSync('openssl', [...sign, '-days', '-1', '-out', file('uns.pem')], { stdio: 'ignore' });
    uns.child.kill('SIGHUP');
    await uns.logged('TLS certificate reloaded');
    const { status, stderr } = await lcccp(`tls:127.0.0.1:${tlsPort()}`, `--cafile=${file('authority.pem')}`);
    assert.equal(status, 69);
    assert.match(stderr, /: its certificate, or one above it, has expired; tell who runs that LCC\n$/);
    copyFileSync(file('good.pem'), file('uns.pem'));
    uns.child.kill('SIGHUP');
    await uns.logged('TLS certificate reloaded', 2);
  });

  it('is thought of where plain text is hung up on', async () => {
    const where = `127.0.0.1:${tlsPort()}`;
    const { status, stderr } = await lcccp(where);
    assert.equal(status, 69);
    assert.match(stderr, new RegExp(`; nothing was accepted; if it speaks TLS, say --uns=tls:${where}\n$`));
  });
});
