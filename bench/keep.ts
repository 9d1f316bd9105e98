/**
 * A kept home beside the same without an engine: taking sets in, results, content providers with sets of one url; one MariaDB, and
 * a Galera trio, on the same two cores and disk. Then how long a set of one url waits for the engine, how fast a standby copies,
 * and how long a takeover takes. LCC_BENCH_BEFORE=DIR, an older checkout that is built: what an LCC without an engine pays.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import { KeptCluster } from '../test/support/cluster.js';
import { startDaemon, type Daemon } from '../test/support/daemon.js';
import { CAUTIOUS, Engine, LAN, TRIO } from '../test/support/engine.js';
import { ROOT } from '../test/support/tree.js';
import { until } from '../test/support/until.js';
import { compare, median, type Bound, type Contender, type Outcome } from './harness.js';
import { addProviders, piecesOf, startLcc, type BenchLcc } from './lcc.js';
import { BenchQm, PREFIX, urlTag } from './qm.js';

const URLS = Number(process.env['LCC_BENCH_URLS'] ?? 200_000);
const SLOTS = 64;
const SMALL_SETS = 1000;
const COMMITS = 200;
const TAKEOVERS = 3;
/** Prime, so that its multiples go through all keys. */
const STRIDE = 618_970_019;
const MB = 1_000_000;

type Order = 'ordered' | 'scattered';
const ORDERS: readonly Order[] = ['ordered', 'scattered'];
const FLOORS = {
  'one MariaDB': { absorb: { ordered: 0.5, scattered: 0.4 }, results: { ordered: 0.6, scattered: 0.35 } },
  'a trio': { absorb: { ordered: 0.4, scattered: 0.3 }, results: { ordered: 0.5, scattered: 0.25 } },
} as const;

