/** A whole LCC, as `lccd` runs it, with a site beside it and a CP that speaks the protocol: for tests of all together. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EXIT } from '../../src/lib/errors.js';
import { ROOT } from './tree.js';

const PID = 7;
const LOG_KEPT = 4_000_000;
/** Longer than any work takes here on a machine that is busy. */
const IDLE_S = 120;
const runFile = promisify(execFile);

/** Pages by path, served over loopback; a change of the map is a change of the site. */
export class Site {
  readonly pages = new Map<string, string>();
  /** Whether requests are answered. */
  answers = true;
  readonly #server: Server;
  constructor() {
    this.#server = createServer((request, response) => {
      if (!this.answers) return;
      const page = this.pages.get(request.url ?? '');
      response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html' });
      response.end(page);
    });
  }
  async listen(): Promise<void> {
    await new Promise<void>(resolve => void this.#server.listen(0, '127.0.0.1', resolve));
  }
  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the site does not listen');
    return `http://127.0.0.1:${address.port}`;
  }
  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** What an LCC holds, comparable: `curl md5` of every row, each md5 taken from the stored file. */
export interface Holdings {
  rows: string[];
  files: number;
}

export class WholeLcc {
  readonly home: string;
  readonly site: Site;
  /** Errors of fetches that were reported to the CP: `404 page.html`. */
  readonly reported = new Set<string>();
  #password = '';
  #daemon: ChildProcess | undefined;
  #log = '';
  #isAbandoned = false;

  /** @param parent where its home is made */
  constructor(site: Site, parent = tmpdir()) {
    this.home = mkdtempSync(join(parent, 'lcc-whole-'));
    this.site = site;
    this.configure('');
  }

  /** What its daemons have logged, the last of it. */
  get log(): string {
    return this.#log;
  }

  /** For the next start: more keys of lcc.toml, each with its section. */
  configure(more: string): void {
    writeFileSync(
      join(this.home, 'lcc.toml'),
      `uns.listen = ["unix:${this.home}/cp.sock"]
bm.grace_ms = 0
bot.allow_addresses = ["127.0.0.0/8"]
lccd.restart_min_ms = 10
${more}`,
    );
  }

  /** Runs one of our commands to its end, while the site goes on answering. @throws Error when it fails */
  async run(command: string, ...args: string[]): Promise<string> {
    const env = { ...process.env, LCC_HOME: this.home, LCC_CONFIG: '' };
    const { stdout } = await runFile(process.execPath, [join(ROOT, 'bin', command), ...args], { env });
    return stdout;
  }

  async addProvider(): Promise<void> {
    const shown = await this.run('lccpidb', 'add', `--pid=${PID}`, `--root=${this.site.url}/`);
    this.#password = shown.trim();
  }

