/** What a Registration Server knows for a moment: passwords, secrets, links. Nobody else learns any of it. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { RsDatabase } from '../../src/db/rs/database.js';
import { runCommand } from '../support/command.js';
import { Daemons, statusOf } from '../support/daemon.js';
import { binDir, shell } from '../support/shell.js';
import { freePort } from '../support/free-port.js';
import { linkIn, MailServer } from '../support/smtp.js';
import { until } from '../support/until.js';
import { RsScene } from '../rs/support.js';

const ANN = 'ann.secret@example.org';
const MAIL_PASSWORD = 'password-of-the-mail-server';
const daemons = new Daemons();
let scene: RsScene;
let mail: MailServer;

before(async () => {
  scene = await RsScene.start();
  mail = await MailServer.listen({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: ({ username = '' }, _session, callback) => callback(null, { user: username }),
  });
});
after(async () => {
  await daemons.end();
  await mail.close();
  scene.db = RsDatabase.open(scene.options.path);
  scene.close();
});

describe('a secret', () => {
  it('is in no log, no database, no status, no process list, no message and no core', async () => {
    const { dir } = scene;
    await scene.mail.stop();
    scene.db.close();
    const port = await freePort();
    mkdirSync(join(dir, 'run'));
    writeFileSync(join(dir, 'mail-password'), `${MAIL_PASSWORD}\n`, { mode: 0o600 });
    writeFileSync(
      join(dir, 'lcc.toml'),
      `[bot]
allow_addresses = ["127.0.0.1"]
[rs]
listen = ["127.0.0.1:${port}"]
url = "http://127.0.0.1:${port}/"
ports = ["${new URL(scene.site.url).port}"]
smtp = "smtp://lcc@127.0.0.1:${mail.port}"
smtp_password_file = "${dir}/mail-password"
mail_from = "lcc@lcc.example.org"
`,
    );
    const dumping = ['bash', '-c', 'ulimit -c unlimited && cd "$LCC_HOME" && exec "$@"', 'bash'];
    const daemon = daemons.start('lccd-rs', dir, ['--verbose'], {}, dumping);
    await daemon.ready;
    const base = `http://127.0.0.1:${port}`;
    const post = (path: string, fields: Record<string, string>) =>
      fetch(base + path, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' });

    // By a browser: the page shows the pair once, the mail has it as well.
    const made = await post('/register', { url: scene.site.urlOf('/'), email: ANN });
    const pairPath = made.headers.get('location') ?? '';
    const shown = await (await fetch(base + pairPath)).text();
    const [secret = '', password = ''] = ['Secret for the file', 'Password'].map(
      name => new RegExp(`<dt>${name}</dt>\\s*<dd class="mono">([\\w-]{27})</dd>`).exec(shown)?.[1],
    );
    assert.ok(secret !== '' && password !== '');
    const first = await mail.mail(1);
    const confirm = linkIn(first, 'confirm');
    await post(`/confirm/${confirm}`, {});
    // By lccregister, whose file stays away: the pair waits beside the password.
    const pwdfile = join(dir, 'site-password');
    const words = `--server=${base}/ --url=${scene.site.urlOf('/docs/')} --pwdfile=${pwdfile}`;
    const env = { ...process.env, PATH: `${binDir}:${process.env['PATH']}` };
    const begun = await shell(`lccregister new ${words}`, env, dir);
    assert.equal(begun.status, 66, begun.stderr);
    const other = readFileSync(pwdfile, 'utf8').trim();
    // What is refused, and what fails, is not repeated either.
    await post('/login', { number: '100000', password });
    await post(`/reset/${confirm}`, {});
    await post(`${pairPath}/check`, {});
    await fetch(`${base}/api/v1/me`, {
      headers: { authorization: `Basic ${Buffer.from(`100000:${password}`).toString('base64')}` },
    });
    await fetch(`${base}/confirm/${confirm}`);
    await until('no mail waits', async () => (await statusOf(dir, 'lccd-rs'))['mails_waiting'] === 0);

    const said: Record<string, string> = { status: JSON.stringify(await statusOf(dir, 'lccd-rs')) };
    for (const file of ['cmdline', 'environ'])
      said[file] = readFileSync(`/proc/${daemon.child.pid}/${file}`, 'latin1');
    assert.match(readFileSync(`/proc/${daemon.child.pid}/coredump_filter`, 'latin1'), /^0+$/m);
    for (const [name, ...args] of [
      ['lccrs', 'list', '--json'],
      ['lccrs', 'show', '1'],
      ['lccrs', 'show', '1', '--json'],
      ['lccrs', 'audit'],
      ['lccrs', 'audit', '--json'],
      ['lccrs', 'backup', join(dir, 'copy.db')],
      ['lccstat', '--json'],
      ['lccstat'],
    ] as const) {
      const { stdout, stderr } = runCommand(dir, name, args);
      said[`${name} ${args.join(' ')}`] = stdout + stderr;
    }
    said['backup'] = readFileSync(join(dir, 'copy.db'), 'latin1');
    for (const file of readdirSync(join(dir, 'rs')))
      said[`rs/${file}`] = readFileSync(join(dir, 'rs', file), 'latin1');
    assert.equal(await daemon.stop('SIGABRT'), 'SIGABRT');
    said['log'] = daemon.log;
    // Elsewhere a program takes it (core(5)).
    const isHere = /^[^|/]*$/.test(readFileSync('/proc/sys/kernel/core_pattern', 'latin1').trim());
    const cores = readdirSync(dir).filter(name => name.startsWith('core'));
    assert.ok(!isHere || cores.length === 1, `${cores.length} cores`);
    for (const name of cores) {
      said['core'] = readFileSync(join(dir, name), 'latin1');
      rmSync(join(dir, name));
    }
    const capability = pairPath.replace('/pair/', '');
    const secrets = [secret, password, other, confirm, capability, MAIL_PASSWORD].flatMap(text => [
      text,
      Buffer.from(text).toString('base64').replace(/=+$/, ''),
      Buffer.from(`100000:${text}`).toString('base64').replace(/=+$/, ''),
    ]);
    for (const [where, text] of Object.entries(said))
      for (const one of secrets) assert.ok(!text.includes(one), `${where} has ${one}`);
    assert.ok(!said['log'].includes('ann.secret') && !(said['lccrs audit'] ?? '').includes('ann.secret'));
    assert.ok(Object.keys(said).length > 12);
  });
});
