/** Registration with a kill at each durable step of either side: one provider, with the password that the site has. */
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openReadOnly } from '../../src/db/sqlite/open.js';
import { passwordMatches } from '../../src/lib/password.js';
import { openSqlite } from '../../src/lib/sqlite.js';
import { runCommand } from '../support/command.js';
import { startDaemon, type Daemon } from '../support/daemon.js';
import { shell } from '../support/lcc.js';
import { freePort } from '../support/nginx.js';
import { TestSite } from '../support/site.js';
import { ROOT } from '../support/tree.js';
import { until } from '../support/until.js';

let site: TestSite;
let docroot: string;
const dirs: string[] = [];
const daemons: Daemon[] = [];

before(async () => {
  docroot = newDir();
  site = await TestSite.listen(({ url = '' }, response) => {
    try {
      response.end(readFileSync(join(docroot, url)));
    } catch {
      response.writeHead(404).end();
    }
  });
});
after(async () => {
  await Promise.all(daemons.map(daemon => daemon.stop('SIGKILL')));
  site.close();
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

function newDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-rs-'));
  dirs.push(dir);
  return dir;
}

/** lccd-qm and lccd-rs on a home; one that is killed is started again, without being killed once more. */
class Pair {
  readonly home = newDir();
  readonly server: string;
  /** Socket of the operators' listener. */
  readonly operators = join(this.home, 'run/operators.sock');
  readonly #env: NodeJS.ProcessEnv;

  constructor(port: number, mode: string, step: string) {
    this.server = `http://127.0.0.1:${port}/`;
    this.#env = { LCC_CRASH_AT: step, LCC_CRASH_ONCE: join(this.home, 'crashed') };
    mkdirSync(join(this.home, 'run'));
    writeFileSync(
      join(this.home, 'lcc.toml'),
      `[bot]
allow_addresses = ["127.0.0.1"]
[rs]
listen = ["127.0.0.1:${port}"]
url = "${this.server}"
ports = ["${new URL(site.url).port}"]
mode = "${mode}"
retry_ms = 20
check_interval_ms = 0
operator_listen = ["unix:${this.operators}"]
`,
    );
  }

  async start(): Promise<void> {
    const listening = ['uns', 'bm', 'rs'].map(
      kind => `--listen-${kind}=unix:${this.home}/run/qm-${kind}.sock`,
    );
    await Promise.all([this.#keep('lccd-qm', listening), this.#keep('lccd-rs', [])]);
  }

  /** The UNS knows the passwords. */
  async startUns(): Promise<void> {
    const args = [
      `--listen=unix:${this.home}/run/cp.sock`,
      `--listen-door=unix:${this.home}/run/uns-door.sock`,
      `--qm=unix:${this.home}/run/qm-uns.sock`,
    ];
    await this.#keep('lccd-uns', args);
  }

  /** Asks the API until there is an answer. */
  async ask(method: string, path: string, body?: object, login = ''): Promise<Record<string, unknown>> {
    let answer: Record<string, unknown> = {};
    await until(`${method} ${path} is answered`, async () => {
      try {
        const said = await fetch(`${this.server}api/v1/${path}`, {
          method,
          headers: {
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...(login !== '' && { authorization: `Basic ${Buffer.from(login).toString('base64')}` }),
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        answer = { ...((await said.json()) as object), status: said.status };
        return said.status < 500;
      } catch {
        return false;
      }
    });
    return answer;
  }

  async #keep(name: string, args: string[]): Promise<void> {
    const daemon = startDaemon(name, this.home, args, this.#env);
    daemons.push(daemon);
    void daemon.ended.then(how => {
      // It may be killed again before it is ready.
      if (how === 'SIGKILL' && !this.isOver) void this.#keep(name, args).catch(() => undefined);
    });
    await daemon.ready;
  }

  isOver = false;

  /** The last one that was started. */
  running(name: string): Daemon {
    const found = daemons.findLast(daemon => daemon.name === name);
    assert.ok(found);
    return found;
  }

  /** Of commands that are to be killed. */
  get env(): NodeJS.ProcessEnv {
    return this.#env;
  }

  /** What the site does until it is a provider, or is told to wait. */
  async register(step: string): Promise<void> {
    const words = `--server=${this.server} --url=${site.url}/ --docroot=${docroot} --pwdfile=${this.home}/password`;
    await until('the site is registered', async () => {
      const env = { ...process.env, ...this.#env, PATH: `${join(ROOT, 'bin')}:${process.env['PATH']}` };
      const { status, stderr } = await shell(`lccregister new ${words} --timeout=20`, env, this.home);
      if (status === 0) return true;
      assert.ok([75, 128].includes(status), `${step}: ${status} ${stderr}`);
      if (stderr.includes('waits for approval')) this.#approve();
      return false;
    });
  }

  #approve(): void {
    const [, id = ''] = /^(\d+) +waiting/m.exec(runCommand(this.home, 'lccrs', ['list']).stdout) ?? [];
    if (id !== '') runCommand(this.home, 'lccrs', ['approve', id], { env: this.#env });
  }

  get shellEnv(): NodeJS.ProcessEnv {
    return { ...process.env, LCC_HOME: this.home, PATH: `${join(ROOT, 'bin')}:${process.env['PATH']}` };
  }

  /** Those that the Queue Manager has answered. */
  operations(): object[] {
    const db = openReadOnly(join(this.home, 'lcc.db'));
    const operations = db.prepare<[], object>('SELECT op, pid, answer FROM rsop ORDER BY at').all();
    db.close();
    return operations;
  }

  /** In the site's files. */
  password(): string {
    return readFileSync(join(this.home, 'password'), 'utf8').trim();
  }

  get crashed(): string {
    return readFileSync(join(this.home, 'crashed'), 'utf8');
  }
}

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
      return (await pair.ask('GET', 'me', undefined, login))['status'] === 401;
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
