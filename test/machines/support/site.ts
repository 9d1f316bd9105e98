/**
 * A web site on a machine: nginx there and, as its upstream over a Unix socket, pages that the test makes, delays and
 * holds.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../support/until.js';

/** A machine that a site can be on: its address, and the words before a command that run it there. */
export interface SiteMachine {
  address: string;
  via: readonly string[];
}

const PORT = 8080;

export class MachineSite {
  readonly #machine: SiteMachine;
  readonly #port: number;
  readonly #dir: string;
  readonly #app: Server;
  #nginx: ChildProcess | undefined;
  /** How long a page takes. */
  latencyMs = 0;
  /** Part of every page: another version is other content. */
  version = 1;
  /** Requests being answered: the folder they are for, and the address they came from. */
  readonly open = new Set<{ folder: string; from: string }>();
  /** The most requests that one folder had open at a time since `forget`. */
  mostAtOnce = 0;
  /** When each page was asked for first, by its path. */
  readonly askedMs = new Map<string, number>();
  /** How often each page was asked for, by its path. */
  readonly asks = new Map<string, number>();
  #gate: Promise<void> | undefined;

  constructor(machine: SiteMachine, dir: string, port = PORT) {
    this.#machine = machine;
    this.#port = port;
    this.#dir = dir;
    this.#app = createServer((request, response) => {
      const path = request.url ?? '';
      const visit = { folder: path.split('/')[1] ?? '', from: String(request.headers['x-real-ip']) };
      this.open.add(visit);
      this.asks.set(path, (this.asks.get(path) ?? 0) + 1);
      if (!this.askedMs.has(path)) this.askedMs.set(path, performance.now());
      const together = [...this.open].filter(({ folder }) => folder === visit.folder).length;
      this.mostAtOnce = Math.max(this.mostAtOnce, together);
      response.on('close', () => this.open.delete(visit));
      void this.#turn().then(() => {
        // nginx passes on what it has got: the next request may come before `close`.
        this.open.delete(visit);
        response.setHeader('content-type', 'text/html');
        response.end(this.contentOf(path));
      });
    });
  }

  get url(): string {
    return `http://${this.#machine.address}:${this.#port}/`;
  }

  contentOf(path: string): string {
    return `${path} version ${this.version}\n`.repeat(40);
  }

  async start(): Promise<void> {
    mkdirSync(this.#dir, { recursive: true });
    const socket = join(this.#dir, 'app.sock');
    if (!this.#app.listening) await new Promise<void>(resolve => void this.#app.listen(socket, resolve));
    const [pid, conf, errors] = ['nginx.pid', 'nginx.conf', 'error.log'].map(name => join(this.#dir, name));
    writeFileSync(conf ?? '', this.#configuration(socket));
    const [file, ...args] = [...this.#machine.via, 'nginx', '-p', this.#dir, '-c', conf ?? '', '-e'];
    const nginx = spawn(file, [...args, errors ?? ''], { stdio: 'ignore' });
    this.#nginx = nginx;
    // It is written when all sockets are open.
    await until('nginx listens', () => {
      if (nginx.exitCode !== null) throw new Error(`nginx: ${readFileSync(errors ?? '', 'utf8')}`);
      return existsSync(pid ?? '') && readFileSync(pid ?? '', 'utf8') !== '';
    });
  }

  /** Holds every answer until the function returned is called. */
  hold(): () => void {
    let release = () => {};
    this.#gate = new Promise<void>(resolve => (release = resolve));
    return () => {
      this.#gate = undefined;
      release();
    };
  }

  /** Resolves when a request from each of these machines is being answered. */
  async asked(...machines: SiteMachine[]): Promise<void> {
    const isOpen = ({ address }: SiteMachine) => [...this.open].some(({ from }) => from === address);
    await until('every machine has asked', () => machines.every(isOpen));
  }

  forget(): void {
    this.mostAtOnce = 0;
    this.askedMs.clear();
  }

  async stop(): Promise<void> {
    this.#app.closeAllConnections();
    this.#app.close();
    const nginx = this.#nginx;
    if (nginx === undefined || nginx.exitCode !== null || nginx.signalCode !== null) return;
    nginx.kill('SIGTERM');
    await once(nginx, 'exit');
  }

  async #turn(): Promise<void> {
    await this.#gate;
    if (this.latencyMs > 0) await pause(this.latencyMs);
  }

  #configuration(app: string): string {
    const dir = this.#dir;
    return `daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1;
pid ${dir}/nginx.pid;
error_log ${dir}/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path ${dir}/t1; proxy_temp_path ${dir}/t2; fastcgi_temp_path ${dir}/t3;
  uwsgi_temp_path ${dir}/t4; scgi_temp_path ${dir}/t5;
  keepalive_requests 100000;
  upstream app { server unix:${app}; keepalive 64; }
  server {
    listen ${this.#machine.address}:${this.#port};
    location / {
      proxy_pass http://app;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header X-Real-IP $remote_addr;
    }
  }
}
`;
  }
}
