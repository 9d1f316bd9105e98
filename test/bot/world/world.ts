/**
 * A world of its own for a robot: run in a network namespace (and a mount namespace, for resolv.conf), where any address
 * may belong to a listener. `SITES` are public and serve pages; whatever listens at `FORBIDDEN` counts who connects.
 * Reads `{ urls, args }` from standard input and writes what came of it.
 */
import { execFileSync, spawn } from 'node:child_process';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { serveNames, type Zone } from './dns.js';

export const SITES = ['1.2.3.4', '2001:470::1'];
/** All on this machine's own interface: a robot that tries will reach them. */
export const FORBIDDEN = [
  '127.0.0.1',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '169.254.169.254',
  '100.64.0.1',
  '198.18.0.1',
  '192.0.2.1',
  '::1',
  'fd00::1',
  '64:ff9b::a00:1',
  '64:ff9b:1::a00:1',
  '2002:a00:1::1',
  '2001:db8::1',
  '2001:0:102:304::f5ff:fffe',
  'fec0::1',
];

export interface Result {
  /** `ok`, or the code. */
  verdict: string | number;
  content?: string;
  message: string;
}

export interface Report {
  results: Result[];
  /** Addresses of `FORBIDDEN` that were connected to. */
  touched: string[];
}

const hundred = (address: (n: number) => string) => Array.from({ length: 100 }, (_, n) => address(n));

const NAMES: Record<string, ReturnType<Zone>> = {
  'site.test': ['1.2.3.4'],
  'other.test': ['1.2.3.4'],
  'xn--bcher-kva.test': ['1.2.3.4'],
  'six.test': ['2001:470::1'],
  'both.test': ['2001:470::1', '1.2.3.4'],
  'loopback.test': ['127.0.0.1'],
  'private.test': ['10.0.0.1'],
  'metadata.test': ['169.254.169.254'],
  'alias.test': ['cname:loopback.test', '127.0.0.1', '::1'],
  'mapped.test': ['::ffff:a00:1'],
  'nat64.test': ['64:ff9b::a00:1'],
  'sixtofour.test': ['2002:a00:1::1'],
  'local.test': ['fd00::1', 'fe80::1'],
  'mixed.test': ['10.0.0.1', '::1', '127.0.0.1', '1.2.3.4'],
  'hundred-private.test': hundred(n => `10.0.0.${n + 1}`),
  'hundred-and-one.test': [...hundred(n => `10.0.0.${n + 1}`), '1.2.3.4'],
  'hundred-dead.test': hundred(n => `5.6.7.${n + 1}`),
  'hundred-holes.test': hundred(n => `9.8.7.${n + 1}`),
  'failing.test': 'servfail',
  'silent.test': 'silence',
};

/** `turns.test` is the site whenever it is asked for the first time, and something else from then on. */
const zone: Zone = (name, nth) =>
  name === 'turns.test' ? [nth === 1 ? '1.2.3.4' : '127.0.0.1'] : (NAMES[name] ?? 'nxdomain');

async function main(): Promise<void> {
  const { urls, args } = (await json(process.stdin)) as { urls: string[]; args: string[] };
  for (const address of [...SITES, ...FORBIDDEN]) {
    if (address === '127.0.0.1' || address === '::1') continue;
    const width = address.includes(':') ? 128 : 32;
    execFileSync('ip', ['addr', 'add', `${address}/${width}`, 'dev', 'lo']);
  }
  // The kernel looks for duplicates later, in a queue of its own; nobody can listen on an address before.
  while (execFileSync('ip', ['-6', 'addr', 'show', 'tentative']).length > 0) await turn();
  // What is sent there arrives nowhere, and nobody says so.
  for (const command of [
    'link add hole type veth peer name bottom',
    'link set hole arp off up',
    'link set bottom up',
    'addr add 9.8.0.1/16 dev hole',
  ])
    execFileSync('ip', command.split(' '));
  await serveNames(zone);
  for (const [host, port] of [...SITES.map(site => [site, 80] as const), ['1.2.3.4', 8080] as const]) {
    const server = createHttpServer((request, response) => {
      const target = /^\/to\/(.*)$/.exec(request.url ?? '')?.[1];
      if (target !== undefined) response.setHeader('location', decodeURIComponent(target));
      response.writeHead(target === undefined ? 200 : 302, { connection: 'close' });
      response.end(`${request.headers.host} on ${port}: ${request.url}`);
    });
    await new Promise<void>(resolve => void server.listen(port, host, resolve));
  }
  const touched = new Set<string>();
  for (const address of FORBIDDEN) {
    const canary = createServer(socket => {
      touched.add(address);
      socket.on('error', () => undefined);
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret');
    });
    await new Promise<void>(resolve => void canary.listen(80, address, resolve));
  }
  const results = await fetchAll(urls, args);
  const report: Report = { results, touched: [...touched] };
  process.stdout.write(JSON.stringify(report), () => process.exit(0));
}

async function fetchAll(urls: string[], args: string[]): Promise<Result[]> {
  const home = mkdtempSync(join(tmpdir(), 'lcc-world-'));
  const bin = fileURLToPath(new URL('../../../../bin/lccbot', import.meta.url));
  const bot = spawn(bin, ['--stdio', ...args], {
    env: { ...process.env, LCC_HOME: home },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // What a name resolves to may change between two of them.
  const laneOf = (url: string) => (url.includes('turns') ? ' lane="turns"' : '');
  const escape = (url: string) => url.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  bot.stdin.end(
    urls
      .map((url, id) => `<fetch id="${id}"${laneOf(url)} url="${escape(url)}" file="${home}/${id}"/>\n`)
      .join(''),
  );
  const lines = (await text(bot.stdout)).split('\n');
  const results = urls.map((_url, id): Result => {
    const mine = lines.filter(line => line.startsWith(`<fetched id="${id}" `));
    const code = / code="(\d+)"/.exec(mine[0] ?? '')?.[1];
    const verdict = mine.length !== 1 ? `${mine.length} results` : code === undefined ? 'ok' : Number(code);
    const message = mine.join('\n');
    return verdict === 'ok'
      ? { verdict, message, content: readFileSync(join(home, String(id)), 'utf8') }
      : { verdict, message };
  });
  const left = readdirSync(home).filter(name => name.endsWith('.tmp'));
  rmSync(home, { recursive: true });
  if (left.length > 0) throw new Error(`left behind: ${left.join(' ')}`);
  return results;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