export async function bench(): Promise<Outcome[]> {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-keep-'));
  try {
    return [...(await before(dir)), ...(await engines(dir)), await takeovers()];
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The same without an engine, of this build and of one before. */
async function before(dir: string): Promise<Outcome[]> {
  const older = process.env['LCC_BENCH_BEFORE'];
  if (older === undefined) return [];
  const ours = new Scene(join(dir, 'now'));
  const peer = new Scene(join(dir, 'before'), undefined, join(older, 'bin'));
  const work = { amount: URLS, unit: 'urls', rounds: 3 };
  return [
    await compare({
      ...work,
      work: `without an engine: ${URLS} urls absorbed`,
      ours: ours.absorbing('this build', 'ordered'),
      peers: [{ contender: peer.absorbing('the build before', 'ordered'), atLeast: 0.98 }],
    }),
    await compare({
      ...work,
      work: `without an engine: ${URLS} results`,
      ours: ours.results('this build', 'ordered'),
      peers: [{ contender: peer.results('the build before', 'ordered'), atLeast: 0.98 }],
    }),
  ];
}

async function engines(dir: string): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const plain = new Scene(join(dir, 'plain'));
  for (const [name, hosts] of [
    ['one MariaDB', undefined],
    ['a trio', TRIO],
  ] as const) {
    const engine = await Engine.start(hosts === undefined ? {} : { hosts });
    const kept = new Scene(join(dir, `kept-${outcomes.length}`), engine);
    for (const order of ORDERS) {
      const work = { amount: URLS, unit: 'urls', rounds: 3 };
      outcomes.push(
        await compare({
          ...work,
          work: `kept in ${name}: ${URLS} urls absorbed, ${order} keys`,
          ours: kept.absorbing('kept', order),
          peers: [{ contender: plain.absorbing('not kept', order), atLeast: FLOORS[name].absorb[order] }],
        }),
        await compare({
          ...work,
          work: `kept in ${name}: ${URLS} results, ${order} keys`,
          ours: kept.results('kept', order),
          peers: [{ contender: plain.results('not kept', order), atLeast: FLOORS[name].results[order] }],
        }),
      );
    }
    if (hosts === undefined) outcomes.push(await smallSets(dir, engine), await copying(dir, kept));
    await kept.stop();
    await engine.remove();
  }
  await plain.stop();
  return outcomes;
}

/** One home with lccd-qm, and lccd-keep where there is an engine. */
class Scene {
  readonly home: string;
  readonly engine: Engine | undefined;
  readonly #bin: string | undefined;
  #qm: BenchQm | undefined;
  #keeper: Daemon | undefined;

  constructor(home: string, engine?: Engine, bin?: string) {
    this.home = home;
    this.engine = engine;
    this.#bin = bin;
  }

  absorbing(name: string, order: Order): Contender {
    return {
      name,
      prepare: async () => void (await this.#begin()),
      run: () => this.#timed(async qm => this.#absorb(qm, order)),
    };
  }

  results(name: string, order: Order): Contender {
    const prepare = async () => this.#absorb(await this.#begin(), order);
    return { name, prepare, run: () => this.#timed(qm => qm.fetchAll(URLS, SLOTS)) };
  }

  async stop(): Promise<void> {
    await this.#qm?.stop('SIGKILL');
    await this.#keeper?.stop('SIGKILL');
    this.#qm = this.#keeper = undefined;
  }

  async #begin(): Promise<BenchQm> {
    await this.stop();
    rmSync(this.home, { recursive: true, force: true });
    const qm = (this.#qm = new BenchQm(this.home, this.#bin));
    addProviders(join(this.home, 'lcc.db'), 1, PREFIX);
    if (this.engine !== undefined) this.#keeper = await keep(this.home, this.engine);
    await qm.start();
    return qm;
  }

  async #absorb(qm: BenchQm, order: Order): Promise<void> {
    const link = await qm.connectUns();
    await link.set(1, URLS, tags(order));
    link.close();
  }

  async #timed(work: (qm: BenchQm) => Promise<void>): Promise<{ seconds: number; maxRssBytes: number }> {
    const qm = this.#qm;
    if (qm === undefined) throw new Error('not prepared');
    const startedMs = performance.now();
    await work(qm);
    return { seconds: (performance.now() - startedMs) / 1000, maxRssBytes: qm.peakRssBytes };
  }
}

function* tags(order: Order): Generator<string> {
  for (let i = 0; i < URLS; i++) {
    const key = order === 'ordered' ? i : (i * STRIDE) % URLS;
    yield urlTag(
      `docs/section${String(Math.floor(key / 1000)).padStart(4, '0')}/page-${String(key).padStart(8, '0')}.html`,
      4096,
    );
  }
}

function configure(home: string, engine: Engine, machine = 'bench'): void {
  mkdirSync(home, { recursive: true });
  const store = { url: engine.url(), password_file: engine.passwordFile() };
  writeFileSync(
    join(home, 'lcc.toml'),
    stringify({ store, cluster: { machine }, wire: { ping_interval_ms: 1000 }, ...SITES }),
  );
}
/** All sites are one server here. */
const SITES = {
  bot: { allow_addresses: ['127.0.0.0/8'], max_connections_per_host: 1000 },
  qm: { max_connections_per_host: 1000 },
};

async function init(home: string, engine: Engine): Promise<void> {
  await engine.node.query('drop database lcc');
  await engine.node.query('create database lcc');
  const as = ['--user=lcc_admin', `--password-file=${engine.passwordFile('lcc_admin')}`];
  execFileSync(join(ROOT, 'bin/lcckeep'), ['init', ...as], { env: { ...process.env, LCC_HOME: home } });
}

/** A keeper whose first base is complete. */
async function keep(home: string, engine: Engine): Promise<Daemon> {
  configure(home, engine);
  await init(home, engine);
  const keeper = startDaemon('lccd-keep', home);
  await keeper.ready;
  await until(
    'the first base is complete',
    async () =>
      (await engine.node.query("select base from lcc.file where name = 'lcc' and base > 0")).length > 0,
  );
  return keeper;
}

/** Content providers that send one url at a time, and what each set waits for. */
async function smallSets(dir: string, engine: Engine): Promise<Outcome> {
  const homes = { kept: join(dir, 'small-kept'), plain: join(dir, 'small-plain') };
  const all: BenchLcc[] = [];
  const latencyMs = { kept: 0, plain: 0 };
  let made = 0;
  try {
    const start = async (which: keyof typeof homes) => {
      const begun =
        which === 'plain'
          ? undefined
          : async (home: string) => {
              configure(home, engine);
              await init(home, engine);
            };
      const lcc = await startLcc(homes[which], 100, PREFIX, begun);
      all.push(lcc);
      const one = (pid: number) => lcc.notify(pid, piecesOf([`n${++made}.html`]));
      const waits: number[] = [];
      for (let n = 0; n < COMMITS; n++) {
        const startedMs = performance.now();
        await one(1 + (n % 100));
        waits.push(performance.now() - startedMs);
      }
      latencyMs[which] = median(waits);
      return {
        name: which === 'kept' ? 'kept' : 'not kept',
        run: async () => {
          const startedMs = performance.now();
          const each = Array.from({ length: 100 }, async (_, i) => {
            for (let n = 0; n < SMALL_SETS / 100; n++) await one(i + 1);
          });
          await Promise.all(each);
          return { seconds: (performance.now() - startedMs) / 1000 };
        },
      };
    };
    const [ours, peer] = [await start('kept'), await start('plain')];
    const outcome = await compare({
      work: '100 content providers with sets of one url',
      amount: SMALL_SETS,
      unit: 'sets',
      rounds: 3,
      ours,
      peers: [{ contender: peer, atLeast: 0.4 }],
    });
    const commitMs = await commitOf(engine);
    outcome.bounds.push({
      what: `what set_accepted waits for the engine, in its commits of ${commitMs.toFixed(1)} ms`,
      value: (latencyMs.kept - latencyMs.plain) / commitMs,
      atMost: 3,
      unit: 'commits',
    });
    return outcome;
  } finally {
    for (const lcc of all) await lcc.stop();
  }
}

/** Milliseconds that a transaction of one small row takes. */
async function commitOf(engine: Engine): Promise<number> {
  const connection = await engine.node.connect();
  const took: number[] = [];
  await connection.query('create table lcc.bench (n int primary key, data blob)');
  for (let n = 0; n < COMMITS; n++) {
    const startedMs = performance.now();
    await connection.query(`insert into lcc.bench values (${n}, repeat('x', 2000))`);
    took.push(performance.now() - startedMs);
  }
  await connection.query('drop table lcc.bench');
  await connection.end();
  return median(took);
}

/** A standby that begins with nothing. */
async function copying(dir: string, kept: Scene): Promise<Outcome> {
  const { engine } = kept;
  if (engine === undefined) throw new Error('it is not kept');
  const home = join(dir, 'copy');
  configure(home, engine, 'standby');
  const startedMs = performance.now();
  const keeper = startDaemon('lccd-keep', home);
  await until(
    'the copy is complete',
    async () =>
      (await engine.node.query("select behind from lcc.standby where machine = 'standby' and behind = 0"))
        .length > 0,
  );
  const seconds = (performance.now() - startedMs) / 1000;
  await keeper.stop();
  const bytes = statSync(join(kept.home, 'lcc.db')).size;
  return bounds(`a standby copies ${(bytes / MB).toFixed(0)} MB`, [
    { what: 'from its start', value: bytes / MB / seconds, atLeast: 100, unit: 'MB/s' },
  ]);
}

/** Owner, its machine and its node are killed; the node alone is. */
async function takeovers(): Promise<Outcome> {
  const all: Bound[] = [];
  for (const [name, galera, claimS, nodeS] of [
    ['LAN', LAN, 3.5, 3.5],
    ['PT3S', CAUTIOUS, 5.5, 5],
  ] as const) {
    const cluster = await KeptCluster.start({ engine: 'trio', callers: 20, galera });
    const [claims, fetches, nodes]: [number[], number[], number[]] = [[], [], []];
    cluster.callers.start();
    for (let n = 0; n < TAKEOVERS; n++) {
      const owner = await cluster.settled();
      const { epoch } = (await cluster.lease()) ?? { epoch: 0 };
      let beganMs = performance.now();
      await owner.kill();
      await until('another has claimed', async () => ((await cluster.lease())?.epoch ?? 0) > epoch);
      const claimedS = (performance.now() - beganMs) / 1000;
      claims.push(claimedS);
      fetches.push((await cluster.secondsSince(beganMs)).fetched - claimedS);
      await owner.node?.start();
      await owner.start();
      const next = await cluster.settled();
      beganMs = performance.now();
      await next.node?.kill();
      nodes.push((await cluster.secondsSince(beganMs)).accepted);
      await next.node?.start();
    }
    await cluster.remove();
    all.push(
      { what: `${name}: machine and node killed, claimed`, value: median(claims), atMost: claimS, unit: 's' },
      { what: `${name}: and the next fetch later`, value: median(fetches), atMost: 1, unit: 's' },
      { what: `${name}: node killed, next accepted`, value: median(nodes), atMost: nodeS, unit: 's' },
    );
  }
  return bounds(`takeovers of a trio, medians of ${TAKEOVERS}`, all);
}

function bounds(work: string, all: Bound[]): Outcome {
  return { work, unit: '', rounds: 1, lines: [], bounds: all };
}
