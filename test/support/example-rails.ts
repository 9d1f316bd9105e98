/** Real servers with the configurations of examples/clear, in which only paths, ports and the site differ. */
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { readProjectFile } from './tree.js';
import { until } from './until.js';

export interface ExampleServer {
  stop(): Promise<void>;
}

/** What stands in the file of the example, and what stands there instead. */
export type Replacements = readonly (readonly [from: string, to: string])[];

/** Why one of the servers is missing here, or false: for `skip`. Under CI a missing peer is a failure, not a skip. */
export const noExampleServers =
  process.env['CI'] !== 'true' &&
  (['apache2', 'nginx', 'varnishd', 'htpasswd'].find(
    name => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0,
  ) ??
    false);

const isRoot = process.getuid?.() === 0;

/** @throws AssertionError when the file has not the text that will be replaced */
export function withReplaced(path: string, replacements: Replacements): string {
  return replacements.reduce((text, [from, to]) => {
    assert.ok(text.includes(from), `${path} has ${from}`);
    return text.replaceAll(from, to);
  }, readProjectFile(path));
}

/** Apache as Debian sets it up, with the modules that `a2enmod` is given in the README. */
export async function startApacheExample(
  dir: string,
  port: number,
  site: string,
  enabled: readonly string[],
): Promise<ExampleServer> {
  const modules = ['mpm_event', 'authz_core', 'authn_core', 'mime', 'dir', ...enabled];
  const loaded = modules.map(name => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so\n`);
  writeFileSync(join(dir, 'site.conf'), site);
  writeFileSync(
    join(dir, 'apache2.conf'),
    `ServerRoot ${dir}
ServerName localhost
PidFile ${join(dir, 'pid')}
DefaultRuntimeDir ${dir}
ErrorLog ${join(dir, 'error.log')}
Listen 127.0.0.1:${port}
${loaded.join('')}${isRoot ? 'User www-data\nGroup www-data\n' : ''}TypesConfig /etc/mime.types
DAVLockDB ${join(dir, 'lock', 'DAVLock')}
IncludeOptional ${join(dir, 'site.conf')}
`,
  );
  return start('apache2', ['-f', join(dir, 'apache2.conf'), '-DFOREGROUND'], port, () =>
    logOf(join(dir, 'error.log')),
  );
}

export async function startNginxExample(dir: string, port: number, site: string): Promise<ExampleServer> {
  writeFileSync(join(dir, 'site.conf'), site);
  writeFileSync(
    join(dir, 'nginx.conf'),
    `daemon off;
${isRoot ? 'user www-data;' : ''}
pid ${dir}/pid;
error_log ${dir}/error.log;
events {}
http {
  include /etc/nginx/mime.types;
  access_log off;
  proxy_temp_path ${dir}/t1; fastcgi_temp_path ${dir}/t2; uwsgi_temp_path ${dir}/t3; scgi_temp_path ${dir}/t4;
  include ${dir}/site.conf;
}
`,
  );
  const log = join(dir, 'error.log');
  return start('nginx', ['-p', dir, '-c', join(dir, 'nginx.conf'), '-e', log], port, () => logOf(log));
}

export async function startVarnishExample(dir: string, port: number, vcl: string): Promise<ExampleServer> {
  writeFileSync(join(dir, 'lcc.vcl'), vcl);
  const state = join(dir, 'state');
  mkdirSync(state);
  const args = ['-F', '-a', `127.0.0.1:${port}`, '-f', join(dir, 'lcc.vcl'), '-s', 'default,32m'];
  return start('varnishd', [...args, '-n', state, '-p', 'thread_pool_min=10'], port, () => '');
}

async function start(
  name: string,
  args: readonly string[],
  port: number,
  log: () => string,
): Promise<ExampleServer> {
  const server = spawn(name, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [server.stdout, server.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  const failed = once(server, 'error').then(([error]) => (said += String(error)));
  failed.catch(() => undefined);
  await until(`${name} listens on port ${port}`, () => {
    if (hasEnded(server)) throw new Error(`${name}: ${said}${log()}`);
    return answers(port);
  });
  return {
    async stop() {
      if (hasEnded(server)) return;
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
    },
  };
}

function hasEnded({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined;
}

function logOf(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
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
