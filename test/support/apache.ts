/** A real web site for tests: Apache's httpd over a directory, https and http, on ports of its own. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from './until.js';
import { freePort } from './free-port.js';

export interface ApacheSite {
  /** `https://localhost:PORT/` */
  url: string;
  /** `http://localhost:PORT/` */
  plainUrl: string;
  /** One line per request answered, which comes after the answer: waits for `atLeast` lines. `GET /path HTTP/2.0 200` */
  requests(atLeast: number): Promise<string[]>;
  forgetRequests(): void;
  /** Replaces its processes; connections are told to end when their requests are done. */
  restartGracefully(): void;
  stop(): Promise<void>;
}

/** Why there is no Apache here, or false: for `skip`. Under CI a missing peer is a failure, not a skip. */
export const noApache =
  spawnSync('apache2', ['-v']).error !== undefined && process.env['CI'] !== 'true' && 'no apache2';

const MODULES = ['mpm_event', 'authz_core', 'mime', 'alias', 'filter', 'deflate', 'brotli', 'ssl', 'http2'];

/**
 * Serves `docroot`, which must be readable for everybody; `stateDir` holds the configuration and logs.
 * @param directives more for its configuration
 */
export async function startApache(
  docroot: string,
  stateDir: string,
  certificate: { keyFile: string; certFile: string },
  directives: string,
): Promise<ApacheSite> {
  mkdirSync(stateDir, { recursive: true });
  const [port, plainPort] = [await freePort(), await freePort()];
  const [log, errors, pid] = ['access.log', 'error.log', 'pid'].map(name => join(stateDir, name)) as [
    string,
    string,
    string,
  ];
  const config = join(stateDir, 'httpd.conf');
  const modules = MODULES.map(name => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so\n`);
  writeFileSync(
    config,
    `ServerRoot ${stateDir}
ServerName localhost
PidFile ${pid}
DefaultRuntimeDir ${stateDir}
ErrorLog ${errors}
Listen 127.0.0.1:${port} https
Listen 127.0.0.1:${plainPort} http
${modules.join('')}${process.getuid?.() === 0 ? 'User www-data\nGroup www-data\n' : ''}TypesConfig /dev/null
AddType text/html .html
LogFormat "%r %>s" brief
CustomLog ${log} brief
DocumentRoot ${docroot}
<Directory ${docroot}>
  Require all granted
</Directory>
Protocols h2 h2c http/1.1
${directives}
<VirtualHost *:${port}>
  SSLEngine on
  SSLCertificateFile ${certificate.certFile}
  SSLCertificateKeyFile ${certificate.keyFile}
</VirtualHost>
`,
  );
  const apache = spawn('apache2', ['-f', config, '-DFOREGROUND'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  apache.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = once(apache, 'exit');
  // Written when all sockets are open.
  await until('apache2 listens', () => {
    if (apache.exitCode !== null) throw new Error(`apache2: ${said}`);
    return existsSync(pid);
  });
  let forgotten = 0;
  const lines = () => readFileSync(log, 'utf8').split('\n').slice(0, -1);
  return {
    url: `https://localhost:${port}/`,
    plainUrl: `http://localhost:${plainPort}/`,
    async requests(atLeast) {
      await until(`${atLeast} requests are logged`, () => lines().length >= forgotten + atLeast);
      return lines().slice(forgotten);
    },
    forgetRequests: () => void (forgotten = lines().length),
    restartGracefully: () => void apache.kill('SIGUSR1'),
    async stop() {
      apache.kill('SIGTERM');
      await ended;
    },
  };
}
