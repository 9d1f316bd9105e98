/**
 * The engine of a kept home, from Debian's packages: one MariaDB, or a Galera trio, on loopback or on machines of their own,
 * below a folder that goes away. As root it runs as mysql: rsync of the state transfer refuses root.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createConnection, type Connection } from 'mariadb';
import { atEnd } from './at-end.js';
import { freePort } from './free-port.js';
import { requireStopped } from './processes.js';
import { until, watchLog, within } from './until.js';

/** Why there is no engine here, or false: for `skip`. Under CI a missing peer is a failure, not a skip. */
export const noEngine =
  spawnSync('mariadbd', ['--version']).error !== undefined && process.env['CI'] !== 'true' && 'no mariadbd';
const PROVIDER = '/usr/lib/galera/libgalera_smm.so';
export const noGalera = noEngine || (!existsSync(PROVIDER) && process.env['CI'] !== 'true' && 'no galera-4');

/** Settings of Galera for machines of one LAN, as the example has them. */
export const LAN = 'evs.keepalive_period=PT0.3S;evs.inactive_check_period=PT0.3S;evs.suspect_timeout=PT1.2S';
export const CAUTIOUS = 'evs.suspect_timeout=PT3S';
/** Passwords of the accounts: rows, and tables. */
export const PASSWORDS = { lcc: 'rows of the engine', lcc_admin: 'tables of the engine' } as const;
const DATABASE = 'lcc';

const SERVER = [
  '--no-defaults',
  '--innodb-log-file-size=32M',
  '--innodb-buffer-pool-size=64M',
  '--innodb-flush-log-at-trx-commit=1',
  '--max-allowed-packet=16M',
  '--skip-name-resolve',
  '--performance-schema=0',
  '--binlog-format=ROW',
  '--innodb-autoinc-lock-mode=2',
  '--default-storage-engine=InnoDB',
];

/** A machine for a node: its address, and the words before a command that run it there. */
export interface EngineHost {
  address: string;
  via: readonly string[];
  /** More of the environment of the node. */
  env?: NodeJS.ProcessEnv;
}

export interface EngineOptions {
  /** Those of the nodes: one or three; by default one, on loopback. */
  hosts?: readonly EngineHost[];
  /** Of the provider, more than where it listens. */
  galera?: string;
  /** More words of mariadbd. */
  args?: readonly string[];
}

export const LOOPBACK: EngineHost = { address: '127.0.0.1', via: [] };
export const TRIO: readonly EngineHost[] = [LOOPBACK, LOOPBACK, LOOPBACK];

const started: Engine[] = [];
// Of tests that failed at their start, too.
atEnd(() => Promise.all(started.map(engine => engine.remove())));

export class Engine {
  readonly dir: string;
  readonly nodes: readonly EngineNode[];

  private constructor(dir: string, nodes: readonly EngineNode[]) {
    this.dir = dir;
    this.nodes = nodes;
  }

  /** Resolves when every node has answered a query; the database and its accounts are there, no table. */
  static async start({ hosts = [LOOPBACK], galera = LAN, args = [] }: EngineOptions = {}): Promise<Engine> {
    const dir = mkdtempSync(join(tmpdir(), 'lcc-engine-'));
    chmodSync(dir, 0o755);
    for (const [user, password] of Object.entries(PASSWORDS))
      writeFileSync(join(dir, user), `${password}\n`, { mode: 0o600 });
    const nodes: EngineNode[] = [];
    for (const host of hosts)
      nodes.push(await EngineNode.at(host, join(dir, `node${nodes.length + 1}`), args));
    if (nodes.length > 1) for (const node of nodes) node.join(nodes, galera);
    const engine = new Engine(dir, nodes);
    engine.nodes.forEach(makeFolder);
    makeDatabase(engine.node);
    // A node that begins with what the group has needs no transfer of state: that takes ten seconds of a processor.
    for (const { data } of nodes.slice(1)) execFileSync('cp', ['-a', `${engine.node.data}/.`, data]);
    started.push(engine);
    await engine.node.start({ isFirst: true });
    for (const node of nodes.slice(1)) {
      node.saveState(await engine.node.wsrep('local_state_uuid'), await engine.node.wsrep('last_committed'));
      await node.start();
    }
    return engine;
  }

