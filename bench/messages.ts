/**
 * Messages alone: a source sends requests, the real lccd-bm gives them to a robot that answers at once without fetching,
 * and sends the results back. Three processes over Unix sockets; requests of 64 lanes, 80 on their way at a time.
 *
 * What is bounded is the CPU time of all three processes per url: the rate depends on how many cores they share.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FairShare } from '../src/lib/fair-share.js';
import { systemClock } from '../src/lib/clock.js';
import { ManagerPeer } from '../src/wire/bm-bot.js';
import type { ChannelLimits } from '../src/wire/messages.js';
import { BotManagerPeer } from '../src/wire/qm-bm.js';
import { compare, peakRssBytes, type Contender, type Outcome } from './harness.js';

const URLS = 100_000;
const LANES = 64;
const WINDOW = 80;
const ROUNDS = 3;
const MAX_CPU_MICROSECONDS_PER_URL = 30;
const TICKS_PER_SECOND = 100;

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const LIMITS: ChannelLimits = {
  xml: { maxTokenBytes: 65_536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 },
  maxHelloBytes: 128 * 1024,
  share: new FairShare(),
  maxPendingBytes: 8 * 1024 * 1024,
  stallTimeoutMs: 60_000,
};

export async function bench(): Promise<Outcome[]> {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-messages-'));
  const children: ChildProcess[] = [];
  try {
    const link = await start(dir, children);
    const cpuBefore = cpuSeconds(children);
    let passed = 0;
    const ours: Contender = {
      name: 'source → lccd-bm → robot → lccd-bm → source',
      async run() {
        const begunMs = performance.now();
        await pass(link);
        passed += URLS;
        return {
          seconds: (performance.now() - begunMs) / 1000,
          maxRssBytes: Math.max(...children.map(child => peakRssBytes(child.pid ?? 0))),
        };
      },
    };
    const outcome = await compare({
      work: 'Messages through source, Bot Manager and robot (no fetching)',
      amount: URLS,
      unit: 'url',
      ours,
      peers: [],
      rounds: ROUNDS,
    });
    const cpuPerUrl = ((cpuSeconds(children) - cpuBefore) / passed) * 1e6;
    outcome.bounds.push({
      what: 'CPU of all three processes per url',
      value: cpuPerUrl,
      atMost: MAX_CPU_MICROSECONDS_PER_URL,
      unit: 'µs',
    });
    return [outcome];
  } finally {
    for (const child of children) child.kill('SIGKILL');
    rmSync(dir, { recursive: true });
  }
}

interface Link {
  peer: BotManagerPeer;
  onFetched: () => void;
}

/** Starts the Bot Manager and the robot; resolves when the robot's slots have arrived here. */
async function start(dir: string, children: ChildProcess[]): Promise<Link> {
  const [sourcePath, robotPath] = [join(dir, 'source.sock'), join(dir, 'robots.sock')];
  const server = createServer().listen(sourcePath);
  await once(server, 'listening');
  const manager = spawn(
    process.execPath,
    [
      join(root, 'bin/lccd-bm'),
      `--source=unix:${sourcePath}`,
      `--listen=unix:${robotPath}`,
      '--machineid=m1',
      '--quiet',
    ],
    { env: { ...process.env, LCC_HOME: dir }, stdio: 'inherit' },
  );
  children.push(manager);
  const [socket] = (await once(server, 'connection')) as [Socket];
  server.close();
  const link = { onFetched: () => undefined } as unknown as Link;
  await new Promise<void>(resolve => {
    link.peer = new BotManagerPeer(
      socket,
      {
        hello: ({ slots }) => {
          if (slots > 0) resolve();
          else if (children.length === 1) children.push(startRobot(robotPath));
        },
        fetched: () => link.onFetched(),
        deleted() {},
        upkept() {},
        closed() {},
      },
      { ...LIMITS, clock: systemClock, where: 'lccd-bm', helloTimeoutMs: 60_000, pingIntervalMs: 60_000 },
    );
  });
  return link;
}

function startRobot(path: string): ChildProcess {
  const code = `import { serveRobot } from ${JSON.stringify(import.meta.url)}; serveRobot(${JSON.stringify(path)});`;
  return spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'inherit' });
}

/** A robot that says it has fetched what it was asked. */
export function serveRobot(path: string): void {
  const socket = connect(path, () => {
    const peer = new ManagerPeer(
      socket,
      {
        fetch: ({ id }) =>
          peer.fetched({
            id,
            status: 'ok',
            http: 200,
            md5: '0cc175b9c0f1b6a831c399e269772661',
            len: 4096,
            mimetype: 'text/html',
            lastModified: 'Fri, 20 Nov 2026 10:13:01 GMT',
            completeness: 'whole',
            wireBytes: 4321,
            elapsedMs: 3,
          }),
        recall: () => undefined,
        closed: () => process.exit(),
      },
      { ...LIMITS, clock: systemClock, where: 'lccd-bm' },
    );
    peer.hello(LANES);
  });
}

async function pass(link: Link): Promise<void> {
  let sent = 0;
  let done = 0;
  const send = () => {
    const id = ++sent;
    link.peer.fetch({
      id,
      lane: String(id % LANES),
      url: `http://www.example.org/docs/guide/page-${id}.html`,
      roots: ['http://www.example.org/docs/'],
      mimetype: 'text/html',
    });
  };
  await new Promise<void>(resolve => {
    link.onFetched = () => {
      if (sent < URLS) send();
      if (++done === URLS) resolve();
    };
    for (let i = 0; i < WINDOW; i++) send();
  });
}

/** CPU time of this process and the others (proc(5), fields 14 and 15 of stat). */
function cpuSeconds(children: ChildProcess[]): number {
  const { user, system } = process.cpuUsage();
  let seconds = (user + system) / 1e6;
  for (const { pid } of children) {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    seconds += (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  }
  return seconds;
}
