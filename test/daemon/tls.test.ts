import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect as netConnect } from 'node:net';
import { connect, type PeerCertificate } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { loadConfig } from '../../src/config/load.js';
import { systemClock } from '../../src/lib/clock.js';
import { listenOn } from '../../src/daemon/listeners.js';
import { trustOf } from '../../src/daemon/machines.js';
import { silentLog } from '../../src/lib/log.js';
import { certify } from '../support/certify.js';
import { ManualClock } from '../support/manual-clock.js';
import { startEcho } from './echo.js';

function makeCertificate(dir: string, commonName: string): void {
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
      .concat(['-subj', `/CN=${commonName}`, '-addext', 'subjectAltName=IP:127.0.0.1'])
      .concat(['-keyout', join(dir, 'key.pem'), '-out', join(dir, 'cert.pem')]),
    { stdio: 'ignore' },
  );
}

it('speaks TLS, and reads its certificate again on SIGHUP without dropping a connection', async () => {
  const home = mkdtempSync(join(tmpdir(), 'lcc-tls-'));
  makeCertificate(home, 'first');
  configure(home, 'cert.pem', 'key.pem');
  const echo = startEcho(home, ['tls:127.0.0.1:0']);
  try {
    await echo.ready;
    const status = async () => {
      const control = netConnect(join(home, 'run/echo.ctl.sock'));
      control.write('status\n');
      const [answer] = (await once(control, 'data')) as [Buffer];
      control.destroy();
      return answer.toString();
    };
    const port = Number(/127\.0\.0\.1:(\d+)/.exec(await status())?.[1]);

    const old = await open(port, home);
    assert.equal(old.certificate.subject.CN, 'first');
    makeCertificate(home, 'second');
    echo.child.kill('SIGHUP');
    await echo.logged('TLS certificate reloaded');
    const fresh = await open(port, home);
    assert.equal(fresh.certificate.subject.CN, 'second');
    for (const { socket } of [old, fresh]) {
      socket.write('echo me');
      const [echo] = (await once(socket, 'data')) as [Buffer];
      assert.equal(echo.toString(), 'echo me');
      socket.destroy();
    }
    assert.match(await status(), /"readAheadBytes":16384/);
    const untilMs = Number(/"tls_until_ms":(\d+)/.exec(await status())?.[1]);
    assert.equal(untilMs, Date.parse(fresh.certificate.valid_to));
  } finally {
    await echo.stop('SIGKILL');
    rmSync(home, { recursive: true, force: true });
  }
});