  /** One node; of a trio the first. */
  get node(): EngineNode {
    return this.nodes[0] as EngineNode;
  }

  /** For `store.url`. @param first the node that is named first, by its number from 0 */
  url(first = 0): string {
    const nodes = [...this.nodes.slice(first), ...this.nodes.slice(0, first)];
    return `mariadb://lcc@${nodes.map(({ address, port }) => `${address}:${port}`).join(',')}/${DATABASE}`;
  }

  /** A file that nobody else may read. */
  passwordFile(user: keyof typeof PASSWORDS = 'lcc'): string {
    return join(this.dir, user);
  }

  /** Starts it after all nodes were lost at once, as an operator does: first the node that has the most. */
  async bootstrap(): Promise<void> {
    const positions = this.nodes.map(node => Number(node.recovered.split(':')[1]));
    const first = positions.indexOf(Math.max(...positions));
    await this.nodes[first]?.start({ isFirst: true });
    // Two that join at once take each other for dead, again and again, for many seconds.
    for (const node of this.nodes.filter((_, i) => i !== first)) await node.start();
  }

  /** Ends all of it, and removes its folder. */
  async remove(): Promise<void> {
    await Promise.all(this.nodes.map(node => node.kill()));
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** A node ends when the one that was to give it its state leaves meanwhile; its service manager starts it again, at its
 * start and later. */
const JOINS_AGAIN = 2;

/** Ports of a node: of SQL, of the group, of state transfers, small and whole. */
type Ports = readonly [sql: number, group: number, ist: number, sst: number];

export class EngineNode {
  readonly address: string;
  readonly port: number;
  readonly dir: string;
  readonly #host: EngineHost;
  readonly #ports: Ports;
  readonly #args: readonly string[];
  #wsrep: readonly string[] = [];
  /** Group addresses of the others. */
  #others: string[] = [];
  #child: ChildProcess | undefined;
  /** It is to end: nobody starts it again. */
  #isEnding = false;

  static async at(host: EngineHost, dir: string, args: readonly string[]): Promise<EngineNode> {
    const ports = [await freePort(), await freePort(), await freePort(), await freePort()] as const;
    return new EngineNode(host, dir, ports, args);
  }

  private constructor(host: EngineHost, dir: string, ports: Ports, args: readonly string[]) {
    this.#host = host;
    this.address = host.address;
    this.port = ports[0];
    this.#ports = ports;
    this.dir = dir;
    this.#args = args;
    watchLog(() => this.log);
  }

  get data(): string {
    return join(this.dir, 'data');
  }
  get log(): string {
    const path = join(this.dir, 'log');
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }
  /** undefined while it does not run. */
  get pid(): number | undefined {
    const child = this.#child;
    return child?.exitCode === null && child.signalCode === null ? child.pid : undefined;
  }
  get #group(): string {
    return `${this.address}:${this.#ports[1]}`;
  }

  /** Makes it a node of a Galera cluster. */
  join(nodes: readonly EngineNode[], galera: string): void {
    const [, group, ist, sst] = this.#ports;
    this.#others = nodes.filter(node => node !== this).map(node => node.#group);
    const listens = `gmcast.listen_addr=tcp://${this.#group};base_port=${group};ist.recv_addr=${this.address}:${ist}`;
    this.#wsrep = [
      '--wsrep-on=ON',
      `--wsrep-provider=${PROVIDER}`,
      '--wsrep-cluster-name=lcc-test',
      `--wsrep-node-name=${this.dir.split('/').at(-1)}`,
      `--wsrep-node-address=${this.#group}`,
      '--wsrep-sst-method=rsync',
      `--wsrep-sst-receive-address=${this.address}:${sst}`,
      `--wsrep-provider-options=${listens};gcache.size=32M;${galera}`,
    ];
  }

