/**
 * A whole LCC, as `lccd` runs it, on a home that goes away afterwards: command lines, a CP that speaks the protocol, and
 * waits that have a bound (until.ts).
 */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'smol-toml';
import { looksOf } from '../../src/commands/looks.js';
import { homeOf, type Home } from '../../src/config/load.js';
import { addProvider } from '../../src/db/providers/pidb.js';
import { openLcc } from '../../src/index.js';
import { systemClock } from '../../src/lib/clock.js';
import { EXIT } from '../../src/lib/errors.js';
import { generatePassword, hashPassword } from '../../src/lib/password.js';
import { untilIdle } from '../../src/run/look/idle.js';
import type { DaemonStatus } from '../../src/daemon/ask.js';
import { startDaemon, type Daemon } from './daemon.js';
import { newDatabase } from './new-database.js';
import { killAll } from './processes.js';
import { binDir, shell, type Ran } from './shell.js';
import type { TestSite } from './site.js';
import { BOUND_MS, lastLines, until } from './until.js';

/** What an LCC holds, comparable: `curl md5` of every row, each md5 taken from the stored file. */
export interface Holdings {
  rows: string[];
  files: number;
}

export class Lcc {
  /** Where commands run. */
  readonly dir: string;
  readonly home: string;
  readonly #places: Home;
  /** Of commands, with the password of provider 1 once there is one. */
  readonly env: NodeJS.ProcessEnv;
  /** `unix:…`: where CPs connect. */
  readonly uns: string;
  /** Below it are the pages of provider 1; ends with a slash. */
  readonly root: string;
  /** Errors of fetches that were reported to the CP of `deliver`: `404 page.html`. */
  readonly reported = new Set<string>();
  #lccd: Daemon | undefined;
  /** Of those that have ended. */
  #logged = '';
  #isAbandoned = false;

  /** @param toml more of lcc.toml @param parent where its directory is made */
  constructor(root: string, toml = '', parent = tmpdir()) {
    this.dir = mkdtempSync(join(parent, 'lcc-'));
    this.home = join(this.dir, 'home');
    this.#places = homeOf({ LCC_HOME: this.home });
    this.uns = `unix:${this.dir}/uns.sock`;
    this.root = root;
    this.env = {
      ...process.env,
      LCC_HOME: this.home,
      LCC_CONFIG: '',
      PATH: `${binDir}:${process.env['PATH']}`,
    };
    mkdirSync(this.home);
    this.configure(toml);
  }

  /** For the next start: keys of lcc.toml besides those that every test needs, in place of those given before. */
  configure(toml: string): void {
    const usual = {
      uns: { listen: [this.uns] },
      bm: { grace_ms: 0 },
      bot: { allow_addresses: ['127.0.0.0/8'] },
      lccd: { restart_min_ms: 10 },
    };
    const sections = Object.entries(parse(toml)).map(([name, keys]) => [
      name,
      { ...(usual as Record<string, object>)[name], ...(keys as object) },
    ]);
    writeFileSync(join(this.home, 'lcc.toml'), stringify({ ...usual, ...Object.fromEntries(sections) }));
  }

  /** What lccd and its children have logged, the last of it. */
  get log(): string {
    return this.#logged + (this.#lccd?.log ?? '');
  }

  /** Runs a command line with our commands first in PATH, as bash does. */
  sh(line: string, env: NodeJS.ProcessEnv = {}, cwd = this.dir): Promise<Ran> {
    return shell(line, { ...this.env, ...env }, cwd);
  }

  /** The same, and fails the test when it does not exit 0. @returns what it printed */
  async run(line: string): Promise<string> {
    return succeeded(line, await this.sh(line));
  }

  /** @param options more of lccpidb @returns its password, which for provider 1 is also in the environment of commands */
  async addProvider(pid = 1, root = this.root, options = ''): Promise<string> {
    const password = options === '' ? this.#addUsual(pid, root) : await this.#addWith(pid, root, options);
    if (pid === 1) this.env['LCC_PWD'] = password;
    return password;
  }

  /** As lccpidb does, without its start: every test has such a provider. */
  #addUsual(pid: number, root: string): string {
    const db = newDatabase(this.#places.db);
    const password = generatePassword();
    try {
      addProvider(db, pid, hashPassword(password), {}, [root]);
    } finally {
      db.close();
    }
    return password;
  }

