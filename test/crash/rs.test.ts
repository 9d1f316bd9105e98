/** Registration with a kill at each durable step of either side: one provider, with the password that the site has. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openReadOnly } from '../../src/db/sqlite/open.js';
import { passwordMatches } from '../../src/lib/password.js';
import { openSqlite } from '../../src/lib/sqlite.js';
import { runCommand } from '../support/command.js';
import { startDaemon } from '../support/daemon.js';
import { shell } from '../support/shell.js';
import { freePort } from '../support/free-port.js';
import { ROOT } from '../support/tree.js';
import { until } from '../support/until.js';
import { daemons, docroot, Pair, site } from './rs-pair.js';

it('a kill at rs.mark.noted, before it serves, leaves nothing that looks like an older copy', async () => {
  const pair = new Pair(await freePort(), 'open', 'rs.mark.noted');
  await assert.rejects(pair.start(), /lccd-rs ended \(SIGKILL\)/);
  assert.equal((await pair.ask('GET', 'pairs/none'))['status'], 404);
  pair.isOver = true;
  assert.equal(pair.crashed, 'rs.mark.noted');
  assert.doesNotMatch(pair.running('lccd-rs').log, /put back|served last/);
});

describe('a registration', () => {
  for (const [step, mode] of [
    ['rs.pair.committed', 'open'],
    ['register.pair.synced', 'open'],
    ['register.password.synced', 'open'],
    ['register.file.placed', 'open'],
    ['rs.check.begun', 'open'],
    ['rs.proof.committed', 'open'],
    ['rs.approved.committed', 'approve'],
    ['qm.rs.committed', 'open'],
    ['rs.answer.committed', 'open'],
  ] as const)
    it(`ends with one provider and its password after a kill at ${step} (mode ${mode})`, async () => {
      const pair = new Pair(await freePort(), mode, step);
      await pair.start();
      await pair.register(step);
      pair.isOver = true;
      assert.equal(pair.crashed, step);
      const db = openReadOnly(join(pair.home, 'lcc.db'));
      const providers = db
        .prepare<[], { password: string; root: string }>(
          "SELECT password, root FROM pidb JOIN proots USING (pid) WHERE origin = 'rs'",
        )
        .all();
      db.close();
      const password = readFileSync(join(pair.home, 'password'), 'utf8').trim();
      assert.deepEqual(
        providers.map(({ root, password: stored }) => [root, passwordMatches(password, stored)]),
        [[`${site.url}/`, true]],
      );
      assert.deepEqual(readdirSync(docroot), []);
      assert.deepEqual(
        readdirSync(pair.home).filter(name => name.startsWith('password')),
        ['password'],
      );
      assert.equal(runCommand(pair.home, 'lccrs', ['list', '--differs']).status, 0);
      const logs = daemons.map(({ log }) => log).join('');
      assert.ok(!logs.includes(password) && !logs.includes('sha256:'));
    });

  for (const step of ['rs.rotation.committed', 'rs.answer.committed:2', 'qm.rs.committed:2'])
    it(`is followed by another password, and there is one, after a kill at ${step}`, async () => {
      const pair = new Pair(await freePort(), 'open', step);
      await pair.start();
      await pair.startUns();
      await pair.register(step);
      const old = pair.password();
      const begun = await pair.ask('POST', 'me/password', {}, `100000:${old}`);
      assert.equal(begun['status'], 201, JSON.stringify(begun));
      await until('the password is in use', async () => {
        await pair.ask('POST', `pairs/${String(begun['id'])}/check`);
        return (await pair.ask('GET', `pairs/${String(begun['id'])}`))['state'] === 'active';
      });
      pair.isOver = true;
      assert.equal(pair.crashed, step.split(':')[0]);
      const login = (password: unknown) => pair.ask('GET', 'me', undefined, `100000:${String(password)}`);
      assert.equal((await login(begun['password']))['generation'], 2);
      assert.equal((await login(old))['status'], 401);
    });

  it('is undone by a leave that is promised and carried out, killed at rs.change.committed', async () => {
    const pair = new Pair(await freePort(), 'open', 'rs.change.committed');
    await pair.start();
    await pair.startUns();
    await pair.register('rs.change.committed');
    const login = `100000:${pair.password()}`;
    await until('it leaves', async () => {
      await pair.ask('POST', 'me/leave', { urls: 0 }, login);
      return (await pair.ask('GET', 'me', undefined, login))['status'] === 403;
    });
    pair.isOver = true;
    assert.equal(pair.crashed, 'rs.change.committed');
    const db = openReadOnly(join(pair.home, 'lcc.db'));
    const leaves = "SELECT count(*) FROM rsop WHERE op = 'leave' AND answer LIKE '{\"ok\"%'";
    assert.equal(db.prepare(leaves).pluck().get(), 1, 'once');
    db.close();
    assert.equal((await pair.ask('DELETE', 'me/leave', undefined, login))['state'], 'done');
    assert.equal((await pair.ask('GET', 'me', undefined, login))['enabled'], true);
  });

  it('of an operator’s provider is disabled once after a kill at rs.control.committed, and the operator sees that', async () => {
    const pair = new Pair(await freePort(), 'open', 'rs.control.committed');
    const add = 'lccpidb add --pid=7 --root=http://www.example.org/ > /dev/null';
    const made = await shell(`${add} && lccrs operator add ada`, pair.shellEnv, pair.home);
    assert.equal(made.status, 0, made.stderr);
    await pair.start();
    const curl = `curl -s --unix-socket ${pair.operators} -u ada:${made.stdout.trim()}`;
    const at = 'http://localhost/api/v1/op/providers/7';
    const json = `-H 'Content-Type: application/json' -d '{"reason":"why"}'`;
    assert.equal((await shell(`${curl} ${json} ${at}/disable`, pair.shellEnv, pair.home)).stdout, '');
    let shown = '';
    await until('it is done, and noted', async () => {
      shown = (await shell(`${curl} ${at}`, pair.shellEnv, pair.home)).stdout;
      return shown.includes('"event":"disable done"');
    });
    pair.isOver = true;
    assert.equal(pair.crashed, 'rs.control.committed');
    const { provider, audit } = JSON.parse(shown) as {
      provider: { enabled: boolean };
      audit: { event: string; by: string; detail: string }[];
    };
    assert.equal(provider.enabled, false);
    assert.deepEqual(
      audit.map(({ event, by, detail }) => `${event} ${by} ${detail}`),
      ['disable done qm ', 'disable operator ada: why'],
    );
    assert.deepEqual(pair.operations(), [{ op: 'disable', pid: 7, answer: '{"ok":{"pid":7}}' }]);
  });

  /** Where lccd-rs is killed a first time, and comes back. */
  async function killedAt(step: string, mode: 'open' | 'approve'): Promise<Pair> {
    const pair = new Pair(await freePort(), mode, step);
    await pair.start();
    return pair;
  }
  const isKilled = (pair: Pair, step: string) =>
    until(`it is killed at ${step}`, () => existsSync(join(pair.home, 'crashed')) && pair.crashed === step);

  it('that is given up is over after a kill at rs.cancelled.committed', async () => {
    const pair = await killedAt('rs.cancelled.committed', 'open');
    const { id } = await pair.ask('POST', 'pairs', { url: `${site.url}/` });
    // The answer is lost; what is asked again says that it is over.
    assert.equal((await pair.ask('DELETE', `pairs/${String(id)}`))['status'], 410);
    pair.isOver = true;
    assert.equal(pair.crashed, 'rs.cancelled.committed');
    assert.equal((await pair.ask('POST', `pairs/${String(id)}/check`))['code'], 'cancelled');
  });

  it('that the operator refuses is refused after a kill at rs.refused.committed', async () => {
    const pair = await killedAt('rs.refused.committed', 'approve');
    const { id, secret, file } = await pair.ask('POST', 'pairs', { url: `${site.url}/` });
    const path = join(docroot, new URL(String(file)).pathname);
    writeFileSync(path, String(secret));
    assert.equal((await pair.ask('POST', `pairs/${String(id)}/check`))['state'], 'waiting');
    rmSync(path);
    const refused = runCommand(pair.home, 'lccrs', ['refuse', '1', '--reason=why'], { env: pair.env });
    assert.notEqual(refused.status, 0, refused.stderr);
    pair.isOver = true;
    assert.equal(pair.crashed, 'rs.refused.committed');
    const { state, reason } = await pair.ask('GET', `pairs/${String(id)}`);
    assert.deepEqual([state, (reason as { what: string }).what], ['refused', 'why']);
  });

  it('whose time is over says so, to 410 and for good, after a kill at rs.expired.committed', async () => {
    const pair = new Pair(await freePort(), 'open', 'rs.expired.committed');
    await pair.start();
    const { id } = await pair.ask('POST', 'pairs', { url: `${site.url}/` });
    const rs = pair.running('lccd-rs');
    // A week goes by.
    const db = openSqlite(join(pair.home, 'rs/rs.db'));
    db.exec('UPDATE registration SET ends_ms = 1');
    db.close();
    rs.child.kill('SIGKILL');
    await isKilled(pair, 'rs.expired.committed');
    for (const [method, path] of [
      ['GET', `pairs/${String(id)}`],
      ['POST', `pairs/${String(id)}/check`],
      ['DELETE', `pairs/${String(id)}`],
    ] as const) {
      const { status, code } = await pair.ask(method, path);
      assert.deepEqual([status, code], [410, 'expired'], method);
    }
    pair.isOver = true;
  });

  it('has its hours mapped again, once, after a kill at rs.hours.committed', async () => {
    const pair = new Pair(await freePort(), 'open', 'rs.hours.committed');
    await pair.start();
    const body = { url: `${site.url}/`, hours: '0-7', zone: 'Asia/Kolkata' };
    const { id, secret, file } = await pair.ask('POST', 'pairs', body);
    const path = join(docroot, new URL(String(file)).pathname);
    writeFileSync(path, String(secret));
    await until('it is a provider', async () => {
      await pair.ask('POST', `pairs/${String(id)}/check`);
      return (await pair.ask('GET', `pairs/${String(id)}`))['state'] === 'active';
    });
    rmSync(path);
    // As they were with another offset.
    const db = openSqlite(join(pair.home, 'rs/rs.db'));
    const mapped = () => db.prepare<[], string>('SELECT timeofday FROM registered').pluck().get();
    const right = mapped();
    db.exec("UPDATE registered SET timeofday = 'of another offset'");
    pair.running('lccd-rs').child.kill('SIGKILL');
    await isKilled(pair, 'rs.hours.committed');
    assert.equal(mapped(), right);
    db.close();
    await until('the Queue Manager is told', () => pair.operations().length === 2);
    pair.isOver = true;
    assert.deepEqual(
      pair.operations().map(operation => (operation as { op: string }).op),
      ['register', 'terms'],
    );
    const lcc = openReadOnly(join(pair.home, 'lcc.db'));
    assert.equal(lcc.prepare('SELECT timeofday FROM pidb').pluck().get(), right);
    lcc.close();
  });

  it('whose login is killed at rs.login.committed is logged in by the next one', async () => {
    const pair = await killedAt('rs.login.committed', 'open');
    await pair.startUns();
    await pair.register('rs.login.committed');
    const form = new URLSearchParams({ number: '100000', password: pair.password(), next: '' });
    let cookie = '';
    await until('it is logged in', async () => {
      try {
        const answer = await fetch(`${pair.server}login`, { method: 'POST', body: form, redirect: 'manual' });
        cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
        return answer.status === 303;
      } catch {
        return false;
      }
    });
    pair.isOver = true;
    assert.equal(pair.crashed, 'rs.login.committed');
    const me = await fetch(`${pair.server}me`, { headers: { cookie }, redirect: 'manual' });
    assert.equal(me.status, 200);
  });

  it('that the Queue Manager is away for is made when it comes', async () => {
    const pair = new Pair(await freePort(), 'open', 'never');
    pair.isOver = true;
    await pair.start();
    const [qm] = daemons.slice(-2).filter(({ name }) => name === 'lccd-qm');
    await qm?.stop();
    const words = `--server=${pair.server} --url=${site.url}/ --docroot=${docroot} --pwdfile=${pair.home}/password`;
    const env = { ...process.env, PATH: `${join(ROOT, 'bin')}:${process.env['PATH']}` };
    const early = await shell(`lccregister new ${words}`, env, pair.home);
    assert.equal(early.status, 75, early.stderr);
    assert.match(early.stderr, /is proven, and is being set up; run this again later/);
    assert.match(
      runCommand(pair.home, 'lccstat', []).stdout,
      /1 change of a provider waits for lccd-qm, which lccd-rs cannot reach/,
    );
    const listening = ['uns', 'bm', 'rs'].map(
      kind => `--listen-${kind}=unix:${pair.home}/run/qm-${kind}.sock`,
    );
    const back = startDaemon('lccd-qm', pair.home, listening);
    daemons.push(back);
    await back.ready;
    const done = await shell(`lccregister check --pwdfile=${pair.home}/password --wait=60`, env, pair.home);
    assert.equal(done.status, 0, done.stderr);
  });
});