  /** Starts it again, also after a kill; resolves when it has answered a query. @param isFirst begins a new cluster */
  async start({ isFirst = false } = {}): Promise<void> {
    this.#isEnding = false;
    for (let left = isFirst ? 0 : JOINS_AGAIN; ; left--)
      try {
        await this.#startOnce(isFirst);
        break;
      } catch (error) {
        if (left === 0 || this.#isEnding || this.pid !== undefined) throw error;
      }
    this.#child?.once('exit', () => void (this.#isEnding || this.start().catch(() => undefined)));
  }

  async #startOnce(isFirst: boolean): Promise<void> {
    const recovered = this.#wasKilled ? [`--wsrep-start-position=${this.recovered}`] : [];
    const cluster = isFirst ? 'gcomm://' : `gcomm://${this.#others.join()}`;
    if (isFirst) this.#makeSafe();
    const more = this.#wsrep.length > 0 ? [`--wsrep-cluster-address=${cluster}`, ...recovered] : [];
    const child = this.#spawn([...this.#wsrep, ...more]);
    this.#child = child;
    const ended = once(child, 'exit').then(() => {
      throw new Error(`mariadbd ended:\n${this.log.slice(-4000)}`);
    });
    ended.catch(() => undefined);
    await Promise.race([ended, until('the engine answers', () => this.query('select 1').catch(() => false))]);
  }

  /** Ends it in order. */
  async stop(): Promise<void> {
    this.#isEnding = true;
    this.#signal('SIGTERM');
    await this.#gone();
  }

  async kill(): Promise<void> {
    this.#isEnding = true;
    this.#signal('SIGKILL');
    await this.#gone();
  }

  /** SIGSTOP: it keeps its connections, and answers nothing. */
  freeze(): void {
    this.#signal('SIGSTOP');
    if (this.pid !== undefined) requireStopped(this.pid);
  }
  thaw(): void {
    this.#signal('SIGCONT');
  }

  /** Of a trio: its network to the other nodes is gone, that to its clients is not. */
  async cut(): Promise<void> {
    await this.query("set global wsrep_provider_options='gmcast.isolate=1'");
  }
  async mend(): Promise<void> {
    await this.query("set global wsrep_provider_options='gmcast.isolate=0'");
  }

  /** Brings back a node that the others gave up while it was frozen, as the manual says; it may end meanwhile, when its donor
   * has left. Resolves when it has what the others have. */
  async reconnect(): Promise<void> {
    const join = 'set global wsrep_cluster_address=@@wsrep_cluster_address';
    await until('it is told to join', () => this.query(join).catch(() => false));
    const state = () => this.wsrep('local_state_comment').catch(() => '');
    await until('it has joined', async () => (await state()) === 'Synced');
  }

  /** One query, as the engine's root, over its socket. @param boundMs until a node that is frozen is given up */
  async query(sql: string, boundMs = 60_000): Promise<Record<string, unknown>[]> {
    const connection = await this.connect(boundMs);
    try {
      return await connection.query<Record<string, unknown>[]>(sql);
    } finally {
      await connection.end().catch(() => undefined);
    }
  }

  connect(boundMs = 60_000): Promise<Connection> {
    return createConnection({ socketPath: join(this.dir, 'sock'), user: 'root', connectTimeout: boundMs });
  }

  /** Value of a status variable of Galera, such as `cluster_size`. */
  async wsrep(name: string): Promise<string> {
    const [row] = await this.query(`show status like 'wsrep_${name}'`);
    return String(row?.['Value']);
  }

