/** A machine of a cluster (cluster.ts). */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from '../machines/support/network.js';
import { startDaemon, type Daemon } from './daemon.js';
import type { EngineHost, EngineNode } from './engine.js';
import { killAll, signalAll } from './processes.js';
import { shell } from './shell.js';
import { ROOT } from './tree.js';

const CLOCK = join(ROOT, 'dist/test/support/other-clock.js');

/** One machine: all that runs with its home, the engine's node too. */
export class KeptMachine {
  /** As `cluster.machines` has it. */
  readonly name: string;
  readonly home: string;
  readonly host: EngineHost;
  /** Its place in the network, if there is one. */
  readonly link: Machine | undefined;
  /** Of the trio, the one here. */
  node: EngineNode | undefined;
  #lccd: Daemon | undefined;
  #logged = '';
  /** The LCC that is installed there. */
  #tree = ROOT;

  constructor(home: string, host: EngineHost, port: number, link: Machine | undefined) {
    this.name = `${host.address}:${port}`;
    this.home = home;
    this.host = host;
    this.link = link;
    mkdirSync(home, { recursive: true });
  }

  /** Path of the socket where content providers connect. */
  get door(): string {
    return join(this.home, 'uns.sock');
  }
  get log(): string {
    return this.#logged + (this.#lccd?.log ?? '');
  }
  get #clock(): string {
    return join(this.home, 'clock');
  }
  get env(): NodeJS.ProcessEnv {
    const clock = { LCC_TEST_CLOCK: this.#clock, NODE_OPTIONS: `--import=${CLOCK}` };
    return {
      ...process.env,
      ...(existsSync(this.#clock) && clock),
      LCC_HOME: this.home,
      LCC_CONFIG: '',
      PATH: `${join(this.#tree, 'bin')}:${process.env['PATH']}`,
    };
  }

  /** The wall clock of what is started from now on, and of what was once this was called before. */
  setClock(apartMs: number): void {
    writeFileSync(this.#clock, String(apartMs));
  }

  /** Starts lccd: as owner or as standby. */
  async start(env: NodeJS.ProcessEnv = {}): Promise<void> {
    this.#logged = this.log;
    this.#lccd = startDaemon('lccd', this.home, [], { ...this.env, ...env }, this.host.via, this.#tree);
    await this.#lccd.ready;
  }

  /** Installs another LCC, as the package does: lccd ends in order, and the other one starts. */
  async install(tree: string): Promise<void> {
    await this.stop();
    this.#tree = tree;
    await this.start();
  }

  /** Ends lccd in order. */
  async stop(): Promise<void> {
    await this.#lccd?.stop();
  }

  /** Pulls its plug: nothing of it runs any more. */
  async kill(): Promise<void> {
    await Promise.all([this.node?.kill(), this.killLccd()]);
  }

  /** All of the LCC there, and not the engine's node. */
  killLccd(): Promise<void> {
    return killAll(this.home);
  }

  /** Stops all of it where it stands; its sockets stay. */
  freeze(): void {
    this.node?.freeze();
    signalAll(this.home, 'SIGSTOP');
  }
  thaw(): void {
    this.node?.thaw();
    signalAll(this.home, 'SIGCONT');
  }

  /** Resolves when lccd or a child of it has logged that, this time. */
  async logged(text: string): Promise<void> {
    await this.#lccd?.logged(text);
  }

  /** A command line there. @throws when it does not exit 0 */
  async run(line: string): Promise<string> {
    const { status, stdout, stderr } = await this.sh(line);
    if (status !== 0) throw new Error(`exit ${status} from ${line}: ${stderr}`);
    return stdout;
  }
  sh(line: string) {
    // By its PATH, where it is another LCC than that of the tests.
    const by = this.#tree === ROOT ? '' : 'env ';
    return shell(`${this.host.via.join(' ')} ${by}${line}`, this.env, this.home);
  }
}
