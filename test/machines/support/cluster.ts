/**
 * An LCC over machines: Queue Manager and UNS on one, each store with its robots on another, a site on one more, and if
 * wanted a relay on its own. Content providers deliver from the machine of the site.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startDaemon, statusOf, type Daemon } from '../../support/daemon.js';
import { ROOT } from '../../support/tree.js';
import { until } from '../../support/until.js';
import { Network, type Machine } from './network.js';
import { MachineSite } from './site.js';

const runFile = promisify(execFile);
const [UNS_PORT, BM_PORT, TLS_PORT] = [9000, 9010, 9011];
/** Links that are silent for three of these are given up. */
const PING_MS = 700;

export interface Held {
  curl: string;
  md5: string;
  fetched_machineid: string;
  fetched_fileid: string;
}

/** A machine with a store: its slots, one robot for each number, and how it talks to the one above. */
export interface StoreMachine {
  machine: Machine;
  slots: readonly number[];
  tls: boolean;
}

export class Cluster {
  readonly dir = mkdtempSync(join(tmpdir(), 'lcc-cluster-'));
  readonly network = new Network();
  readonly lcc: Machine;
  /** Where Bot Managers connect: the machine of the Queue Manager, or a relay's. */
  readonly hub: Machine;
  readonly site: MachineSite;
  readonly stores = new Map<string, StoreMachine>();
  readonly providers: readonly number[];
  readonly #siteMachine: Machine;
  readonly #daemons: Daemon[] = [];
  readonly #passwords = new Map<number, string>();

  constructor(options: { relay: boolean; providers: number }) {
    this.lcc = this.network.machine('lcc');
    this.hub = options.relay ? this.network.machine('relay') : this.lcc;
    this.#siteMachine = this.network.machine('site');
    this.site = new MachineSite(this.#siteMachine, join(this.dir, 'site'));
    this.providers = Array.from({ length: options.providers }, (_, i) => i + 1);
    this.#makeCertificate();
    for (const machine of new Set([this.lcc, this.hub]))
      this.#configure(
        machine,
        `[net]
allow_plain = true
allow_strangers = true
tls_cert = "${this.dir}/cert.pem"
tls_key = "${this.dir}/key.pem"
[wire]
ping_interval_ms = ${PING_MS}
[qm]
max_connections_per_host = 1000
fsm_away_ms = 0
fsm_page_files = 5
backoff_min_ms = 100
retry_delay_ms = 100
`,
      );
  }

  homeOf(machine: Machine): string {
    return join(this.dir, machine.name);
  }

