/**
 * The Registration Server: pages of a provider that has much, beside a bare hono handler that reads one row of the same database;
 * what browsers that look at the operators' pages cost the Queue Manager; its start, its memory.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RegisteredStore } from '../src/db/providers/registered.js';
import { RsDatabase } from '../src/db/rs/database.js';
import { openDatabase } from '../src/db/sqlite/open.js';
import { WebSessions } from '../src/rs/sessions.js';
import { compare, median, peakRssBytes, requireProgram, type Outcome, type Sample } from './harness.js';
import { addProviders } from './lcc.js';
import { BenchQm, PREFIX, urlTag } from './qm.js';

const here = dirname(fileURLToPath(import.meta.url));
const bin = join(here, '../../bin');
const PID = 100_000;
const RECEIPTS = Number(process.env['LCC_BENCH_RECEIPTS'] ?? 100_000);
const REQUESTS = Number(process.env['LCC_BENCH_REQUESTS'] ?? 3000);
const URLS = Number(process.env['LCC_BENCH_URLS'] ?? 1_000_000);
const AT_A_TIME = 8;
const STARTS = 7;
const BROWSERS = 10;
/** A browser that looks at the overview loads it again that often: five times as often as the script of the page. */
const LOOK_MS = 2000;
/** More than elsewhere: two per cent are looked for. */
const ABSORB_ROUNDS = 9;
const HOUR_MS = 3_600_000;
/** Of the kernel's counts in /proc/PID/stat. */
const TICKS_PER_S = 100;
const MB = 1024 * 1024;
/** What the graphs of the overview show. */
const FIGURES =
  'waiting age_0 age_1 age_2 age_3 age_4 machines slots in_flight stored_per_s unchanged_per_s errors_per_s retries_per_s bytes_per_s'.split(
    ' ',
  );

export async function bench(): Promise<Outcome[]> {
  requireProgram('ab', 'apache2-utils');
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-rs-'));
  try {
    return [
      ...(await pages(join(dir, 'pages'))),
      await start(join(dir, 'start')),
      await looks(join(dir, 'looks')),
    ];
  } finally {
    rmSync(dir, { recursive: true });
  }
}

interface Server {
  child: ChildProcess;
  port: number;
  stop(): Promise<void>;
}

