/**
 * What HTTP/2 costs: the robot at one https site with many connections, spoken HTTP/1.1 and HTTP/2 with. Processor time of
 * the robot a page, which other work on the machine hardly changes.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { startSite } from '../test/support/nginx.js';
import { compare, removeAtEnd, requireProgram, type Contender, type Outcome } from './harness.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const PAGES = 5000;
const PAGE_BYTES = 4096;
const AT_A_TIME = 64;
const ROUNDS = 3;
/** Measured when Node's own HTTP/2 was chosen: 1.6 (docs/design/fetching.md). */
const MAX_CPU_RATIO = 2;

export async function bench(): Promise<Outcome[]> {
  requireProgram('nginx', 'nginx-light');
  requireProgram('openssl', 'openssl');
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-http2-'));
  const [www, key, cert] = ['www', 'key.pem', 'cert.pem'].map(name => join(dir, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(www);
  for (let n = 0; n < PAGES; n++)
    writeFileSync(join(www, `${n}.html`), `${n} `.repeat(PAGE_BYTES).slice(0, PAGE_BYTES));
  const request = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost`;
  const made = `${request} -addext subjectAltName=DNS:localhost -keyout ${key} -out ${cert}`;
  if (spawnSync('openssl', made.split(' ')).status !== 0) throw new Error('openssl makes no certificate');
  const site = await startSite(www, join(dir, 'nginx'), {
    server: `ssl_certificate ${cert}; ssl_certificate_key ${key};`,
    listen: 'ssl http2',
  });
  const cpuSeconds = new Map<string, number[]>();
  let outputs = 0;
  const robot = (name: string, http2: boolean): Contender => ({
    name,
    async run() {
      const output = join(dir, `out-${++outputs}`);
      mkdirSync(output);
      const config = join(dir, `${http2}.toml`);
      writeFileSync(config, `[bot]\nhttp2 = ${http2}\nmax_connections_per_host = ${AT_A_TIME}\n`);
      const base = site.url.replace('127.0.0.1', 'localhost');
      const input = Array.from(
        { length: PAGES },
        (_, n) => `<fetch id="${n}" url="${base}${n}.html" file="${output}/${n}"/>\n`,
      ).join('');
      const before = childSeconds();
      const begunMs = performance.now();
      const child = spawn(
        join(root, 'bin/lccbot'),
        [
          '--stdio',
          `--slots=${AT_A_TIME}`,
          '--allow-address=127.0.0.1',
          '--allow-address=::1',
          `--config=${config}`,
        ],
        {
          env: { ...process.env, LCC_HOME: join(dir, 'home'), NODE_EXTRA_CA_CERTS: cert },
          stdio: ['pipe', 'pipe', 'inherit'],
        },
      );
      let said = '';
      child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
      child.stdin.end(input);
      await once(child, 'close');
      const seconds = (performance.now() - begunMs) / 1000;
      const stored = said.split('status="ok"').length - 1;
      if (stored !== PAGES) throw new Error(`${name}: ${stored} pages instead of ${PAGES}`);
      cpuSeconds.set(name, [...(cpuSeconds.get(name) ?? []), childSeconds() - before]);
      return { seconds };
    },
  });
  try {
    const [ours, other] = [robot('lccbot, HTTP/2', true), robot('lccbot, HTTP/1.1', false)];
    const outcome = await compare({
      work: `robot: ${PAGES} pages of 4 KiB over TLS, HTTP/2 against HTTP/1.1`,
      amount: PAGES,
      unit: 'pages',
      ours,
      peers: [{ contender: other }],
      rounds: ROUNDS,
    });
    const perPage = (name: string) => {
      const sorted = (cpuSeconds.get(name) ?? []).toSorted((a, b) => a - b);
      return ((sorted[Math.floor(sorted.length / 2)] ?? NaN) / PAGES) * 1e6;
    };
    const [two, one] = [perPage(ours.name), perPage(other.name)];
    outcome.bounds.push({
      what: `processor time of the robot a page, ${two.toFixed(0)} µs with HTTP/2, ${one.toFixed(0)} µs without: ratio`,
      value: two / one,
      atMost: MAX_CPU_RATIO,
      unit: '×',
    });
    return [outcome];
  } finally {
    await site.stop();
    removeAtEnd(dir);
  }
}

/** Processor time of children of this process that have ended (proc(5), fields 16 and 17 of stat). */
function childSeconds(): number {
  const [, fields = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(13);
  return (Number(user) + Number(system)) / 100;
}
