/** Rails for tests: Apache or nginx with WebDAV over a folder of its own, as an ordinary user, stopped and started at will. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { noApache } from './apache.js';
import { freePort } from './free-port.js';
import { noNginx } from './nginx.js';
import { until } from './until.js';

export type RailKind = 'apache' | 'nginx';

/** Why there is no such server here, or false: for `skip`. */
export const noRails = noApache || noNginx;

export interface TestRail {
  name: string;
  kind: RailKind;
  /** `http://127.0.0.1:PORT/` */
  url: string;
  docroot: string;
  /** Writes pages by their urls. */
  write(urls: readonly string[], content?: string): void;
  /** Urls of the pages that are there. */
  pages(): string[];
  /** `METHOD /url STATUS` of each request that was answered; waits for `atLeast`, which come after the answers. */
  requests(atLeast: number): Promise<string[]>;
  /** Starts it again after `stop`, at the same port. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** To its processes. */
  signal(name: NodeJS.Signals): void;
}

const MODULES = [
  'mpm_event',
  'authz_core',
  'authz_user',
  'auth_basic',
  'authn_core',
  'authn_file',
  'mime',
  'dav',
  'dav_fs',
];
const isRoot = process.getuid?.() === 0;

/**
 * @param dir for all that it has; made, and open for the user that the server runs as
 * @param directives more for its configuration: for nginx of its location, for Apache of its folder
 */
export async function startRail(kind: RailKind, dir: string, directives = ''): Promise<TestRail> {
  const name = dir.split('/').at(-1) ?? kind;
  const [docroot, log, config] = [join(dir, 'www'), join(dir, 'access.log'), join(dir, 'server.conf')];
  mkdirSync(docroot, { recursive: true });
  for (let path = docroot; path.length > '/tmp'.length; path = dirname(path))
    if (isOurs(path)) chmodSync(path, 0o777);
  const port = await freePort();
  writeFileSync(
    config,
    (kind === 'apache' ? apacheConfig : nginxConfig)(dir, docroot, port, log, directives),
  );
  let server: ChildProcess | undefined;
  const rail: TestRail = {
    name,
    kind,
    url: `http://127.0.0.1:${port}/`,
    docroot,
    write(urls, content = 'old') {
      for (const url of urls) {
        mkdirSync(dirname(docroot + url), { recursive: true });
        writeFileSync(docroot + url, content);
        if (isRoot)
          for (let path = dirname(docroot + url); path !== dirname(docroot); path = dirname(path))
            chmodSync(path, 0o777);
      }
    },
    pages: () =>
      readdirSync(docroot, { recursive: true, withFileTypes: true })
        .filter(entry => entry.isFile())
        .map(entry => join(entry.parentPath, entry.name).slice(docroot.length))
        .toSorted(),
    async requests(atLeast) {
      const lines = () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').slice(0, -1) : []);
      await until(`${atLeast} requests at ${name}`, () => lines().length >= atLeast);
      return lines();
    },
    async start() {
      const args =
        kind === 'apache'
          ? ['-f', config, '-DFOREGROUND']
          : ['-p', dir, '-c', config, '-e', join(dir, 'error.log')];
      rmSync(join(dir, 'pid'), { force: true });
      const started = spawn(kind === 'apache' ? 'apache2' : 'nginx', args, {
        stdio: 'ignore',
        detached: true,
      });
      server = started;
      await until(`${kind} listens`, () => {
        if (started.exitCode !== null)
          throw new Error(`${kind}: ${readFileSync(join(dir, 'error.log'), 'utf8')}`);
        return answers(port);
      });
    },
    async stop() {
      const ending = server;
      if (ending === undefined) return;
      server = undefined;
      const ended = once(ending, 'exit');
      process.kill(-(ending.pid ?? 0), 'SIGCONT');
      ending.kill('SIGTERM');
      await ended;
    },
    signal(signal) {
      // The whole group: the workers are those that answer.
      if (signal === 'SIGSTOP' || signal === 'SIGCONT') process.kill(-(server?.pid ?? 0), signal);
      else server?.kill(signal);
    },
  };
  await rail.start();
  return rail;
}

function isOurs(path: string): boolean {
  return path.includes('lcc-');
}

function apacheConfig(dir: string, docroot: string, port: number, log: string, directives: string): string {
  const modules = MODULES.map(name => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`);
  return `ServerRoot ${dir}
ServerName localhost
PidFile ${join(dir, 'pid')}
DefaultRuntimeDir ${dir}
ErrorLog ${join(dir, 'error.log')}
Listen 127.0.0.1:${port}
${modules.join('\n')}
${isRoot ? 'User www-data\nGroup www-data' : ''}
TypesConfig /dev/null
LogFormat "%m %U %>s" brief
CustomLog ${log} brief
MaxKeepAliveRequests 0
DocumentRoot ${docroot}
DavLockDB ${join(dir, 'davlock')}
<Directory ${docroot}>
  Dav On
  ${directives === '' ? 'Require all granted' : directives}
</Directory>
`;
}

function nginxConfig(dir: string, docroot: string, port: number, log: string, directives: string): string {
  return `daemon off;
${isRoot ? 'user root;' : ''}
worker_processes 1;
pid ${join(dir, 'pid')};
error_log ${join(dir, 'error.log')};
events { worker_connections 1024; }
http {
  log_format brief escape=none '$request_method $uri $status';
  access_log ${log} brief;
  client_body_temp_path ${dir}/t1; proxy_temp_path ${dir}/t2; fastcgi_temp_path ${dir}/t3;
  uwsgi_temp_path ${dir}/t4; scgi_temp_path ${dir}/t5;
  keepalive_requests 100000;
  client_max_body_size 16m;
  server {
    listen 127.0.0.1:${port};
    location / { root "${docroot}"; dav_methods PUT DELETE; create_full_put_path on; ${directives} }
  }
}
`;
}

function answers(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
