/**
 * A list of urls through URL server, spider and store server, all real, against the engine alone and curl, which keep nothing
 * and write files; and the time from the end of a page to its DONE.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openFilesLimit } from '../../src/lib/open-files.js';
import { formatUrl, SpiderLineReader } from '../../src/wire/spider-lines.js';
import { compare, median, peakRssBytes, removeAtEnd, requireProgram, timeShell } from '../harness.js';
import type { Contender, Outcome, Sample } from '../harness.js';
import { startNginx } from '../nginx.js';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../../..');
const PAGES = 10_000;
const PAGE_BYTES = 4096;
const AT_A_TIME = 64;
const SITE_PORT = 28_481;
const LATENCY_PAGES = 2000;
const LATENCY_AT_A_TIME = 16;
/** As many as may have their files open: the site is in this process. */
const AT_ONCE = Math.min(10_000, openFilesLimit() - 1000);

export async function benchLine(): Promise<Outcome[]> {
  requireProgram('nginx', 'nginx-light');
  requireProgram('curl', 'curl');
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-spider-'));
  const nginx = await startSite(dir);
  try {
    const list = join(dir, 'urls');
    const urls = Array.from({ length: PAGES }, (_, i) => `http://127.0.0.1:${SITE_PORT}/${i}.html`);
    writeFileSync(list, `${urls.join('\n')}\n`);
    const outcome = await compare({
      work: `spider: ${PAGES} pages of 4 KiB through URL server, spider and store server, each on disk before its DONE`,
      amount: PAGES,
      unit: 'pages',
      ours: theSpider(dir, list),
      peers: [
        { contender: engineAlone(list), atLeast: 0.6 },
        { contender: curl(dir, urls, 'closing'), atLeast: 0.6 },
        { contender: curl(dir, urls, 'keeping') },
      ],
      rounds: 3,
    });
    const soon = await play(dir, { pages: LATENCY_PAGES, atATime: LATENCY_AT_A_TIME, isTogether: false });
    const together = await play(dir, { pages: AT_ONCE, atATime: AT_ONCE, isTogether: true });
    outcome.bounds.push(
      { what: 'the end of a page to its DONE, median', value: soon.latencyMs, atMost: 25, unit: 'ms' },
      {
        what: `descriptors left of ${AT_ONCE} transactions at once, beside two connections`,
        value: together.leftOpen,
        atMost: 2,
        unit: 'files',
      },
    );
    outcome.notes = [
      `memory of lccspider with ${AT_ONCE} transactions at once: ${Math.round(together.peakRssBytes / 1024 / 1024)} MB`,
    ];
    return [outcome];
  } finally {
    nginx.kill();
    removeAtEnd(dir);
  }
}

let homes = 0;

/** Daemons of one round, on a home of their own. */
class Round {
  readonly home: string;
  readonly all: [name: string, child: ChildProcess][] = [];

  constructor(dir: string) {
    this.home = join(dir, `home${++homes}`);
    mkdirSync(this.home);
    const settings = `allow_private = true\nper_host = ${AT_A_TIME}\n`;
    writeFileSync(join(this.home, 'lcc.toml'), `[spider]\n${settings}`);
  }

  /** Resolves with where it listens, if it does, once it has logged `event`. */
  async start(name: string, args: readonly string[], event = 'ready', stdin: 'ignore' | 'pipe' = 'ignore') {
    const child = spawn(process.execPath, [join(root, 'bin', name), ...args], {
      env: { ...process.env, LCC_HOME: this.home, LCC_CONFIG: '' },
      stdio: [stdin, 'ignore', 'pipe'],
    });
    this.all.push([name, child]);
    let log = '';
    await new Promise<void>((resolve, reject) => {
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        log += text;
        if (log.includes(`"event":"${event}"`)) resolve();
      });
      child.once('exit', () => reject(new Error(`${name} has ended:\n${log}`)));
    });
    return { child, port: Number(/"endpoint":"127\.0\.0\.1:(\d+)"/.exec(log)?.[1]) };
  }

  peaks(): Record<string, number> {
    return Object.fromEntries(
      this.all.flatMap(([name, { pid, exitCode }]) =>
        pid === undefined || exitCode !== null ? [] : [[name, peakOf(pid)]],
      ),
    );
  }

  async end(): Promise<void> {
    for (const [, child] of this.all) {
      child.removeAllListeners('exit');
      if (child.exitCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    }
  }
}

/** 0 of one that has just ended. */
function peakOf(pid: number): number {
  try {
    // One that has ended and was not waited for has no such line.
    return peakRssBytes(pid) || 0;
  } catch {
    return 0;
  }
}

function theSpider(dir: string, list: string): Contender {
  return {
    name: 'lccurld, lccspider and lccstored',
    async run(): Promise<Sample> {
      const round = new Round(dir);
      const store = await round.start('lccstored', ['--listen=127.0.0.1:0', `--dir=${round.home}/documents`]);
      const urls = await round.start('lccurld', ['--listen=127.0.0.1:0', '-'], 'ready', 'pipe');
      const servers = [`--urlserver=127.0.0.1:${urls.port}`, `--store=127.0.0.1:${store.port}`];
      await round.start('lccspider', [...servers, '-c', String(AT_A_TIME)]);
      const ended = once(urls.child, 'exit');
      const startMs = performance.now();
      if (urls.child.stdin !== null) createReadStream(list).pipe(urls.child.stdin);
      const peaks = setInterval(() => keepLargest(rssBytesOf, round.peaks()), 200);
      const rssBytesOf: Record<string, number> = {};
      const [status] = (await ended) as [number];
      const seconds = (performance.now() - startMs) / 1000;
      clearInterval(peaks);
      await round.end();
      if (status !== 0) throw new Error(`lccurld ends with ${status}`);
      return { seconds, maxRssBytes: Math.max(...Object.values(rssBytesOf)), rssBytesOf };
    },
  };
}