  /** The position that its files have, after a kill: `UUID:SEQNO`. */
  get recovered(): string {
    const words = [...this.#wsrep, '--wsrep-cluster-address=gcomm://', '--wsrep-recover'];
    const { stderr } = spawnSync(...this.#words(words), { encoding: 'utf8' });
    const [, position] = /Recovered position: (\S+)/.exec(stderr) ?? [];
    if (position === undefined) throw new Error(`no position recovered: ${stderr}`);
    return position;
  }

  /** Notes that its files are those of a node which ended in order at this place. */
  saveState(uuid: string, seqno: string): void {
    const lines = ['# GALERA saved state', 'version: 2.1', `uuid: ${uuid}`, `seqno: ${seqno}`];
    writeFileSync(this.#state, `${[...lines, 'safe_to_bootstrap: 0'].join('\n')}\n`);
    if (IS_ROOT) execFileSync('chown', ['mysql:mysql', this.#state]);
  }

  get #state(): string {
    return join(this.data, 'grastate.dat');
  }
  get #wasKilled(): boolean {
    return existsSync(this.#state) && /^seqno: +-1$/m.test(readFileSync(this.#state, 'utf8'));
  }

  #makeSafe(): void {
    if (!existsSync(this.#state)) return;
    const state = readFileSync(this.#state, 'utf8');
    writeFileSync(this.#state, state.replace(/^safe_to_bootstrap: 0$/m, 'safe_to_bootstrap: 1'));
  }

  #words(more: readonly string[]): [string, string[]] {
    const own = [
      `--datadir=${this.data}`,
      `--tmpdir=${this.dir}`,
      `--socket=${this.dir}/sock`,
      `--pid-file=${this.dir}/pid`,
      `--bind-address=${this.address}`,
      `--port=${this.port}`,
    ];
    const [file = '', ...first] = [...this.#host.via, ...BY_MYSQL, 'mariadbd', ...SERVER];
    return [file, [...first, ...own, ...this.#args, ...more]];
  }

  #spawn(more: readonly string[]): ChildProcess {
    const [file, args] = this.#words(more);
    const log = openSync(join(this.dir, 'log'), 'a');
    try {
      return spawn(file, args, {
        stdio: ['ignore', log, log],
        detached: true,
        env: { ...process.env, ...this.#host.env },
      });
    } finally {
      closeSync(log);
    }
  }

  /** To the programs of a state transfer, too. */
  #signal(signal: NodeJS.Signals): void {
    if (this.pid !== undefined) process.kill(-this.pid, signal);
  }

  async #gone(): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.pid === undefined) return;
    await within('the engine ends', once(child, 'exit'));
  }
}

function makeFolder({ data }: EngineNode): void {
  mkdirSync(data, { recursive: true });
  if (IS_ROOT) execFileSync('chown', ['-R', 'mysql:mysql', dirname(data)]);
}

/** Files of a new database; the other nodes of a trio have theirs from the first. */
function makeDatabase(first: EngineNode): void {
  const file = join(first.dir, 'accounts.sql');
  writeFileSync(file, `${accounts().join('\n')}\n`);
  const [program, ...words] = [...BY_MYSQL, 'mariadb-install-db', '--no-defaults'];
  const make = [`--datadir=${first.data}`, '--auth-root-authentication-method=normal', '--skip-test-db'];
  const more = [`--extra-file=${file}`, ...SERVER.filter(word => word.startsWith('--innodb'))];
  const done = spawnSync(program, [...words, ...make, ...more], { encoding: 'utf8' });
  if (done.status !== 0)
    throw new Error(`${program}: ${done.stdout}${done.stderr}${String(done.error ?? '')}`);
}

/** Statements a line, for a server that is being made. */
function accounts(): string[] {
  const of = (user: keyof typeof PASSWORDS, rights: string) => [
    `CREATE USER ${user}@'%' IDENTIFIED BY '${PASSWORDS[user]}';`,
    `GRANT ${rights} ON ${DATABASE}.* TO ${user}@'%';`,
  ];
  return [
    'FLUSH PRIVILEGES;',
    // Who has no name would be chosen before one of any host.
    "DELETE FROM mysql.global_priv WHERE User = '';",
    `CREATE DATABASE ${DATABASE};`,
    ...of('lcc', 'SELECT, INSERT, UPDATE, DELETE'),
    ...of('lcc_admin', 'ALL PRIVILEGES'),
  ];
}

const IS_ROOT = process.geteuid?.() === 0;
const AS_MYSQL = IS_ROOT ? ['--reuid=mysql', '--regid=mysql', '--clear-groups'] : [];
/** Ended with this process, however that ends. */
const BY_MYSQL = ['setpriv', ...AS_MYSQL, '--pdeathsig=KILL'];
