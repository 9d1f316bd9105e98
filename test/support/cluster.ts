/**
 * An LCC over machines that any of them may leave: homes on loopback, or on network namespaces, an engine of one node or a node
 * on each machine, a site, and content providers that send all the time. Its judges look at what must be true after any kill.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import { addProvider } from '../../src/db/providers/pidb.js';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { generatePassword, hashPassword } from '../../src/lib/password.js';
import type { Machine, Network } from '../machines/support/network.js';
import { MachineSite } from '../machines/support/site.js';
import { atEnd } from './at-end.js';
import { Callers, type Caller } from './callers.js';
import { certify } from './certify.js';
import { startDaemon, type Daemon } from './daemon.js';
import { Engine, LAN, LOOPBACK } from './engine.js';
import { freePort, freePorts } from './free-port.js';
import { KeptMachine } from './kept-machine.js';
import { until } from './until.js';

/** For machines: Bot Managers, content, lccq, front ends, registration. */
const PORTS = 5;
/** A node that is frozen is given up after it. */
const SILENCE_MS = 2000;

export interface ClusterOptions {
  machines?: number;
  /** A node on each machine, three on machines of their own, or one, which no machine's end takes along. */
  engine?: 'one' | 'trio' | 'trio apart';
  callers?: number;
  /** Machines are namespaces of this network. */
  network?: Network;
  galera?: string;
  /** By how much the wall clock of each machine is apart. */
  clocksMs?: readonly number[];
  /** More of each lcc.toml, by section. */
  toml?: Record<string, object>;
  /** Content providers take sets back, too. */
  removes?: boolean;
  /** They connect to a front end, which finds the home of each. */
  front?: boolean;
  /** The home that was started first, where this is one more of the same LCC, on the same machines, and without providers so far. */
  beside?: KeptCluster;
}

const started: KeptCluster[] = [];
// Of tests that failed at their start, too.
atEnd(() => Promise.all(started.map(cluster => cluster.remove())));

export class KeptCluster {
  readonly dir: string;
  readonly machines: readonly KeptMachine[];
  readonly engine: Engine;
  readonly site: MachineSite;
  readonly callers: Callers;
  /** The number of this home. */
  readonly shard: number;
  /** Homes of the same LCC that were started later. */
  readonly others: KeptCluster[] = [];
  readonly #apart: readonly (Machine | undefined)[];
  readonly #certificates: readonly string[];
  #front: Daemon | undefined;

  private constructor(
    dir: string,
    machines: readonly KeptMachine[],
    engine: Engine,
    site: MachineSite,
    callers: Callers,
    apart: readonly (Machine | undefined)[],
    beside?: KeptCluster,
  ) {
    this.dir = dir;
    this.machines = machines;
    this.engine = engine;
    this.site = site;
    this.callers = callers;
    this.#apart = apart;
    this.shard = beside === undefined ? 0 : beside.others.push(this);
    const addresses = machines.map(({ host }) => host.address);
    this.#certificates = beside === undefined ? certify(dir, addresses) : beside.#certificates;
  }

  /** Resolves when the first machine serves and every other has a copy. */
  static async start(options: ClusterOptions = {}): Promise<KeptCluster> {
    const { beside } = options;
    if (beside !== undefined) return KeptCluster.#startBeside(beside, options);
    const {
      machines: count = 3,
      engine: kind = 'one',
      network,
      callers: callerCount = 4,
      galera = LAN,
    } = options;
    const dir = mkdtempSync(join(tmpdir(), 'lcc-kept-'));
    const machines: KeptMachine[] = [];
    for (let n = 1; n <= count; n++) {
      const machine = network?.machine(`h${n}`);
      machines.push(
        new KeptMachine(join(dir, `h${n}`, '0'), machine ?? LOOPBACK, await freePorts(PORTS), machine),
      );
    }
    const apart = ['e1', 'e2', 'e3'].slice(0, kind === 'one' ? 1 : 3).map(name => network?.machine(name));
    const hosts = kind === 'trio' ? machines.map(({ host }) => host) : apart.map(link => link ?? LOOPBACK);
    const engine = await Engine.start({ hosts, galera });
    if (kind === 'trio') machines.forEach((machine, i) => (machine.node = engine.nodes[i]));
    const site = new MachineSite(network?.machine('site') ?? LOOPBACK, join(dir, 'site'), await freePort());
    const providers = Array.from({ length: callerCount }, (_, i) => ({
      pid: i + 1,
      password: generatePassword(),
      root: `${site.url}${i + 1}/`,
    }));
    const doors = options.front === true ? [join(dir, 'front/cp.sock')] : machines.map(({ door }) => door);
    const callers = new Callers(providers, doors, { removes: options.removes === true });
    const cluster = new KeptCluster(dir, machines, engine, site, callers, apart);
    started.push(cluster);
    cluster.#configure(options.toml ?? {}, network?.cidr);
    options.clocksMs?.forEach((apartMs, i) => machines[i]?.setClock(apartMs));
    await site.start();
    cluster.#provide(providers);
    await cluster.#begin();
    if (options.front === true) await cluster.#startFront(doors);
    return cluster;
  }