  /** Starts `lccd` with more in its environment. It brings its children back by itself. */
  start(env: Record<string, string> = {}): void {
    this.#daemon = spawn(process.execPath, [join(ROOT, 'bin/lccd')], {
      env: { ...process.env, LCC_HOME: this.home, LCC_CONFIG: '', ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#daemon.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#log = (this.#log + text).slice(-LOG_KEPT);
    });
  }

  /** Kills everything that runs on this home, as a machine that stops does, and waits until it is gone. */
  async killAll(): Promise<void> {
    const killed = new Set<number>();
    for (;;) {
      const pids = processesOf(this.home);
      for (const pid of pids) killed.add(pid);
      if ([...killed].every(isGone)) return;
      pids.forEach(killHard);
      await new Promise(resolve => void setTimeout(resolve, 5));
    }
  }

  /** Sets that are not accepted yet never will be. */
  abandon(): void {
    this.#isAbandoned = true;
  }

  async stop(): Promise<void> {
    const daemon = this.#daemon;
    if (daemon === undefined || daemon.exitCode !== null || daemon.signalCode !== null) return;
    const ended = new Promise(resolve => daemon.once('exit', resolve));
    daemon.kill('SIGTERM');
    await ended;
  }

  /** Delivers a set as a CP does: again and again until it is accepted, since every failure counts as nothing sent. */
  async deliver(set: 'full' | 'partial', urls: readonly string[]): Promise<void> {
    const text =
      `<lococa:init><provider id="${PID}" passwd="${this.#password}"/></lococa:init>` +
      `<lococa:set set="${set}" urlprefix="${this.site.url}/">${urls.join('')}</lococa:set>`;
    while (!this.#isAbandoned) {
      const reply = await this.#say(text);
      if (reply.includes('<set_accepted')) return;
      if (reply.includes('_rejected')) throw new Error(reply);
      await new Promise(resolve => void setTimeout(resolve, 20));
    }
    throw new Error('the set is abandoned');
  }

  /** Asks for the status only, as a CP that closes in good order. @returns the number of its connection */
  async look(): Promise<number> {
    const text = `<lococa:init><provider id="${PID}" passwd="${this.#password}"/></lococa:init>`;
    for (;;) {
      const reply = await this.#say(text, '</lococa:init_accepted>');
      if (reply.includes('</lococa:init_accepted>')) return Number(/ seq="(\d+)"/.exec(reply)?.[1]);
    }
  }

  /** What the UNS answers until it closes, or until its answer has `end`. */
  #say(text: string, end?: string): Promise<string> {
    return new Promise(resolve => {
      let reply = '';
      const socket = connect(join(this.home, 'cp.sock'), () => void socket.write(text));
      socket.setEncoding('utf8').on('data', (more: string) => {
        reply += more;
        if (end !== undefined && reply.includes(end)) socket.end();
      });
      // An error is followed by 'close'; what was said until then decides.
      socket
        .on('error', () => undefined)
        .on('close', () => {
          this.#note(reply);
          resolve(reply);
        });
    });
  }

  #note(reply: string): void {
    for (const [, code, curl = ''] of reply.matchAll(/<url code="(\d+)" curl="([^"]*)"/g)) {
      this.reported.add(`${code} ${curl.replace(`${this.site.url}/`, '')}`);
    }
  }

  /** Waits until nothing is spooled, queued or being fetched. */
  async untilIdle(): Promise<void> {
    for (;;) {
      try {
        await this.run('lccstat', `--until-idle=${IDLE_S}`);
        return;
      } catch (error) {
        // One that has been started just now may not answer yet.
        if (this.#runs && (error as { code?: unknown }).code === EXIT.unavailable) continue;
        throw new Error(`the LCC does not come to rest; it said\n${this.#log.slice(-8000)}`, {
          cause: error,
        });
      }
    }
  }

  get #runs(): boolean {
    return this.#daemon?.exitCode === null && this.#daemon.signalCode === null;
  }

  /** Waits until every file that is no longer needed has been removed (`bm.grace_ms` is 0 here). */
  async untilFreed(): Promise<void> {
    for (;;) {
      // One that is being started again does not answer.
      const status = await this.run('lccstat', '--json').catch(() => '');
      if (/"freed_waiting":0\b/.test(status) && /"names_in_grace":0\b/.test(status)) return;
    }
  }

  async holdings(): Promise<Holdings> {
    const printed = await this.run('lccq', '--format=jsonl');
    const rows = printed
      .split('\n')
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line) as { curl?: string; md5?: string; file?: string })
      .filter(row => row.file !== undefined)
      .map(row => {
        const content = readFileSync(row.file ?? '');
        const md5 = createHash('md5').update(content).digest('hex');
        return `${row.curl?.replace(`${this.site.url}/`, '')} ${md5}${md5 === row.md5 ? '' : ` but said to be ${row.md5}`}`;
      })
      .sort();
    const files = readdirSync(join(this.home, 'store'), { recursive: true, withFileTypes: true });
    return {
      rows,
      files: files.filter(file => file.isFile() && file.parentPath !== join(this.home, 'store')).length,
    };
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** One `<url/>` of a set. */
export function urlTag(name: string, more = ''): string {
  return `<url curl="${name}" mimetype="text/html"${more}/>`;
}

/** Living processes with that home in their environment, but not this one. */
function processesOf(home: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter(pid => {
      try {
        return (
          pid > 0 && readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`LCC_HOME=${home}`)
        );
      } catch {
        // It has ended, or is another user's.
        return false;
      }
    });
}

/** One that ends loses its environment before it lets go of its files: those keep a disk from being read-only. */
function isGone(pid: number): boolean {
  try {
    if (readdirSync(`/proc/${pid}/task`).length > 1) return false;
    const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(/\) (?=[^)]*$)/);
    return /^[ZX]/.test(rest);
  } catch {
    return true;
  }
}

function killHard(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