async function pages(home: string): Promise<Outcome[]> {
  const qm = new BenchQm(home);
  const token = fill(home);
  await qm.start();
  const rs = await startRs(home);
  await connected(rs);
  const barePort = await freePort();
  const bare = spawn(
    process.execPath,
    [join(here, 'peers/bare-hono.js'), join(home, 'lcc.db'), String(barePort), String(PID)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  try {
    await once(bare.stdout, 'data');
    const cookie = ['-C', `lcc=${token}`];
    const receipts = new URLSearchParams({
      urls: Array.from({ length: 20 }, (_, n) => PREFIX + nameOf((n * 4999) % RECEIPTS)).join('\n'),
    });
    const outcomes: Outcome[] = [];
    for (const [what, path] of [
      ['the overview', '/me'],
      ['a page of errors', '/me/errors'],
      ['20 receipts', `/me/receipts?${receipts.toString()}`],
    ] as const) {
      const [own, peer] = [new Cpu(rs.child.pid ?? 0), new Cpu(bare.pid ?? 0)];
      const outcome = await compare({
        work: `lccd-rs: ${what} of a provider with ${RECEIPTS} urls held and as many errors`,
        amount: REQUESTS,
        unit: 'requests',
        ours: {
          name: `lccd-rs ${path.split('?')[0]}`,
          run: () => own.of(() => load(`http://127.0.0.1:${rs.port}${path}`, cookie)),
        },
        peers: [
          {
            contender: {
              name: 'hono, one row',
              run: () => peer.of(() => load(`http://127.0.0.1:${barePort}/`, [])),
            },
            // Each look asks the Queue Manager, whose answers nobody keeps.
            atLeast: 0.05,
          },
        ],
      });
      outcome.notes = [
        `processor time a request: lccd-rs ${own.perRequestUs} µs, hono ${peer.perRequestUs} µs (${(peer.perRequestUs / own.perRequestUs).toFixed(2)})`,
      ];
      outcomes.push(outcome);
    }
    outcomes
      .at(-1)
      ?.notes?.push(
        `largest resident set of lccd-rs: ${Math.round(peakRssBytes(rs.child.pid ?? 0) / MB)} MB`,
      );
    return outcomes;
  } finally {
    bare.kill();
    await rs.stop();
    await qm.stop('SIGKILL');
  }
}

/** A provider that registered, its urls and errors, and a browser that is logged in. @returns the token of its cookie */
function fill(home: string): string {
  const db = openDatabase(join(home, 'lcc.db'));
  new RegisteredStore(db).add(PID, 'x', { filesmax: 2 * RECEIPTS }, [PREFIX]);
  const row = db.prepare(
    `INSERT INTO lccurl(pid, curl, mimetype, md5, len, fetched_time, fetched_machineid, fetched_fileid, psetid, seq)
     VALUES (?, ?, 'text/html', '0cc175b9c0f1b6a831c399e269772661', 4096, 1795169581, 'local', ?, 1, ?)`,
  );
  const error = db.prepare("INSERT INTO pierr(pid, code, text, attrs) VALUES (?, 404, 'not found', ?)");
  db.transaction(() => {
    for (let n = 0; n < RECEIPTS; n++) {
      row.run(PID, PREFIX + nameOf(n), `f${n}`, n + 1);
      error.run(PID, ` curl="${PREFIX}gone/${nameOf(n)}" mimetype="text/html"`);
    }
    db.prepare('UPDATE pidb SET filesused = ?, nurlerrs = ? WHERE pid = ?').run(RECEIPTS, RECEIPTS, PID);
    db.prepare("UPDATE counter SET value = ? WHERE name = 'seq'").run(RECEIPTS);
  })();
  const generation = new RegisteredStore(db).standing(PID)?.generation;
  db.close();
  const rs = RsDatabase.open(join(home, 'rs/rs.db'));
  const limits = { idleMs: 1e9, lifetimeMs: 1e9, perAccount: 10 };
  const login = {
    kind: 'provider',
    account: String(PID),
    mark: String(generation),
    network: 'bench',
  } as const;
  const token = new WebSessions(rs, () => Date.now(), limits).begin(login);
  rs.close();
  return token;
}

function nameOf(n: number): string {
  return `docs/page-${String(n).padStart(8, '0')}.html`;
}

/** Requests over a connection each, some at a time. */
function load(url: string, more: readonly string[]): Sample {
  const done = spawnSync('ab', ['-q', '-l', '-n', String(REQUESTS), '-c', String(AT_A_TIME), ...more, url], {
    encoding: 'utf8',
  });
  const seconds = Number(/^Time taken for tests: +([\d.]+)/m.exec(done.stdout)?.[1]);
  const [complete, failed] = ['Complete', 'Failed'].map(word =>
    Number(new RegExp(`^${word} requests: +(\\d+)`, 'm').exec(done.stdout)?.[1]),
  );
  if (complete !== REQUESTS || failed !== 0 || done.stdout.includes('Non-2xx'))
    throw new Error(`ab ${url}: ${done.stdout}${done.stderr}`);
  return { seconds };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function startRs(home: string, more: readonly string[] = []): Promise<Server> {
  const port = await freePort();
  writeFileSync(
    join(home, 'lcc.toml'),
    `[rs]\nlisten = ["127.0.0.1:${port}"]\nurl = "http://127.0.0.1:${port}/"\n`,
  );
  const child = spawn(join(bin, 'lccd-rs'), more, {
    env: { ...process.env, LCC_HOME: home },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', data => (log += String(data)));
  while (!log.includes('"ready"')) {
    if (child.exitCode !== null) throw new Error(`lccd-rs ended: ${log}`);
    await new Promise(resolve => void setTimeout(resolve, 5));
  }
  const ended = once(child, 'exit');
  return {
    child,
    port,
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Resolves when it has the Queue Manager. */
async function connected({ port }: Server): Promise<void> {
  while (
    (await (await fetch(`http://127.0.0.1:${port}/healthz`)).text()).includes('the Queue Manager is away')
  )
    await new Promise(resolve => void setTimeout(resolve, 20));
}

/** Processor time of a server in the first and all later loads: what else runs on the machine changes it little. */
class Cpu {
  readonly #pid: number;
  #ms = 0;
  #loads = 0;

  constructor(pid: number) {
    this.#pid = pid;
  }

  of(run: () => Sample): Sample {
    const beforeMs = cpuMs(this.#pid);
    const sample = run();
    this.#ms += cpuMs(this.#pid) - beforeMs;
    this.#loads++;
    return sample;
  }

  get perRequestUs(): number {
    return Math.round((this.#ms * 1000) / (this.#loads * REQUESTS));
  }
}

/** Processor time of a process so far, milliseconds. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_S;
}

async function start(dir: string): Promise<Outcome> {
  const { home } = new BenchQm(dir);
  const seen: { ms: number; bytes: number }[] = [];
  for (let n = 0; n < STARTS; n++) {
    const rs = await startRs(home);
    const pid = rs.child.pid ?? 0;
    seen.push({ ms: cpuMs(pid), bytes: peakRssBytes(pid) });
    await rs.stop();
  }
  return {
    work: 'lccd-rs: start until it is ready',
    unit: 'starts',
    rounds: STARTS,
    lines: [],
    bounds: [
      { what: 'processor time', value: median(seen.map(({ ms }) => ms)), atMost: 300, unit: 'ms' },
      {
        what: 'largest resident set',
        value: median(seen.map(({ bytes }) => bytes)) / MB,
        atMost: 200,
        unit: 'MB',
      },
    ],
  };
}

/** The Queue Manager absorbs, while ten browsers look at the operators' overview, and while none does. */
async function looks(dir: string): Promise<Outcome> {
  let home = dir;
  let qm = new BenchQm(home);
  let rs: Server | undefined;
  let rounds = 0;
  const prepare = async () => {
    await rs?.stop();
    await qm.stop('SIGKILL');
    rmSync(home, { recursive: true });
    home = `${dir}${++rounds}`;
    qm = new BenchQm(home);
    addProviders(join(home, 'lcc.db'), 1, PREFIX);
    fillSeries(home);
    await qm.start();
    rs = await startRs(home, ['--operator-listen=127.0.0.1:0']);
    await connected(rs);
  };
  const cpu = { browsers: [] as number[], none: [] as number[] };
  const absorb = async (who: keyof typeof cpu): Promise<Sample> => {
    const link = await qm.connectUns();
    const [startedMs, beforeMs] = [performance.now(), cpuMs(qm.pid)];
    await link.set(1, URLS, tags());
    const seconds = (performance.now() - startedMs) / 1000;
    cpu[who].push(cpuMs(qm.pid) - beforeMs);
    link.close();
    return { seconds };
  };
  const alone = { prepare, run: () => absorb('none') };
  try {
    const outcome = await compare({
      work: `QM: ${URLS} urls absorbed while ${BROWSERS} browsers look at the operators' overview`,
      amount: URLS,
      unit: 'urls',
      rounds: ABSORB_ROUNDS,
      ours: {
        name: `${BROWSERS} browsers`,
        prepare,
        async run() {
          const close = await browse(home);
          try {
            return await absorb('browsers');
          } finally {
            close();
          }
        },
      },
      peers: [
        { contender: { name: 'none', ...alone }, atLeast: 0.98 },
        { contender: { name: 'none, once more', ...alone } },
      ],
    });
    const [once = 1, again = 1] = outcome.lines.slice(1).map(({ ratePerSecond }) => ratePerSecond);
    outcome.notes = [
      `the two without browsers differ by ${(Math.abs(once / again - 1) * 100).toFixed(1)} %`,
      `processor time of lccd-qm: ${Math.round(median(cpu.browsers))} ms with browsers, ${Math.round(median(cpu.none))} ms without`,
    ];
    return outcome;
  } finally {
    await rs?.stop();
    await qm.stop('SIGKILL');
    rmSync(home, { recursive: true, force: true });
  }
}

/** As much for graphs as there is after a month. */
function fillSeries(home: string): void {
  const rs = RsDatabase.open(join(home, 'rs/rs.db'));
  const nowMs = Date.now();
  const figures = Object.fromEntries(FIGURES.map((name, n) => [name, n * 1000.5]));
  rs.write(() => {
    for (let atMs = nowMs - HOUR_MS; atMs < nowMs; atMs += 10_000) rs.series.add('fine', { atMs, figures });
    for (let atMs = nowMs - 720 * HOUR_MS; atMs < nowMs; atMs += 300_000)
      rs.series.add('coarse', { atMs, figures });
  });
  rs.close();
}

function* tags(): Generator<string> {
  for (let n = 0; n < URLS; n++) yield urlTag(nameOf(n), 4096);
}

/** Browsers that are logged in and look again and again, in a process of their own. @returns closes them */
async function browse(home: string): Promise<() => void> {
  const env = { ...process.env, LCC_HOME: home };
  const made = spawnSync(join(bin, 'lccrs'), ['operator', 'add', 'bench'], { env, encoding: 'utf8' });
  const status = spawnSync(join(bin, 'lccstat'), ['--json'], { env, encoding: 'utf8' }).stdout;
  const at = /"lccd-rs"[^]*?"listens":\["[^"]+","([^"]+)"/.exec(status)?.[1] ?? '';
  const child = spawn(
    process.execPath,
    [
      join(here, 'peers/browsers.js'),
      `http://${at}/op`,
      made.stdout.trim(),
      String(BROWSERS),
      String(LOOK_MS),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await once(child.stdout, 'data');
  return () => void child.kill();
}