  static async #startBeside(first: KeptCluster, { toml = {} }: ClusterOptions): Promise<KeptCluster> {
    const { dir, engine, site } = first;
    const shard = first.others.length + 1;
    const machines: KeptMachine[] = [];
    for (const [i, { host, link }] of first.machines.entries())
      machines.push(
        new KeptMachine(join(dir, `h${i + 1}`, String(shard)), host, await freePorts(PORTS), link),
      );
    const cluster = new KeptCluster(dir, machines, engine, site, first.callers, [], first);
    started.push(cluster);
    cluster.#configure(toml);
    await cluster.#begin();
    await cluster.first.run(`lccmap add-shard ${shard}`);
    return cluster;
  }

  async #begin(): Promise<void> {
    const admin = `--user=lcc_admin --password-file=${this.engine.passwordFile('lcc_admin')}`;
    await this.first.run(`lcckeep init ${admin}`);
    await this.first.start();
    await Promise.all(this.machines.slice(1).map(machine => machine.start()));
    await this.settled();
  }

  async #startFront(doors: readonly string[]): Promise<void> {
    await this.first.run('lccmap join');
    const home = join(this.dir, 'front');
    mkdirSync(home);
    const listen = doors.map(door => `unix:${door}`);
    writeFileSync(join(home, 'lcc.toml'), stringify({ ...this.#shared(0), fe: { listen } }));
    this.#front = startDaemon('lccd-fe', home);
    await this.#front.ready;
  }

  /** The place in the network of a node on a machine of its own. */
  nodeLink(i: number): Machine {
    const link = this.#apart[i];
    if (link === undefined) throw new Error(`node ${i} has no machine of its own`);
    return link;
  }

  get first(): KeptMachine {
    return this.machines[0] as KeptMachine;
  }

  /** The home as the engine has it; undefined while no node answers. */
  async lease(): Promise<{ owner: string; epoch: number } | undefined> {
    const [row] = await this.#query(`select owner, epoch from lcc.home where shard = ${this.shard}`);
    return row && { owner: String(row['owner']), epoch: Number(row['epoch']) };
  }

  /** The machine that has the home. */
  async owner(): Promise<KeptMachine> {
    return until('a machine has the home', async () => {
      const { owner } = (await this.lease()) ?? {};
      return this.machines.find(({ name }) => name === owner);
    });
  }

  /** Resolves when a machine serves, and that many others have a whole copy. @returns the owner */
  async settled(standbys = this.machines.length - 1): Promise<KeptMachine> {
    const [now] = await until('the engine answers', async () => {
      const rows = await this.#query('select unix_timestamp() as s');
      return rows.length > 0 && rows;
    });
    const said = `shard = ${this.shard} and at > ${Number(now?.['s'])} and behind = 0 and machine not in (select owner from lcc.home)`;
    await until('every other machine has a copy', async () => {
      return (await this.#query(`select machine from lcc.standby where ${said}`)).length >= standbys;
    });
    const owner = await this.owner();
    await until('the owner serves', async () => (await owner.sh('lccstat')).status === 0);
    return owner;
  }

  /**
   * Seconds from that moment until a set that was begun later was accepted, and until the first page of such a set was asked
   * for.
   */
  async secondsSince(momentMs: number): Promise<{ accepted: number; fetched: number }> {
    const { heardMs } = await this.callers.after(momentMs);
    const fetchedMs = await until('a page of a later set is fetched', () => {
      const later = this.callers.sets.filter(({ beganMs }) => beganMs > momentMs);
      const asked = later.flatMap(({ urls }) =>
        urls.map(url => this.site.askedMs.get(new URL(url).pathname)),
      );
      const found = asked.filter(ms => ms !== undefined);
      return found.length > 0 && Math.min(...found);
    });
    return { accepted: (heardMs - momentMs) / 1000, fetched: (fetchedMs - momentMs) / 1000 };
  }

  /** Ends the load, and looks at what must be true after any kill. @returns what is not */
  async faults(): Promise<string[]> {
    await this.callers.stop();
    const owners = await Promise.all([this, ...this.others].map(home => home.owner()));
    for (const owner of owners) await owner.run('lccstat --until-idle=120');
    const all = owners.length > 1 ? ' --all' : '';
    const held = new Set((await this.first.run(`lccq${all} --format=urls`)).split('\n'));
    const { urls, removed } = this.callers;
    const lost = urls.filter(url => !held.has(url)).map(url => `accepted and not there: ${url}`);
    const left = removed.filter(url => held.has(url)).map(url => `taken back and still there: ${url}`);
    const together =
      this.site.mostAtOnce > 1 ? [`${this.site.mostAtOnce} requests of one provider at once`] : [];
    const found: string[] = [];
    for (const owner of owners) {
      await owner.sh('lccfsck -q --repair');
      found.push(...(await owner.sh('lccfsck -q')).stdout.split('\n').filter(line => line !== ''));
    }
    return [...lost, ...left, ...together, ...found];
  }

  /** What the first node says that answers; nothing while none does. */
  async #query(sql: string): Promise<Record<string, unknown>[]> {
    for (const node of this.engine.nodes) {
      const rows = await node.query(sql, SILENCE_MS).catch(() => undefined);
      if (rows !== undefined) return rows;
    }
    return [];
  }

  async remove(): Promise<void> {
    await Promise.all(this.machines.map(machine => machine.killLccd()));
    if (this.shard > 0) return;
    await this.#front?.stop('SIGKILL');
    await Promise.all(this.others.map(home => home.remove()));
    await this.engine.remove();
    await this.site.stop();
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 10 });
  }

  #configure(more: Record<string, object>, cidr = '127.0.0.0/8'): void {
    const all = this.machines.map(({ name }) => name);
    this.machines.forEach((machine, i) => {
      const usual: Record<string, object> = {
        ...this.#shared(i),
        cluster: { machine: machine.name, machines: all, shard: this.shard },
        wire: { ping_interval_ms: 1000 },
        uns: { listen: [`unix:${machine.door}`] },
        qm: { retry_delay_ms: 200, backoff_min_ms: 100, backoff_max_ms: 1000 },
        bm: { machine_id: `m${i + 1}`, grace_ms: 1000 },
        bot: { allow_addresses: [cidr], max_connections_per_host: 1000 },
        lccd: { restart_min_ms: 10 },
      };
      for (const [name, keys] of Object.entries(more)) usual[name] = { ...usual[name], ...keys };
      writeFileSync(join(machine.home, 'lcc.toml'), stringify(usual));
    });
  }

  /** What lcc.toml of a machine and of a front end there have. */
  #shared(i: number) {
    const [cert, key, ca] = this.#certificates;
    return {
      net: { peer_ca: ca, peer_cert: cert, peer_key: key },
      store: {
        url: this.engine.url(this.engine.nodes.length > 1 ? i : 0),
        password_file: this.engine.passwordFile(),
        plain: true,
      },
    };
  }

  #provide(callers: readonly Caller[]): void {
    const db = openDatabase(join(this.first.home, 'lcc.db'));
    try {
      for (const { pid, password, root } of callers) addProvider(db, pid, hashPassword(password), {}, [root]);
    } finally {
      db.close();
    }
  }
}