  /** One more machine that keeps content. */
  addStore(name: string, slots: readonly number[], tls: boolean): StoreMachine {
    const machine = this.network.machine(name);
    const home = this.#configure(
      machine,
      `[net]
allow_plain = true
allow_strangers = true
tls_ca = "${this.dir}/cert.pem"
[wire]
ping_interval_ms = ${PING_MS}
[bm]
machine_id = "${name}"
grace_ms = 0
[bot]
max_connections_per_host = 1000
allow_addresses = ["${this.network.cidr}"]
`,
    );
    // Content users of every machine read the one database.
    symlinkSync(join(this.homeOf(this.lcc), 'lcc.db'), join(home, 'lcc.db'));
    const store = { machine, slots, tls };
    this.stores.set(name, store);
    return store;
  }

  async start(): Promise<void> {
    await this.site.start();
    for (const pid of this.providers) {
      const shown = await this.run('lccpidb', 'add', `--pid=${pid}`, `--root=${this.site.url}${pid}/`);
      this.#passwords.set(pid, shown.trim());
    }
    await this.startLcc();
    if (this.hub !== this.lcc) await this.startRelay();
    await Promise.all([...this.stores.values()].map(store => this.startStore(store)));
    await this.untilHere(...this.stores.keys());
  }

  async startLcc(): Promise<void> {
    const { address } = this.lcc;
    const run = join(this.homeOf(this.lcc), 'run');
    const qm = [`--listen-uns=unix:${run}/qm-uns.sock`, `--listen-bm=${address}:${BM_PORT}`];
    await this.#start(this.lcc, 'lccd-qm', [...qm, `--listen-bm=tls:${address}:${TLS_PORT}`]);
    await this.#start(this.lcc, 'lccd-uns', [
      `--listen=${address}:${UNS_PORT}`,
      `--qm=unix:${run}/qm-uns.sock`,
    ]);
  }

  async startRelay(): Promise<void> {
    const { address } = this.hub;
    await this.#start(this.hub, 'lccd-bm', [
      `--source=${this.lcc.address}:${BM_PORT}`,
      `--listen=${address}:${BM_PORT}`,
      `--listen=tls:${address}:${TLS_PORT}`,
    ]);
  }

  async startStore({ machine, slots, tls }: StoreMachine): Promise<void> {
    const socket = `unix:${this.homeOf(machine)}/run/bm.sock`;
    const { address } = this.hub;
    const source = tls ? `tls:${address}:${TLS_PORT}` : `${address}:${BM_PORT}`;
    await this.#start(machine, 'lccd-bm', [
      `--source=${source}`,
      `--listen=${socket}`,
      `--listen=${machine.address}:${BM_PORT}`,
      `--machineid=${machine.name}`,
    ]);
    await Promise.all(slots.map((count, i) => this.startRobot(machine, count, `lccbot-${i}`)));
  }

  /** A robot on the machine of a store. */
  async startRobot(machine: Machine, slots: number, name: string): Promise<void> {
    const socket = `unix:${this.homeOf(machine)}/run/bm.sock`;
    await this.#start(machine, 'lccbot', [`--bm=${socket}`, `--slots=${slots}`, `--name=${name}`]);
  }

  /** A machine with nothing but a robot, for the Bot Manager of a store. */
  addFarm(name: string): Machine {
    const machine = this.network.machine(name);
    this.#configure(
      machine,
      `[bot]\nmax_connections_per_host = 1000\nallow_addresses = ["${this.network.cidr}"]\n`,
    );
    return machine;
  }

  async startFarm(farm: Machine, { machine }: StoreMachine, slots: number): Promise<void> {
    await this.#start(farm, 'lccbot', [`--bm=${machine.address}:${BM_PORT}`, `--slots=${slots}`]);
  }

  /** What the daemons of a machine have logged. */
  log(machine: Machine): string {
    return this.#daemons
      .filter(({ child }) => child.spawnargs.includes(machine.namespace))
      .map(daemon => daemon.log)
      .join('');
  }

  /** Runs a command of ours with the home of the LCC, or of another machine. @throws Error when it fails */
  async run(command: string, ...args: string[]): Promise<string> {
    return this.runAs(this.lcc, command, ...args);
  }
  async runAs(machine: Machine, command: string, ...args: string[]): Promise<string> {
    const env = { ...process.env, LCC_HOME: this.homeOf(machine), LCC_CONFIG: '' };
    const { stdout } = await runFile(process.execPath, [join(ROOT, 'bin', command), ...args], {
      env,
      maxBuffer: 1 << 26,
    });
    return stdout;
  }

  /** Every provider's content provider delivers these pages, as they are now, over the network. */
  async deliver(pages: readonly string[], more = ''): Promise<void> {
    const input = pages.map(page => `<url curl="${page}" mimetype="text/html" ${more}/>\n`).join('');
    await Promise.all(this.providers.map(pid => this.#deliver(pid, input)));
  }

  async #deliver(pid: number, input: string): Promise<void> {
    const [file, ...args] = [
      ...this.#siteMachine.via,
      process.execPath,
      join(ROOT, 'bin/lcccp'),
      `--uns=${this.lcc.address}:${UNS_PORT}`,
      `--pid=${pid}`,
      `--urlprefix=${this.site.url}${pid}/`,
    ];
    const env = { ...process.env, LCC_PWD: this.#passwords.get(pid) };
    const child = spawn(file, args, { env, stdio: ['pipe', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    child.stdin.end(input);
    const status = await new Promise(resolve => void child.once('close', resolve));
    if (status !== 0) throw new Error(`lcccp ended with ${String(status)}: ${said}`);
  }

  async untilIdle(): Promise<void> {
    await this.run('lccstat', '--until-idle=120');
  }

  /** Resolves when these machines, and no others, are known to the Queue Manager, with all their slots. */
  async untilHere(...names: string[]): Promise<void> {
    const slots = names.flatMap(name => this.stores.get(name)?.slots ?? []).reduce((a, b) => a + b, 0);
    await until(`${names.join(', ')} are here`, async () => {
      const managers = (await this.status())['bot_managers'] as { machines: string[]; slots: number }[];
      const here = managers.flatMap(({ machines }) => machines).toSorted();
      const offered = managers.reduce((sum, manager) => sum + manager.slots, 0);
      return here.join() === names.toSorted().join() && offered === slots;
    });
  }

  /** Status of the Queue Manager. */
  status(): Promise<Record<string, unknown>> {
    return statusOf(this.homeOf(this.lcc), 'lccd-qm');
  }
  /** What `lccstat` has to say on a machine. */
  async reasons(machine: Machine): Promise<string[]> {
    const printed = await this.runAs(machine, 'lccstat', '--json');
    return (JSON.parse(printed) as { reasons: string[] }).reasons;
  }

  async held(): Promise<Held[]> {
    const printed = await this.run(
      'lccq',
      '--format=jsonl',
      '--fields=curl,md5,fetched_machineid,fetched_fileid',
    );
    return printed
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line) as Held);
  }

  pathOf({ fetched_machineid: machineId, fetched_fileid: fileId }: Held): string {
    return join(this.dir, machineId, 'store', fileId);
  }

  /** What is wrong with what is held: pages missing or not wanted, files missing or other than their row, old versions. */
  async faults(pages: readonly string[]): Promise<string[]> {
    const wanted = new Set(
      this.providers.flatMap(pid => pages.map(page => `${this.site.url}${pid}/${page}`)),
    );
    const faults: string[] = [];
    for (const row of await this.held()) {
      const path = this.pathOf(row);
      if (!wanted.delete(row.curl)) faults.push(`${row.curl}: not wanted, or twice`);
      else if (!existsSync(path)) faults.push(`${row.curl}: ${path} is not there`);
      else {
        const md5 = (content: string | Buffer) => createHash('md5').update(content).digest('hex');
        const content = readFileSync(path);
        if (md5(content) !== row.md5) faults.push(`${row.curl}: ${path} is not what its row says`);
        else if (content.toString() !== this.site.contentOf(row.curl.slice(this.site.url.length - 1)))
          faults.push(`${row.curl}: an old version`);
      }
    }
    return [...faults, ...[...wanted].map(curl => `${curl}: missing`)];
  }

  async remove(): Promise<void> {
    await this.site.stop();
    this.network.remove();
    await Promise.all(this.#daemons.map(({ ended }) => ended));
    rmSync(this.dir, { recursive: true, force: true });
  }

  #configure(machine: Machine, toml: string): string {
    const home = this.homeOf(machine);
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'lcc.toml'), toml);
    return home;
  }

  async #start(machine: Machine, command: string, args: string[]): Promise<void> {
    const daemon = startDaemon(command, this.homeOf(machine), args, { LCC_CONFIG: '' }, machine.via);
    this.#daemons.push(daemon);
    await daemon.ready;
  }

  #makeCertificate(): void {
    const names = [...new Set([this.lcc, this.hub])].map(({ address }) => `IP:${address}`).join(',');
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
        .concat(['-subj', '/CN=hub', '-addext', `subjectAltName=${names}`])
        .concat(['-keyout', join(this.dir, 'key.pem'), '-out', join(this.dir, 'cert.pem')]),
      { stdio: 'ignore' },
    );
  }
}
