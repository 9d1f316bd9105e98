/**
 * The machines of one LCC (`[cluster]`), and where each listens for the others: on five ports, one after the
 * other.
 */
import { hostname } from 'node:os';
import { parseEndpoint, type Endpoint } from '../lib/endpoint.js';
import { LccError } from '../lib/errors.js';
import type { Settings } from './settings/index.js';

/** Listeners for machines, by their distance from the first port. */
const PORTS = { managers: 0, content: 1, lccq: 2, 'front ends': 3, registration: 4 } as const;
/** From those of one home to those of the next, where several lie side by side. */
const PORTS_APART = 10;
/** Times in `cluster.lease_ms` that the owner of a home says that it is alive. */
export const BEATS_PER_LEASE = 6;
/** For an owner that is silent: another machine may own the home by then. */
export const OWNER_PATIENCE_MS = 10_000;
export type MachineDoor = keyof typeof PORTS;

export interface Machine {
  /** As cluster.machines has it; in the engine, too. */
  name: string;
  host: string;
  /** The first of its ports. */
  port: number;
}

/** Name of this machine among those of the LCC. */
export function ownName({ machine }: Settings['cluster']): string {
  return machine === '' ? hostname() : machine;
}

/** A machine by its name, as home `shard` listens there. */
function machineNamed(name: string, { port, shard }: Pick<Settings['cluster'], 'port' | 'shard'>): Machine {
  const at = parseEndpoint(name, port + PORTS_APART * shard);
  if (at.kind === 'unix') throw new LccError('config', `cluster.machines: ${name}: write host or host:port`);
  return { name, host: at.host, port: at.port };
}

/** All machines, in the order of the setting; none where there is one machine. */
export function machinesOf({ machines, ...home }: Settings['cluster']): Machine[] {
  return machines.map(name => machineNamed(name, home));
}

/** The other machines. @throws LccError `config` where this one is not among them */
export function otherMachines(cluster: Settings['cluster']): Machine[] {
  const all = machinesOf(cluster);
  if (all.length > 0) ownMachine(cluster);
  return all.filter(({ name }) => name !== ownName(cluster));
}

/** @throws LccError `config` where it is not among the machines */
function ownMachine(cluster: Settings['cluster']): Machine {
  const name = ownName(cluster);
  const own = machinesOf(cluster).find(machine => machine.name === name);
  if (own !== undefined) return own;
  throw new LccError(
    'config',
    `cluster.machines does not have this machine, "${name}"; add it, or set cluster.machine to its name there`,
  );
}

/** Where a machine is reached. */
export function doorOf({ host, port }: Machine, door: MachineDoor): Endpoint {
  return { kind: 'tls', host, port: port + PORTS[door] };
}

/** Where the owner of a home is reached, at `cluster.port` where its name has no port. */
export function doorOfHome(
  { port }: Pick<Settings['cluster'], 'port'>,
  { owner, shard }: { owner: string; shard: number },
  door: MachineDoor,
): Endpoint {
  return doorOf(machineNamed(owner, { port, shard }), door);
}

/** Where this machine listens for the others: on all of its addresses, or nowhere where there are no others.
 * @throws LccError `config` as `otherMachines` */
export function ownDoors(cluster: Settings['cluster'], door: MachineDoor): Endpoint[] {
  if (cluster.machines.length === 0) return [];
  return [doorOf({ ...ownMachine(cluster), host: '0.0.0.0' }, door)];
}