  async #addWith(pid: number, root: string, options: string): Promise<string> {
    const made = (await this.run(`lccpidb add --pid=${pid} --root=${root} ${options}`)).trim();
    // With --spider=yes it has none.
    return made === '' ? (await this.run(`lccpidb passwd --pid=${pid}`)).trim() : made;
  }

  /** Starts lccd, and waits until it is ready. */
  async start(env: NodeJS.ProcessEnv = {}): Promise<void> {
    await this.launch(env).ready;
  }

  /** Starts lccd; that may take its time, or never succeed. It brings its children back by itself. */
  launch(env: NodeJS.ProcessEnv = {}): Daemon {
    this.#logged = this.log;
    return (this.#lccd = startDaemon('lccd', this.home, [], { ...this.env, ...env }));
  }

  /** Starts another daemon on the same home; `stop` leaves it alone, `remove` does not. */
  startDaemon(name: string, ...args: string[]): Daemon {
    return startDaemon(name, this.home, args, this.env);
  }

  /** A Queue Manager without a UNS; Bot Managers find it at `home`/b.sock. It may be one that refuses to start. */
  startQueueManager(): Daemon {
    const listening = [`--listen-uns=unix:${this.home}/u.sock`, `--listen-bm=unix:${this.home}/b.sock`];
    return this.startDaemon('lccd-qm', ...listening);
  }

  async stop(signal?: NodeJS.Signals): Promise<void> {
    await this.#lccd?.stop(signal);
  }

  /** Kills everything that runs on this home, as a machine that stops does, and waits until it is gone. */
  killAll(): Promise<void> {
    return killAll(this.home);
  }

  /** Ends all that runs, and removes its directory. */
  async remove(): Promise<void> {
    await this.stop();
    await this.killAll();
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 10 });
  }

  /** Waits until nothing is spooled, queued or being fetched. @param limitS longer where there is that much to fetch */
  async idle(limitS = BOUND_MS / 1000): Promise<void> {
    const look = async () => {
      // What `lccstat --until-idle` waits for.
      const status = await untilIdle(() => looksOf(this.#places), systemClock, limitS * 1000);
      // One that has been started just now may not answer yet.
      const isStarting = status === EXIT.unavailable && this.#lccd?.child.exitCode === null;
      if (status === EXIT.ok || isStarting) return status === EXIT.ok;
      const { stdout } = await this.sh('lccstat');
      throw new Error(`the LCC does not come to rest: ${stdout}\n${lastLines()}`);
    };
    await until('the LCC comes to rest', look, limitS * 1000 + BOUND_MS);
  }

  /** Waits until a command prints that, whatever its status: one that has been started just now may not answer yet. */
  shows(line: string, wanted: RegExp): Promise<string> {
    const look = async () => {
      const { stdout, stderr } = await this.sh(line);
      return wanted.test(stdout + stderr) && stdout + stderr;
    };
    return until(`${line} shows ${String(wanted)}`, look);
  }

  /** What each daemon that answers says of itself, by its name: `daemons` of `lccstat --json`. */
  async daemons(): Promise<Record<string, DaemonStatus>> {
    const looks = await looksOf(this.#places);
    return Object.fromEntries(looks.flatMap(look => ('status' in look ? [[look.name, look.status]] : [])));
  }

  /** Waits until the daemons say that of themselves. */
  says(wanted: RegExp): Promise<string> {
    return until(`the daemons say ${String(wanted)}`, async () => {
      const said = JSON.stringify(await this.daemons());
      return wanted.test(said) && said;
    });
  }

  /** Waits until every file that is no longer needed has been removed (`bm.grace_ms` is 0 here). */
  async freed(): Promise<void> {
    await this.says(/^(?=[^]*"freed_waiting":0\b)(?=[^]*"names_in_grace":0\b)/);
  }

  /** Delivers a set with lcccp. @param as whose it is, and below what @param options more of lcccp */
  lcccp(urls: readonly string[], options = '', as = `--pid=1 --urlprefix=${this.root}`): Promise<Ran> {
    const input = urls.map(url => `${url}\n`).join('');
    return shell(`lcccp -q --uns=${this.uns} ${as} ${options}`, this.env, this.dir, input);
  }

  /** The same, and fails the test when lcccp does not exit 0. */
  async announce(...args: Parameters<Lcc['lcccp']>): Promise<void> {
    succeeded('lcccp', await this.lcccp(...args));
  }

  /** Sets that are not accepted yet never will be. */
  abandon(): void {
    this.#isAbandoned = true;
  }

  /** Delivers a set of provider 1 as a CP does: again and again until it is accepted, since a failure counts as nothing sent. */
  async deliver(set: 'full' | 'partial', urls: readonly string[]): Promise<void> {
    const text = `${this.#login}<lococa:set set="${set}" urlprefix="${this.root}">${urls.join('')}</lococa:set>`;
    await until('a set is accepted', async () => {
      if (this.#isAbandoned) throw new Error('the set is abandoned');
      const reply = await this.#say(text);
      if (reply.includes('_rejected')) throw new Error(reply);
      return reply.includes('<set_accepted');
    });
  }

  /** Pages are put on the site or changed, announced and fetched. @param pages content by name */
  async publish(site: TestSite, pages: Record<string, string>): Promise<void> {
    for (const [name, content] of Object.entries(pages)) site.pages.set(`/${name}`, content);
    const tags = Object.entries(pages).map(([name, content]) => urlTag(name, ` len="${content.length}"`));
    await this.deliver('partial', tags);
    await this.idle();
  }

  /** Asks for the status only, as a CP that closes in good order. @returns the number of its connection */
  async look(): Promise<number> {
    const end = '</lococa:init_accepted>';
    const reply = await until('the status is given', async () => {
      const said = await this.#say(this.#login, end);
      return said.includes(end) && said;
    });
    return Number(/ seq="(\d+)"/.exec(reply)?.[1]);
  }

  get #login(): string {
    return `<lococa:init><provider id="1" passwd="${this.env['LCC_PWD']}"/></lococa:init>`;
  }

  /** What the UNS answers until it closes, or until its answer has `end`. */
  #say(text: string, end?: string): Promise<string> {
    return new Promise(resolve => {
      let reply = '';
      const socket = connect(this.uns.slice('unix:'.length), () => void socket.write(text));
      socket.setEncoding('utf8').on('data', (more: string) => {
        reply += more;
        if (end !== undefined && reply.includes(end)) socket.end();
      });
      // An error is followed by 'close'; what was said until then decides.
      socket
        .on('error', () => undefined)
        .on('close', () => {
          for (const [, code, curl = ''] of reply.matchAll(/<url code="(\d+)" curl="([^"]*)"/g))
            this.reported.add(`${code} ${curl.replace(this.root, '')}`);
          resolve(reply);
        });
    });
  }

  async holdings(): Promise<Holdings> {
    const store = join(this.home, 'store');
    const rows: string[] = [];
    const lcc = openLcc({ home: this.home });
    try {
      for await (const { op, curl, md5, file } of lcc.changes()) {
        if (op === 'delete' || file === null) continue;
        const found = createHash('md5').update(readFileSync(file)).digest('hex');
        rows.push(`${curl.replace(this.root, '')} ${found}${found === md5 ? '' : ` but said to be ${md5}`}`);
      }
    } finally {
      lcc.close();
    }
    rows.sort();
    const files = readdirSync(store, { recursive: true, withFileTypes: true });
    return { rows, files: files.filter(file => file.isFile() && file.parentPath !== store).length };
  }
}

/** One that runs, with provider 1 over `root`. @param env more of lccd's alone */
export async function startLcc(root: string, toml = '', env: NodeJS.ProcessEnv = {}): Promise<Lcc> {
  const lcc = new Lcc(root, toml);
  await lcc.addProvider();
  await lcc.start(env);
  return lcc;
}

function succeeded(line: string, { status, stdout, stderr }: Ran): string {
  if (status !== 0) throw new Error(`exit ${status} from: ${line}\n${stderr.slice(-4000)}\n${lastLines()}`);
  return stdout;
}

/** One `<url/>` of a set. */
export function urlTag(name: string, more = ''): string {
  return `<url curl="${name}" mimetype="text/html"${more}/>`;
}
