/** Mail servers as they may be: slow, away, refusing, with and without TLS. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { freePort } from '../support/free-port.js';
import { MailServer } from '../support/smtp.js';
import { until } from '../support/until.js';
import { ANN, DAY_MS, MailScene } from './mail-support.js';

const stage = new MailScene();
const dir = mkdtempSync(join(tmpdir(), 'lcc-mail-'));
after(() => rmSync(dir, { recursive: true }));

describe('a server', () => {
  test('that says later is asked again, until it takes the mail', async () => {
    const taken = await stage.start();
    taken.verdict = () =>
      taken.asked < 3
        ? { at: taken.asked === 1 ? 'RCPT' : 'DATA', code: 451, text: 'greylisted' }
        : undefined;
    stage.scene.issue('/', 'n', ANN);
    const mail = await taken.mail(1);
    await stage.empty();
    assert.deepEqual([mail.to, taken.asked, taken.taken.length], [ANN, 3, 1]);
    assert.equal(stage.scene.mail.trouble, undefined);
  });

  test('that is down is asked again, and has every mail once when it is back', async () => {
    const port = await freePort();
    await stage.startAt(port);
    for (const i of [1, 2, 3]) stage.scene.issue(`/${i}/`, 'n', `a${i}@example.org`);
    await until('it was tried', () => stage.scene.mail.trouble);
    assert.match(stage.scene.mail.trouble ?? '', /ECONNREFUSED/);
    const server = (stage.server = await MailServer.listen({}, port));
    await server.mail(3);
    await stage.empty();
    assert.deepEqual(server.taken.map(({ to }) => to).toSorted(), [
      'a1@example.org',
      'a2@example.org',
      'a3@example.org',
    ]);
  });

  test('that never answers is given up on in time, and nothing else waits for it', async () => {
    const taken = await stage.start({}, { onConnect: () => undefined });
    stage.scene.mailTimeoutMs = 100;
    stage.scene.issue('/', 'n', ANN);
    await until('it was tried', () => stage.scene.mail.trouble);
    assert.match(stage.scene.mail.trouble ?? '', /no answer in time|[Tt]imeout/);
    assert.deepEqual([taken.taken.length, stage.scene.db.mails.size()], [0, 1]);
  });

  test('that refuses an address for good is not asked again; the mailbox may be written to another time', async () => {
    const taken = await stage.start();
    taken.verdict = () => ({ at: 'RCPT', code: 550, text: 'no such user' });
    stage.scene.issue('/', 'n', ANN);
    await until('it is given up', () =>
      stage.events.some(text => /^mail given up: a…@example\.org, pair: .*no such user/.test(text)),
    );
    assert.deepEqual([taken.asked, stage.scene.db.mails.size()], [1, 0]);
    taken.verdict = () => undefined;
    stage.scene.issue('/again/', 'n', ANN);
    await taken.mail(1);
  });

  test('that is away for a day is waited for no longer: the mail is given up, and the password with it', async () => {
    await stage.startAt(await freePort());
    const pair = stage.scene.issue('/', 'n', ANN);
    await until('it was tried', () => stage.scene.mail.trouble);
    stage.scene.clock.byMs += DAY_MS + 1000;
    stage.scene.mail.tidy();
    await until('it is given up', () =>
      stage.events.includes('mail given up: a…@example.org, pair: no server took it for a day'),
    );
    assert.equal(stage.scene.db.mails.size(), 0);
    assert.equal(stage.scene.standing(pair).state, 'issued');
  });
});

describe('a sendmail', () => {
  /** @param lines of a shell that has the mail at standard input */
  const program = (lines: string) => {
    const path = join(dir, `sendmail-${lines.length}`);
    writeFileSync(path, `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
    return path;
  };
  const startAt = (lines: string) => stage.startAt(0, { 'rs.smtp': program(lines) });

  test('has the mail with its recipient in the header, and the sender as an option', async () => {
    const kept = join(dir, 'kept');
    await startAt(`echo "$@" > ${kept}; cat >> ${kept}`);
    const { secret } = stage.scene.issue('/', 'n', ANN);
    await stage.scene.mail.idle();
    assert.equal(stage.scene.db.mails.size(), 0);
    const text = readFileSync(kept, 'utf8');
    assert.match(text, /^-t -i -f lcc@lcc\.example\.org\n/);
    assert.match(text, /^To: ann@example\.org$/m);
    assert.match(text, /^Auto-Submitted: auto-generated$/m);
    assert.ok(text.includes(secret) && !text.includes('\r'));
  });

  test('that fails is asked again with the same Message-ID until it takes the mail', async () => {
    const kept = join(dir, 'again');
    await startAt(
      `grep -i ^message-id: >> ${kept}; [ $(wc -l < ${kept}) = 3 ] || { echo no room >&2; exit 75; }`,
    );
    stage.scene.issue('/', 'n', ANN);
    await until('it was tried', () => stage.scene.mail.trouble);
    assert.match(stage.scene.mail.trouble ?? '', /sendmail-\d+: no room$/);
    await stage.empty();
    const ids = readFileSync(kept, 'utf8').trim().split('\n');
    assert.deepEqual([ids.length, new Set(ids).size], [3, 1]);
    assert.equal(stage.scene.mail.trouble, undefined);
  });

  test('that is not there, reads nothing or hangs has not taken the mail; it stays, and nothing is thrown', async () => {
    for (const [lines, why] of [
      ['exit 1', /Command failed|exit/],
      ['exec tail -f /dev/null', /no answer in time/],
      ['kill -9 $$', /Command failed/],
    ] as const) {
      await startAt(lines);
      stage.scene.mailTimeoutMs = 300;
      stage.scene.issue('/', 'n', ANN);
      await until(lines, () => why.test(stage.scene.mail.trouble ?? ''));
      assert.equal(stage.scene.db.mails.size(), 1, lines);
      await stage.end();
    }
    await stage.startAt(0, { 'rs.smtp': join(dir, 'nowhere') });
    stage.scene.issue('/', 'n', ANN);
    await until('it was tried', () => stage.scene.mail.trouble);
    assert.match(stage.scene.mail.trouble ?? '', /ENOENT/);
  });

  test('that knows no such mailbox is not asked again: the mail is given up', async () => {
    await startAt('cat > /dev/null; echo unknown user >&2; exit 67');
    stage.scene.issue('/', 'n', ANN);
    await until('it is given up', () =>
      stage.events.some(text => /^mail given up: a…@example\.org, pair: .*unknown user/.test(text)),
    );
    assert.equal(stage.scene.db.mails.size(), 0);
  });
});

test('a mail that the server refuses for now keeps no other waiting', async () => {
  const taken = await stage.start();
  taken.verdict = to => (to === ANN ? { at: 'RCPT', code: 450, text: 'later' } : undefined);
  stage.scene.issue('/a/', 'n', ANN);
  for (const name of ['bob', 'cid']) stage.scene.issue(`/${name}/`, 'n', `${name}@example.org`);
  await taken.mail(2);
  assert.deepEqual(
    taken.taken.map(({ to }) => to),
    ['bob@example.org', 'cid@example.org'],
  );
  await until('the one that was refused is left', () => stage.scene.db.mails.size() === 1);
});

describe('STARTTLS', () => {
  const files = { key: join(dir, 'key.pem'), cert: join(dir, 'cert.pem') };
  const made = spawnSync(
    'openssl',
    `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -keyout ${files.key} -out ${files.cert}`.split(
      ' ',
    ),
  );
  assert.equal(made.status, 0, String(made.stderr));
  const identity = { key: readFileSync(files.key), cert: readFileSync(files.cert) };

  test('is used, and the certificate checked, with a login that is nowhere else', async () => {
    const passwordFile = join(dir, 'password');
    writeFileSync(passwordFile, 'mail secret\n', { mode: 0o600 });
    const logins: string[] = [];
    const server = (stage.server = await MailServer.listen({
      ...identity,
      disabledCommands: [],
      authOptional: false,
      onAuth: ({ username = '', password = '' }, _session, callback) => {
        logins.push(`${username}:${password}`);
        callback(null, { user: username });
      },
    }));
    await stage.startAt(server.port, {
      'rs.smtp_tls': 'always',
      'rs.smtp_cafile': files.cert,
      'rs.smtp': `smtp://lcc@127.0.0.1:${server.port}`,
      'rs.smtp_password_file': passwordFile,
    });
    stage.scene.issue('/', 'n', ANN);
    const mail = await server.mail(1);
    assert.deepEqual([mail.isOverTls, mail.user, logins], [true, 'lcc', ['lcc:mail secret']]);
  });

  test('with a certificate of nobody known, or none at all, sends nothing', async () => {
    const taken = await stage.start({ 'rs.smtp_tls': 'always' }, identity);
    stage.scene.issue('/', 'n', ANN);
    await until('it was tried', () => stage.scene.mail.trouble);
    assert.match(stage.scene.mail.trouble ?? '', /certificate/);
    assert.equal(taken.taken.length, 0);
    await stage.end();
    const plain = await stage.start({ 'rs.smtp_tls': 'always' });
    stage.scene.issue('/', 'n', ANN);
    await until('it was tried', () => stage.scene.mail.trouble);
    assert.match(stage.scene.mail.trouble ?? '', /STARTTLS/);
    assert.equal(plain.taken.length, 0);
  });
});