function keepLargest(kept: Record<string, number>, now: Record<string, number>): void {
  for (const [name, bytes] of Object.entries(now)) kept[name] = Math.max(kept[name] ?? 0, bytes);
}

function engineAlone(list: string): Contender {
  const script = join(here, '../peers/engine-alone.js');
  return {
    name: 'the engine alone',
    run: () => timeShell(`${process.execPath} ${script} ${list} ${AT_A_TIME}`),
  };
}

/** A spider has a connection for each url (spider.md, 3): so does the curl that it is measured with. */
function curl(dir: string, urls: readonly string[], connections: 'closing' | 'keeping'): Contender {
  const config = join(dir, `curl-${connections}.config`);
  const header = connections === 'closing' ? `-H 'Connection: close' ` : '';
  let outputs = 0;
  return {
    name: `curl -Z, into files${connections === 'closing' ? ', a connection for each' : ''}`,
    prepare() {
      const output = join(dir, `curl-${connections}${++outputs}`);
      mkdirSync(output);
      const lines = urls.map((url, i) => `url=${url}\noutput=${join(output, String(i))}\n`);
      writeFileSync(config, lines.join(''));
    },
    run: () => timeShell(`curl -s -Z ${header}--parallel-max ${AT_A_TIME} -K ${config}`),
  };
}

interface Played {
  /** Median from the last byte of a page, as its server sees it, to the DONE. */
  latencyMs: number;
  peakRssBytes: number;
  /** Descriptors that the spider has after the last DONE and had not before the first url. */
  leftOpen: number;
}

/** Has a spider fetch pages of a site that the bench plays. @param isTogether no page is answered before all are asked for */
async function play(
  dir: string,
  { pages, atATime, isTogether }: { pages: number; atATime: number; isTogether: boolean },
): Promise<Played> {
  const sentMs = new Map<string, number>();
  const latenciesMs: number[] = [];
  const held: (() => void)[] = [];
  const site = createHttpServer((request, response) => {
    const name = request.url?.slice(1) ?? '';
    const send = () =>
      response.end(Buffer.alloc(PAGE_BYTES, name), () => sentMs.set(name, performance.now()));
    if (!isTogether) return void send();
    if (held.push(send) === pages) for (const each of held) each();
  });
  site.listen({ port: 0, host: '127.0.0.1', backlog: atATime });
  await once(site, 'listening');
  const base = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
  let over: () => void = () => undefined;
  const isOver = new Promise<void>(resolve => (over = resolve));
  let began: () => void = () => undefined;
  const mayBegin = new Promise<void>(resolve => (began = resolve));
  const urlServer = createServer(socket => {
    let sent = 0;
    answer(socket, {
      get(count) {
        void mayBegin.then(() => {
          for (let n = 0; n < count && sent < pages; n++) {
            const [transId, docId] = [String(sent), ++sent];
            socket.write(
              formatUrl({ transId, docId, hostIp: '127.0.0.1', hostName: '127.0.0.1', url: base + transId }),
            );
          }
        });
      },
      done(transId) {
        latenciesMs.push(performance.now() - (sentMs.get(transId) ?? NaN));
        if (latenciesMs.length === pages) over();
      },
    });
  }).listen(0, '127.0.0.1');
  await once(urlServer, 'listening');
  const round = new Round(dir);
  const store = await round.start('lccstored', ['--listen=127.0.0.1:0', `--dir=${round.home}/documents`]);
  const { child } = await round.start('lccspider', [
    `--urlserver=127.0.0.1:${(urlServer.address() as AddressInfo).port}`,
    `--store=127.0.0.1:${store.port}`,
    '-c',
    String(atATime),
  ]);
  const descriptors = () => readdirSync(`/proc/${child.pid}/fd`).length;
  const before = descriptors();
  began();
  await isOver;
  const played = {
    latencyMs: median(latenciesMs),
    peakRssBytes: peakRssBytes(child.pid ?? 0),
    leftOpen: descriptors() - before,
  };
  await round.end();
  site.close();
  urlServer.close();
  return played;
}

function answer(
  socket: Socket,
  { get, done }: { get: (count: number) => void; done: (transId: string) => void },
): void {
  const lines = new SpiderLineReader();
  socket.on('error', () => undefined);
  socket.on('data', bytes => {
    for (const line of lines.read(bytes)) {
      if (line.kind === 'get') get(line.count);
      else if (line.kind === 'done') done(line.transId);
    }
  });
}

function startSite(dir: string): Promise<ChildProcess> {
  const www = join(dir, 'www');
  mkdirSync(www);
  for (let i = 0; i < PAGES; i++)
    writeFileSync(join(www, `${i}.html`), `${i} `.repeat(2000).slice(0, PAGE_BYTES));
  const server = `server { listen 127.0.0.1:${SITE_PORT} backlog=1024; root ${www}; }`;
  return startNginx(dir, server, SITE_PORT);
}
