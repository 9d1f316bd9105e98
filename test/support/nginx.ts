/** A real web site for tests: nginx from Debian over a directory, as an ordinary user, on a port of its own. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { until } from './until.js';

export interface Site {
  /** `http://127.0.0.1:PORT/`, or https. */
  url: string;
  port: number;
  /** One line per request answered: `GET /path HTTP/1.1 200`. */
  requests(): Promise<string[]>;
  forgetRequests(): Promise<void>;
  stop(): Promise<void>;
}

/** Why there is no nginx here, or false: for `skip`. Under CI a missing peer is a failure, not a skip. */
export const noNginx =
  spawnSync('nginx', ['-v']).error !== undefined && process.env['CI'] !== 'true' && 'no nginx';

/** More for nginx.conf, by where it stands; `listen`: parameters of the directive, with `ssl` the site is https. */
export interface SiteExtras {
  location?: string;
  server?: string;
  http?: string;
  listen?: string;
}

export interface DocsSite extends Site {
  docroot: string;
}

/** Serves a directory of its own, empty at first, that goes away when the site is stopped. @param location more for its location */
export async function startDocs(location = ''): Promise<DocsSite> {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-site-'));
  const docroot = join(dir, 'docs');
  mkdirSync(docroot);
  const site = await startSite(docroot, join(dir, 'nginx'), location);
  const stop = async () => {
    await site.stop();
    rmSync(dir, { recursive: true, force: true });
  };
  return { ...site, docroot, stop };
}

/** Serves `docroot`; `stateDir` holds the configuration, logs and temporary files. */
export async function startSite(
  docroot: string,
  stateDir: string,
  extra: string | SiteExtras = '',
): Promise<Site> {
  const extras = typeof extra === 'string' ? { location: extra } : extra;
  mkdirSync(stateDir, { recursive: true });
  const port = await freePort();
  const log = join(stateDir, 'access.log');
  writeFileSync(join(stateDir, 'nginx.conf'), configuration(docroot, stateDir, port, log, extras));
  const nginx = spawn(
    'nginx',
    ['-p', stateDir, '-c', join(stateDir, 'nginx.conf'), '-e', join(stateDir, 'error.log')],
    {
      stdio: 'ignore',
    },
  );
  await untilListening(port, nginx, stateDir);
  let forgotten = 0;
  /** A request is logged when it has been answered, before the one worker answers the next. */
  const lines = async () => {
    await ask(markerIn(stateDir));
    return readFileSync(log, 'utf8').split('\n').slice(0, -1);
  };
  return {
    url: `${extras.listen?.includes('ssl') === true ? 'https' : 'http'}://127.0.0.1:${port}/`,
    port,
    requests: async () => (await lines()).slice(forgotten),
    forgetRequests: async () => void (forgotten = (await lines()).length),
    async stop() {
      nginx.kill('SIGTERM');
      await once(nginx, 'exit');
    },
  };
}

function configuration(
  docroot: string,
  stateDir: string,
  port: number,
  log: string,
  { location = '', server = '', http = '', listen = '' }: SiteExtras,
): string {
  return `daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1;
pid ${stateDir}/nginx.pid;
error_log ${stateDir}/error.log;
events { worker_connections 1024; }
http {
  include /etc/nginx/mime.types;
  default_type application/octet-stream;
  log_format brief escape=none '$request $status';
  access_log ${log} brief;
  client_body_temp_path ${stateDir}/t1; proxy_temp_path ${stateDir}/t2; fastcgi_temp_path ${stateDir}/t3;
  uwsgi_temp_path ${stateDir}/t4; scgi_temp_path ${stateDir}/t5;
  keepalive_requests 100000;
  sendfile on;
  ${http}
  server {
    listen 127.0.0.1:${port} ${listen} backlog=4096;
    ${server}
    location / { root "${docroot}"; ${location} }
  }
  server {
    listen unix:${markerIn(stateDir)};
    access_log off;
    return 204;
  }
}
`;
}

/** Where it answers what is not logged. */
function markerIn(stateDir: string): string {
  return join(stateDir, 'marker.sock');
}

async function ask(socketPath: string): Promise<void> {
  const [answer] = (await once(request({ socketPath, agent: false }).end(), 'response')) as [IncomingMessage];
  await once(answer.resume(), 'end');
}

async function untilListening(port: number, nginx: ChildProcess, stateDir: string): Promise<void> {
  await until(`nginx listens on port ${port}`, () => {
    if (nginx.exitCode !== null)
      throw new Error(`nginx: ${readFileSync(join(stateDir, 'error.log'), 'utf8')}`);
    return new Promise<boolean>(resolve => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });
  });
}
