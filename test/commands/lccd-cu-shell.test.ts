/** The example of lccd-cu(8) for a shell, as it is printed there, with the real openssl. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, before, it } from 'node:test';
import { TestCache } from '../support/cache.js';
import { runCommand } from '../support/command.js';
import { Cu, startCu, type CuDaemon } from '../support/cu.js';
import { examples, pageOf } from '../support/mdoc.js';
import { ROOT } from '../support/tree.js';

const HOST = 'lcc.example.org';
const cache = new TestCache();
const file = (name: string) => join(cache.home, name);
const read = (name: string) => readFileSync(file(name), 'utf8');
let daemon: CuDaemon;
let port = '';

before(async () => {
  cache.put({ curl: 'http://www.example.org/a' });
  makeCertificate('key.pem', 'cert.pem');
  daemon = await startCu(
    cache,
    `[net]\ntls_cert = "${file('cert.pem')}"\ntls_key = "${file('key.pem')}"\n`,
    '--listen=tls:127.0.0.1:0',
  );
  port = /"endpoint":"tls:127\.0\.0\.1:(\d+)"/.exec(daemon.log)?.[1] ?? '';
  // What is printed names a machine that is not this one, and relies on the authorities that openssl knows.
  mkdirSync(file('bin'));
  const real = execFileSync('sh', ['-c', 'command -v openssl'], { encoding: 'utf8' }).trim();
  writeFileSync(
    file('bin/openssl'),
    `#!/bin/sh
for word do
  shift
  test "$word" = ${HOST}:9010 && word=127.0.0.1:${port}
  set -- "$@" "$word"
done
SSL_CERT_FILE="$TRUSTED" exec ${real} "$@"
`,
  );
  chmodSync(file('bin/openssl'), 0o755);
});
after(async () => {
  await daemon.stop();
  cache.close();
});

function makeCertificate(key: string, certificate: string): void {
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
      .concat(['-subj', '/CN=lcc', '-addext', `subjectAltName=DNS:${HOST}`])
      .concat(['-keyout', file(key), '-out', file(certificate)]),
    { stdio: 'ignore' },
  );
}

/** What a shell says to it on stderr. */
async function sh(script: string, trusted = 'cert.pem'): Promise<string> {
  const child = spawn('sh', ['-c', `umask 022\n${script}`], {
    cwd: cache.home,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      LCC_HOME: cache.home,
      TRUSTED: file(trusted),
      PATH: [file('bin'), join(ROOT, 'bin'), process.env['PATH'] ?? ''].join(delimiter),
    },
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  await once(child, 'close');
  return said;
}

it('works as printed in lccd-cu(8): asks, moves the cursor, and asks for what is new', async () => {
  const page = pageOf('lccd-cu');
  assert.ok(page !== undefined);
  const [once_ = '', eachTime = ''] = examples(page);
  assert.equal(await sh(once_), '');
  assert.equal(statSync(file('password')).mode & 0o777, 0o600, 'nobody else reads the password');

  assert.equal(await sh(eachTime), '');
  assert.match(read('answer'), /^<lococa:result [^]*\/a"[^]*\n<\/lococa:result>\n$/);
  assert.match(read('cursor'), /^[0-9a-f-]{36}:1\n$/);

  cache.put({ curl: 'http://www.example.org/b' });
  assert.equal(await sh(eachTime), '');
  assert.match(read('answer'), /\/b"/);
  assert.doesNotMatch(read('answer'), /\/a"/);
  const moved = read('cursor');
  assert.match(moved, /:2\n$/);

  // An answer without its end moves nothing.
  cache.put({ curl: 'http://www.example.org/c' });
  const password = read('password');
  writeFileSync(file('password'), 'wrong');
  await sh(eachTime);
  assert.match(read('answer'), /<lococa:refused [^>]*code="101"/);
  assert.equal(read('cursor'), moved);
  writeFileSync(file('password'), password);

  // Nor does the client send the password to a server that cannot prove its identity.
  makeCertificate('other.key', 'other.pem');
  const answered = queries();
  assert.match(await sh(eachTime, 'other.pem'), /verify error/);
  assert.equal(read('answer'), '');
  assert.equal(read('cursor'), moved);
  assert.equal(queries(), answered);
  assert.ok(!existsSync(file('cursor.new')));

  assert.equal(await sh(eachTime), '');
  assert.match(read('cursor'), /:3\n$/);
});

it('ends the connection after the query that says it is the last, whatever follows', async () => {
  const { unix } = daemon;
  const reply = await new Cu(unix).send('<query limit="1"/><query last="yes" limit="2"/><query/><nonsense')
    .reply;
  assert.equal(reply.match(/<\/lococa:result>/g)?.length, 2);
  assert.doesNotMatch(reply, /refused/);
});

function queries(): number {
  return Number(/(\d+) queries/.exec(runCommand(cache.home, 'lccstat', []).stdout)?.[1]);
}
