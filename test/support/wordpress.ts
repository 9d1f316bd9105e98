/** A real WordPress for tests: Debian's, with PHP's own web server and a MariaDB of its own, below one folder that goes away. */
import { execFile, execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-port.js';
import { until, watchLog } from './until.js';

const SOURCE = '/usr/share/wordpress';
const isThere =
  existsSync(SOURCE) && ['php', 'mariadbd'].every(name => spawnSync(name, ['--version']).error === undefined);

/** Why there is no WordPress here, or false: for `skip`. Under CI a missing peer is a failure, not a skip. */
export const noWordPress = !isThere && process.env['CI'] !== 'true' && 'no wordpress, php or mariadb';

const [USER, PASSWORD] = ['admin', 'a password of this test'];
const run = promisify(execFile);

export class WordPress {
  readonly dir = mkdtempSync(join(tmpdir(), 'lcc-wordpress-'));
  readonly port: number;
  readonly #docroot = join(this.dir, 'docs');
  readonly #log = join(this.dir, 'log');
  readonly #processes: ChildProcess[] = [];

  private constructor(port: number) {
    this.port = port;
  }

  /** Installed, with one post, and answering. */
  static async start(): Promise<WordPress> {
    const site = new WordPress(await freePort());
    site.#configure();
    await site.#startDatabase();
    await site.#php(
      `define('WP_INSTALLING', true); require 'wp-load.php'; require ABSPATH . 'wp-admin/includes/upgrade.php';
       wp_install('Feeds & hubs', '${USER}', 'admin@example.org', true, '', '${PASSWORD}');`,
    );
    site.#spawn('php', ['-S', `127.0.0.1:${site.port}`, '-t', site.#docroot], {
      PHP_CLI_SERVER_WORKERS: '4',
    });
    await until('WordPress answers', () => site.get('').catch(() => undefined));
    return site;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/`;
  }

  get feed(): string {
    return `${this.url}?feed=rss2`;
  }

  async get(path: string): Promise<string> {
    const answer = await fetch(this.url + path);
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return answer.text();
  }

  /** Update Services of Settings, Writing. */
  async pings(services: string): Promise<void> {
    await this.#php(`require 'wp-load.php'; update_option('ping_sites', '${services}');`);
  }

  /** As an editor of theirs does, by XML-RPC. @returns its number */
  async publish(title: string, text: string): Promise<number> {
    const content = { post_title: title, post_content: text, post_status: 'publish' };
    const answer = await this.#call('wp.newPost', ['1', USER, PASSWORD], content);
    return Number(/<string>(\d+)<\/string>/.exec(answer)?.[1]);
  }

  async edit(id: number, text: string): Promise<void> {
    await this.#call('wp.editPost', ['1', USER, PASSWORD, String(id)], { post_content: text });
  }

  async trash(id: number): Promise<void> {
    await this.#call('wp.deletePost', ['1', USER, PASSWORD, String(id)]);
  }

  async stop(): Promise<void> {
    for (const process of this.#processes.reverse()) {
      process.kill('SIGTERM');
      if (process.exitCode === null && process.signalCode === null) await once(process, 'exit');
    }
    rmSync(this.dir, { recursive: true, force: true });
  }

  #configure(): void {
    // Its files find each other, and their configuration, by where they lie.
    cpSync(SOURCE, this.#docroot, { recursive: true, dereference: true });
    const settings = {
      DB_NAME: 'wordpress',
      DB_USER: 'root',
      DB_PASSWORD: '',
      DB_HOST: `localhost:${this.#socket}`,
      DB_CHARSET: 'utf8mb4',
      DB_COLLATE: '',
      WP_HOME: this.url.slice(0, -1),
      WP_SITEURL: this.url.slice(0, -1),
      ABSPATH: `${this.#docroot}/`,
      WP_CONTENT_DIR: '/var/lib/wordpress/wp-content',
    };
    const lines = Object.entries(settings).map(([name, value]) => `define('${name}', '${value}');`);
    writeFileSync(
      join(this.#docroot, 'wp-config.php'),
      `<?php\n${lines.join('\n')}\n$table_prefix = 'wp_';\nrequire_once ABSPATH . 'wp-settings.php';\n`,
    );
    writeFileSync(this.#log, '');
    watchLog(() => readFileSync(this.#log, 'utf8'));
  }

  get #socket(): string {
    return join(this.dir, 'sql.sock');
  }

  async #startDatabase(): Promise<void> {
    const data = join(this.dir, 'data');
    mkdirSync(data);
    const owner = process.getuid?.() === 0 ? ['--user=root'] : [];
    const options = [...owner, `--datadir=${data}`, `--socket=${this.#socket}`, '--skip-networking'];
    const small = [
      '--innodb-buffer-pool-size=16M',
      '--innodb-log-file-size=4M',
      '--innodb-flush-log-at-trx-commit=0',
    ];
    await run('mariadb-install-db', [
      '--no-defaults',
      ...owner,
      `--datadir=${data}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
    ]);
    this.#spawn('mariadbd', ['--no-defaults', ...options, ...small, '--skip-grant-tables']);
    await until('MariaDB answers', () => {
      try {
        execFileSync(
          'mariadb',
          ['--no-defaults', `--socket=${this.#socket}`, '-e', 'CREATE DATABASE wordpress'],
          {
            stdio: 'pipe',
          },
        );
        return true;
      } catch {
        return false;
      }
    });
  }

  #spawn(name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): void {
    const log = openSync(this.#log, 'a');
    this.#processes.push(spawn(name, args, { stdio: ['ignore', log, log], env: { ...process.env, ...env } }));
  }

  async #php(code: string): Promise<void> {
    const about = `$_SERVER['HTTP_HOST'] = '127.0.0.1:${this.port}'; $_SERVER['REQUEST_URI'] = '/'; $_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';`;
    await run('php', ['-r', `${about} ${code}`], { cwd: this.#docroot });
  }

  async #call(method: string, words: readonly string[], content?: Record<string, string>): Promise<string> {
    const params = words.map(word => `<param><value><string>${word}</string></value></param>`);
    const members = Object.entries(content ?? {}).map(
      ([name, value]) => `<member><name>${name}</name><value><string>${value}</string></value></member>`,
    );
    if (content !== undefined)
      params.push(`<param><value><struct>${members.join('')}</struct></value></param>`);
    const body = `<?xml version="1.0"?><methodCall><methodName>${method}</methodName><params>${params.join('')}</params></methodCall>`;
    const answer = await fetch(`${this.url}xmlrpc.php`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'text/xml' },
    });
    const text = await answer.text();
    if (!answer.ok || text.includes('<fault>')) throw new Error(`${method}: ${answer.status} ${text}`);
    return text;
  }
}
