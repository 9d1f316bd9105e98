// Where a demo plays: a temporary directory, the commands in it, and all that has to be ended after it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listen, serve } from './web.mjs';

export const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** Of the first web server of a demo that is played alone. */
const WEB_PORT = 8080;
const PORTS_OF_A_DEMO = 20;

export class Scene {
  dir = mkdtempSync(join(tmpdir(), 'lcc-demo-'));
  #env = {
    ...process.env,
    LCC_HOME: join(this.dir, 'lcc'),
    // Servers lie in sbin, which users of Debian do not have.
    PATH: [join(root, 'bin'), process.env.PATH, '/usr/local/sbin', '/usr/sbin'].join(delimiter),
    LCC_CONFIG: '',
  };
  #startedAt = Date.now();
  /** Shell lines that run. */
  #running = new Set();
  /** Servers and daemons, in the order in which they were started. */
  #servers = [];
  #webs = [];
  /** What else is to be ended. */
  #actions = [];
  /** Where ports were looked for from → the last one that was given. */
  #ports = new Map();
  #ending;

  async build() {
    if (existsSync(join(root, 'dist/bin/lccd.cjs'))) return;
    say('Building the commands (npm run build) ...');
    await this.sh('npm run --silent build', { cwd: root, quiet: true });
  }

  /** A small web server over a directory, on the first free port from WEB_PORT up; see web.mjs. */
  async serve(site) {
    const web = await serve(site, WEB_PORT);
    this.#webs.push(web);
    return web;
  }

  /**
   * A port from `from` up that is free and was not given before, for a server that is started later. Another demo that is
   * played meanwhile does not take it: the port of a demo's web server is its own, and so are the ports counted from it.
   */
  async freePort(from) {
    const [web] = this.#webs;
    const last = this.#ports.get(from) ?? from + (web.port - WEB_PORT) * PORTS_OF_A_DEMO - 1;
    const probe = createServer();
    const port = await listen(probe, last + 1);
    await new Promise(resolve => probe.close(resolve));
    this.#ports.set(from, port);
    return port;
  }

  /** Has something else done at the end, what was given last first. */
  onEnd(action) {
    this.#actions.push(action);
  }

  /** Runs a shell line as printed; its output is printed too, unless quiet. @returns its status and standard output */
  sh = (line, { quiet = false, accept = [0], cwd = this.dir } = {}) => {
    this.#mustGoOn();
    if (!quiet) show(line);
    const child = spawn('bash', ['-o', 'pipefail', '-c', line], {
      cwd,
      env: this.#env,
      stdio: ['ignore', 'pipe', quiet ? 'ignore' : 'inherit'],
      // A process group of its own, so that the whole pipeline can be ended.
      detached: true,
    });
    this.#running.add(child);
    return new Promise((resolve, reject) => {
      let output = '';
      child.stdout.setEncoding('utf8').on('data', text => {
        output += text;
        if (!quiet) process.stdout.write(text);
      });
      child.on('error', error => {
        this.#running.delete(child);
        reject(error);
      });
      child.on('close', status => {
        this.#running.delete(child);
        if (accept.includes(status)) resolve({ status, output });
        else reject(new Error(`exit status ${status} from: ${line}`));
      });
    });
  };

  startLcc(args) {
    show(`lccd ${args.join(' ')} 2>lccd.log &`);
    return this.start(join(root, 'bin/lccd'), args, 'lccd.log');
  }

  /** Starts a server that stays; `log`, a file of the directory, gets what it says. */
  start(program, args, log) {
    this.#mustGoOn();
    const logFile = openSync(join(this.dir, log), 'w');
    const child = spawn(program, args, {
      cwd: this.dir,
      env: this.#env,
      stdio: ['ignore', 'ignore', logFile],
      detached: true,
    });
    closeSync(logFile);
    const server = { child, log, isExpected: false };
    // A program that is not there: it has no process, and is dead from the start.
    child.on('error', error => (server.error = error));
    this.#servers.push(server);
    return server;
  }

  /** Nothing is started that `end` would not find. */
  #mustGoOn() {
    if (this.#ending !== undefined) throw new Error('the demo is ending');
  }

  /** The commands have said themselves what was wrong; a server's log is of interest only when it has ended by itself. */
  complain(error) {
    if (this.#ending !== undefined) return;
    console.error(`demo: ${error.message}`);
    for (const server of this.#servers) {
      if (isAlive(server) || server.isExpected) continue;
      const lines = readFileSync(join(this.dir, server.log), 'utf8').trimEnd().split('\n').slice(-20);
      if (lines.join('') !== '') console.error(lines.join('\n'));
    }
  }

  sayTheEnd() {
    const seconds = Math.round((Date.now() - this.#startedAt) / 1000);
    say(`All of it took ${seconds} seconds. Stopping the LCC and removing ${this.dir}.`);
  }

  /** Ends what runs and removes what there is; a second call waits for the first. */
  end() {
    return (this.#ending ??= this.#endAll());
  }

  async #endAll() {
    const ended = [...this.#running].map(child => once(child, 'close'));
    for (const child of this.#running) kill(() => process.kill(-child.pid, 'SIGTERM'));
    await Promise.all(ended);
    for (const server of this.#servers.filter(isAlive).toReversed()) {
      const exited = once(server.child, 'exit');
      server.child.kill();
      await exited;
    }
    for (const web of this.#webs) web.close();
    for (const action of this.#actions.toReversed()) await action();
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** It may have ended by itself a moment ago. */
function kill(send) {
  try {
    send();
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

export function isAlive({ child }) {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

export function quoted(text) {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export function title(text) {
  console.log(`\n\n== ${text}`);
}

export function say(text) {
  console.log(text);
}

export function show(line) {
  console.log(`\n$ ${line}`);
}
