/**
 * Machines of their own on one computer: network namespaces, each with an address, joined by a bridge in a namespace that
 * is nobody's machine. Nothing of it touches the network of the computer, and names carry this process's id, so that
 * several tests can have theirs. Files are shared: what a machine keeps lies in a folder of its own.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Why there can be no machines, or false: for `skip`. Under CI a missing program is a failure, not a skip. */
export const noMachines = ((): string | false => {
  const name = `lcc-probe-${process.pid}`;
  const made = spawnSync('ip', ['netns', 'add', name], { encoding: 'utf8' });
  if (made.error !== undefined) return process.env['CI'] === 'true' ? false : 'no ip(8)';
  if (made.status !== 0) return `no network namespaces: ${made.stderr.trim()}`;
  ip('netns', 'del', name);
  return false;
})();

function ip(...args: string[]): string {
  // What it complains of is part of the error.
  return execFileSync('ip', args, { encoding: 'utf8', stdio: 'pipe' });
}

const SUBNET = '10.77.0';
let networks = 0;

export class Network {
  readonly #prefix = `lcc${process.pid}-${++networks}`;
  readonly #machines: Machine[] = [];
  /** All addresses of the network, in the form in which a robot is allowed them. */
  readonly cidr = `${SUBNET}.0/24`;

  constructor() {
    if (networks === 1) removeOrphans();
    ip('netns', 'add', this.#switch);
    ip('-n', this.#switch, 'link', 'add', 'bridge', 'type', 'bridge');
    ip('-n', this.#switch, 'link', 'set', 'bridge', 'up');
  }

  get #switch(): string {
    return `${this.#prefix}-switch`;
  }

  /** A machine, connected. */
  machine(name: string): Machine {
    const number = this.#machines.length + 1;
    const namespace = `${this.#prefix}-${name}`;
    const port = `port${number}`;
    ip('netns', 'add', namespace);
    ip(
      'link',
      'add',
      'eth0',
      'netns',
      namespace,
      'type',
      'veth',
      'peer',
      'name',
      port,
      'netns',
      this.#switch,
    );
    ip('-n', namespace, 'addr', 'add', `${SUBNET}.${number}/24`, 'dev', 'eth0');
    ip('-n', namespace, 'link', 'set', 'lo', 'up');
    ip('-n', namespace, 'link', 'set', 'eth0', 'up');
    const machine = new Machine(name, `${SUBNET}.${number}`, namespace, [this.#switch, port]);
    machine.mend();
    this.#machines.push(machine);
    return machine;
  }

  /** Ends every process on every machine, and takes all of it away. */
  remove(): void {
    for (const { namespace } of this.#machines) removeNamespace(namespace);
    removeNamespace(this.#switch);
  }
}

/** Removes what a test that was killed has left. */
function removeOrphans(): void {
  for (const [, namespace = '', pid = ''] of ip('netns', 'list').matchAll(/^(lcc(\d+)-\S+)/gm))
    if (!existsSync(`/proc/${pid}`)) {
      try {
        removeNamespace(namespace);
      } catch {
        // Another test does the same at this moment.
      }
    }
}

function removeNamespace(namespace: string): void {
  killAll(namespace);
  ip('netns', 'del', namespace);
}

/** SIGKILL for every process of a namespace. */
function killAll(namespace: string): void {
  for (const pid of ip('netns', 'pids', namespace).split('\n').filter(Boolean).map(Number)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Gone by itself.
    }
  }
}

/** How a link fails: its carrier is gone, or packets vanish somewhere on their way. Neither resets a connection. */
export type Cut = 'down' | 'silent';

export class Machine {
  readonly name: string;
  readonly address: string;
  readonly namespace: string;
  readonly #port: readonly [namespace: string, device: string];

  constructor(name: string, address: string, namespace: string, port: readonly [string, string]) {
    this.name = name;
    this.address = address;
    this.namespace = namespace;
    this.#port = port;
  }

  /** What is put in front of a command line to run it on this machine. */
  get via(): readonly [string, ...string[]] {
    return ['ip', 'netns', 'exec', this.namespace];
  }

  cut(how: Cut): void {
    this.#link(how === 'down' ? 'down' : 'nomaster');
  }

  mend(): void {
    this.#link('master', 'bridge');
    this.#link('up');
  }

  /** Nothing passes any more between it and the other, while both reach all else. Neither is told. */
  separate(other: Machine): void {
    ip('-n', this.namespace, 'route', 'add', 'blackhole', other.address);
    ip('-n', other.namespace, 'route', 'add', 'blackhole', this.address);
  }

  rejoin(other: Machine): void {
    ip('-n', this.namespace, 'route', 'del', 'blackhole', other.address);
    ip('-n', other.namespace, 'route', 'del', 'blackhole', this.address);
  }

  /** Ends all its processes with SIGKILL, as a power cut ends them; the link stays. */
  kill(): void {
    killAll(this.namespace);
  }

  #link(...change: string[]): void {
    const [namespace, device] = this.#port;
    ip('-n', namespace, 'link', 'set', 'dev', device, ...change);
  }
}
