/** The operators' listener of lccd-rs: the endpoints it may have, logins, and what no other listener has. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCommand } from '../support/command.js';
import { startDaemon, type Daemon } from '../support/daemon.js';
import { within } from '../support/until.js';

const RS = '[rs]\nurl = "http://lcc.example.org/"\n';
const homes: string[] = [];

function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'lcc-rs-'));
  homes.push(home);
  writeFileSync(join(home, 'lcc.toml'), RS);
  return home;
}

describe('operators of lccd-rs', () => {
  const home = newHome();
  let daemon: Daemon;
  let port: number;
  before(async () => {
    daemon = startDaemon('lccd-rs', home, [
      '--listen=127.0.0.1:0',
      '--operator-listen=127.0.0.1:0',
      `--operator-listen=unix:${home}/op.sock`,
    ]);
    await daemon.ready;
    port = Number(/"event":"operators","endpoint":"127\.0\.0\.1:(\d+)"/.exec(daemon.log)?.[1]);
  });
  after(async () => {
    await daemon?.stop('SIGKILL');
    for (const each of homes) rmSync(each, { recursive: true, force: true });
  });

  const lccrs = (...args: string[]) => runCommand(home, 'lccrs', ['operator', ...args]);
  function ask(where: number | string, path: string, login?: string): Promise<[number, string]> {
    const to = typeof where === 'string' ? { socketPath: where } : { port: where, host: '127.0.0.1' };
    const headers =
      login === undefined ? {} : { authorization: `Basic ${Buffer.from(login).toString('base64')}` };
    const answer = new Promise<[number, string]>((resolve, reject) => {
      request({ ...to, path, headers }, response => {
        void text(response).then(body => resolve([response.statusCode ?? 0, body]), reject);
      })
        .on('error', reject)
        .end();
    });
    return within(`an answer at ${path}`, answer);
  }

  it('are let in with a password that was made for them, until they are removed', async () => {
    const made = lccrs('add', 'ada');
    assert.equal(made.status, 0, made.stderr);
    const password = made.stdout.trim();
    assert.match(password, /^[\w-]{27}$/);
    assert.doesNotMatch(readFileSync(join(home, 'rs/operators'), 'utf8'), new RegExp(password));
    const file = join(home, 'pwd');
    assert.equal(lccrs('add', 'joe', `--pwdfile=${file}`).stdout, '');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(lccrs('add', 'joe', `--pwdfile=${file}`).status, 73);
    assert.equal(lccrs('list').stdout, 'ada\njoe\n');
    for (const words of [['add'], ['add', 'a b'], ['add', 'x', 'y'], ['list', 'x'], ['shout', 'x']])
      assert.equal(lccrs(...words).status, 64, words.join(' '));
    assert.equal(lccrs('rm', 'nobody').status, 66);

    const path = '/api/v1/op/applications';
    const [status, body] = await ask(port, path, `ada:${password}`);
    assert.deepEqual([status, JSON.parse(body)], [200, { waiting: [], under_way: [], over: [] }]);
    assert.equal(
      (await ask(join(home, 'op.sock'), path, `joe:${readFileSync(file, 'utf8').trim()}`))[0],
      200,
    );
    for (const login of [undefined, 'ada:', `joe:${password}`, `nobody:${password}`, 'ada'])
      assert.equal((await ask(port, path, login))[0], 401, String(login));
    const [, audit] = await ask(port, '/api/v1/op/audit', `ada:${password}`);
    const { rows } = JSON.parse(audit) as { rows: { event: string; detail: string }[] };
    assert.deepEqual(rows.map(({ event, detail }) => `${event} ${detail}`).toReversed(), [
      'operator added ada',
      'operator added joe',
      // Of five from one network.
      'login refused 401 login from 127.0.0.0/24: GET /api/v1/op/applications: name and password are missing, or do not belong together',
    ]);
    assert.equal(lccrs('rm', 'ada').status, 0);
    assert.equal((await ask(port, path, `ada:${password}`))[0], 401);
  });

  it('have their pages and their API nowhere but at their own listener', async () => {
    for (const path of ['/op', '/op/', '/op/login', '/op/queue', '/api/v1/op', '/api/v1/op/applications'])
      assert.equal((await ask(daemon.port, path))[0], 404, path);
    for (const path of ['/register', '/me', '/api/v1/pairs/x', '/api/v1/me'])
      assert.equal((await ask(port, path))[0], 404, path);
  });

  it('have no listener that another machine reaches', () => {
    for (const endpoint of [
      '0.0.0.0:0',
      'tls:0.0.0.0:9081',
      '[::]:0',
      '192.0.2.1:9081',
      'lcc.example.org:1',
    ]) {
      const done = runCommand(newHome(), 'lccd-rs', [
        '--listen=127.0.0.1:0',
        `--operator-listen=${endpoint}`,
      ]);
      assert.match(done.stderr, /rs\.operator_listen takes the loopback and Unix sockets only/);
      assert.equal(done.status, 78, endpoint);
    }
  });
});