it('refuses a key that others may read or write, and not one that a group may', async () => {
  const home = mkdtempSync(join(tmpdir(), 'lcc-tls-'));
  try {
    makeCertificate(home, 'open');
    const key = join(home, 'key.pem');
    configure(home, 'cert.pem', 'key.pem');
    for (const [mode, isRefused] of [
      [0o644, true],
      [0o602, true],
      [0o640, false],
      [0o400, false],
    ] as const) {
      chmodSync(key, mode);
      const { status, log } = await runUntilReady(home);
      assert.equal(status, isRefused ? 78 : 0, log);
      if (!isRefused) continue;
      const lines = log.trim().split('\n');
      assert.equal(lines.length, 1);
      assert.match(log, new RegExp(`net\\.tls_key: ${key} has mode 0${mode.toString(8)} .*chmod o= ${key}`));
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

it('names the file that holds no certificate, no key, or the key of another certificate', async () => {
  const home = mkdtempSync(join(tmpdir(), 'lcc-tls-'));
  try {
    makeCertificate(home, 'other');
    renameSync(join(home, 'key.pem'), join(home, 'other.pem'));
    makeCertificate(home, 'mine');
    writeFileSync(join(home, 'garbage.pem'), 'no certificate\n', { mode: 0o600 });
    for (const [cert, key, message] of [
      ['garbage.pem', 'key.pem', /net\.tls_cert: \S*garbage\.pem holds no certificate/],
      ['cert.pem', 'garbage.pem', /net\.tls_key: \S*garbage\.pem holds no private key/],
      [
        'cert.pem',
        'other.pem',
        /net\.tls_key: \S*other\.pem is not the key of the certificate in \S*cert\.pem/,
      ],
      ['missing.pem', 'key.pem', /net\.tls_cert: \S*missing\.pem: there is no such file/],
    ] as const) {
      configure(home, cert, key);
      const { status, log } = await runUntilReady(home);
      assert.equal(status, 78, log);
      assert.match(log, message);
      assert.equal(log.trim().split('\n').length, 1);
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

it('warns of a certificate that has expired', async () => {
  const home = mkdtempSync(join(tmpdir(), 'lcc-tls-'));
  try {
    makeCertificate(home, 'old');
    execFileSync(
      'openssl',
      ['x509', '-in', join(home, 'cert.pem'), '-signkey', join(home, 'key.pem'), '-days', '-1'].concat([
        '-out',
        join(home, 'old.pem'),
      ]),
      { stdio: 'ignore' },
    );
    configure(home, 'old.pem', 'key.pem');
    const { log } = await runUntilReady(home);
    assert.match(log, /"level":"warn".*TLS certificate expired.*old\.pem/);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

it('keeps nothing of a listener that was closed to read its certificate again', async () => {
  const home = mkdtempSync(join(tmpdir(), 'lcc-tls-'));
  try {
    makeCertificate(home, 'mine');
    configure(home, 'cert.pem', 'key.pem');
    const config = loadConfig({ env: { LCC_HOME: home }, file: undefined, overrides: {} });
    const reloads = new Set<() => void>();
    const onReload = (action: () => void) => {
      reloads.add(action);
      return () => void reloads.delete(action);
    };
    const endpoint = { kind: 'tls', host: '127.0.0.1', port: 0 } as const;
    const listener = await listenOn(
      endpoint,
      { net: config.settings.net, log: silentLog, clock: systemClock, onReload },
      () => undefined,
    );
    assert.equal(reloads.size, 1);
    await listener.close();
    assert.equal(reloads.size, 0);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

function configure(home: string, cert: string, key: string): void {
  const file = (name: string) => JSON.stringify(join(home, name));
  writeFileSync(join(home, 'lcc.toml'), `[net]\ntls_cert = ${file(cert)}\ntls_key = ${file(key)}\n`);
}

/** Runs a daemon that is stopped when it is ready, if it comes to that. */
async function runUntilReady(home: string): Promise<{ status: number | string; log: string }> {
  const echo = startEcho(home, ['tls:127.0.0.1:0']);
  await echo.ready.then(
    () => echo.stop(),
    () => undefined,
  );
  return { status: await echo.ended, log: echo.log };
}

async function open(port: number, home: string) {
  const socket = connect({ host: '127.0.0.1', port, ca: readFileSync(join(home, 'cert.pem')) });
  await once(socket, 'secureConnect');
  const certificate: PeerCertificate = socket.getPeerCertificate();
  return { socket, certificate };
}

it('takes a machine whose certificate has expired no more, though it resumes a session', async () => {
  const home = mkdtempSync(join(tmpdir(), 'lcc-tls-'));
  const [cert, key, ca] = certify(home, ['127.0.0.1']);
  writeFileSync(
    join(home, 'lcc.toml'),
    `[net]\npeer_ca = "${ca}"\npeer_cert = "${cert}"\npeer_key = "${key}"\n`,
  );
  const config = loadConfig({ env: { LCC_HOME: home }, file: undefined, overrides: {} });
  const clock = new ManualClock(Date.now());
  const listener = await listenOn(
    { kind: 'tls', host: '127.0.0.1', port: 0 },
    { net: config.settings.net, log: silentLog, clock, onReload: () => () => undefined },
    ({ socket }) => void socket.end('welcome'),
    { machines: true, say: ({ message }) => message },
  );
  try {
    const port = listener.endpoint.kind === 'unix' ? 0 : listener.endpoint.port;
    const shown = trustOf(config.settings.net);
    let session: Buffer | undefined;
    const hear = async () => {
      const socket = connect({ port, host: '127.0.0.1', ...shown, session });
      socket.on('session', (ticket: Buffer) => (session = ticket));
      let heard = '';
      let how = '';
      socket.on('secureConnect', () => (how = socket.isSessionReused() ? 'resumed' : 'new'));
      socket.setEncoding('utf8').on('data', (text: string) => (heard += text));
      await once(socket, 'close');
      return `${how}: ${heard}`;
    };
    assert.equal(await hear(), 'new: welcome');
    assert.equal(await hear(), 'resumed: welcome');
    // Longer than the certificate is good for.
    clock.advance(3 * 86_400_000);
    assert.match(await hear(), /^resumed: certificate refused \(it has expired\)/);
  } finally {
    await listener.close();
    rmSync(home, { recursive: true, force: true });
  }
});
