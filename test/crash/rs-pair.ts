/** lccd-qm and lccd-rs that are killed at a step, started again, and the site that registers with them. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before } from 'node:test';
import { openReadOnly } from '../../src/db/sqlite/open.js';
import { runCommand } from '../support/command.js';
import { startDaemon, type Daemon } from '../support/daemon.js';
import { shell } from '../support/shell.js';
import { TestSite } from '../support/site.js';
import { ROOT } from '../support/tree.js';
import { until } from '../support/until.js';
import { atEnd } from '../support/at-end.js';

export let site: TestSite;
export let docroot: string;
const dirs: string[] = [];
const pairs: Pair[] = [];
export const daemons: Daemon[] = [];

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
atEnd(async () => {
  // One whose test failed must not start what is killed here.
  for (const pair of pairs) pair.isOver = true;
  await Promise.all(daemons.map(daemon => daemon.stop('SIGKILL')));
  site.close();
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

export function newDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-rs-'));
  dirs.push(dir);
  return dir;
}

/** lccd-qm and lccd-rs on a home; one that is killed is started again, without being killed once more. */
export class Pair {
  readonly home = newDir();
  readonly server: string;
  /** Socket of the operators' listener. */
  readonly operators = join(this.home, 'run/operators.sock');
  readonly #env: NodeJS.ProcessEnv;

  constructor(port: number, mode: string, step: string) {
    pairs.push(this);
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

  /** Those that the Queue Manager has answered; within a second their order is not known. */
  operations(): object[] {
    const db = openReadOnly(join(this.home, 'lcc.db'));
    const operations = db.prepare<[], object>('SELECT op, pid, answer FROM rsop ORDER BY at, op').all();
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
