/**
 * The kinds of daemons of a whole LCC: what lccd starts of each, in which order it stops them, and in which
 * order all are asked what they do. Which kind a name is of: there may be several of a kind, `lccd-uns` and
 * `lccd-uns-west`.
 */
import { doorOf, otherMachines, ownDoors, type MachineDoor } from '../config/cluster.js';
import type { Settings } from '../config/settings/index.js';
import type { Services } from '../daemon/types.js';
import { formatEndpoint, parseEndpoint } from '../lib/endpoint.js';

/** Where a kind stands: readers beside the work, the others along its way, upstream first; what is cleared
 * comes last, but for the keeper of it all. */
const PHASES = ['readers', 'intake', 'queue', 'managers', 'robots', 'clearing', 'keeping'] as const;

/** Without these urls are taken and fetched all the same. */
export const BESIDE: readonly (typeof PHASES)[number][] = ['readers', 'clearing'];

interface DaemonKind {
  /** Name of the command, of the control socket, and in logs. */
  name: string;
  phase: (typeof PHASES)[number];
  /** Runs on a machine that does not own a kept home as well. */
  isOfStandby?: true;
  /** The options of each child of this kind that lccd starts; of several, each has its number in its name. */
  children: (lcc: Pick<Services, 'home' | 'settings'>, socket: (file: string) => string) => string[][];
}

/** For those that fetch from sites. */
function allowedAddresses({ bot }: Settings): string[] {
  return bot.allowAddresses.map(network => `--allow-address=${network}`);
}

/** Where other machines of the LCC connect, as options. */
function doors(option: string, { cluster }: Settings, door: MachineDoor): string[] {
  return ownDoors(cluster, door).map(endpoint => `--${option}=${formatEndpoint(endpoint)}`);
}

/** In the order in which they are started: what is connected to comes before what connects. */
export const KINDS: readonly DaemonKind[] = [
  {
    name: 'lccd-keep',
    phase: 'keeping',
    isOfStandby: true,
    children: ({ settings }) => (settings.store.url === '' ? [] : [[]]),
  },
  {
    name: 'lccd-qm',
    phase: 'queue',
    children: ({ settings }, socket) => [
      [
        `--listen-uns=${socket('qm-uns.sock')}`,
        `--listen-bm=${socket('qm-bm.sock')}`,
        ...doors('listen-bm', settings, 'managers'),
        ...(settings.rs.listen.length === 0 ? [] : [`--listen-rs=${socket('qm-rs.sock')}`]),
        ...(settings.store.url === '' ? [] : doors('listen-rs', settings, 'registration')),
      ],
    ],
  },
  {
    name: 'lccd-bm',
    phase: 'managers',
    isOfStandby: true,
    children: ({ home, settings }, socket) => [
      [
        `--source=${socket('qm-bm.sock')}`,
        ...otherMachines(settings.cluster).map(
          machine => `--source=${formatEndpoint(doorOf(machine, 'managers'))}`,
        ),
        `--listen=${socket('bm.sock')}`,
        ...doors('listen-content', settings, 'content'),
        `--store=${home.store}`,
        `--machineid=${settings.bm.machineId}`,
        `--bots=${settings.bm.bots}`,
        `--slots=${settings.bm.slots}`,
        ...allowedAddresses(settings),
      ],
    ],
  },
  // Robots of this machine are threads of lccd-bm, and answer as daemons.
  { name: 'lccbot', phase: 'robots', children: () => [] },
  {
    name: 'lccd-uns',
    phase: 'intake',
    children: ({ settings }, socket) => [
      [
        ...settings.uns.listen.map(endpoint => `--listen=${endpoint}`),
        `--qm=${socket('qm-uns.sock')}`,
        `--listen-spider=${socket('spider.sock')}`,
        ...(settings.store.url === '' ? [] : doors('listen-fe', settings, 'front ends')),
        ...(settings.rs.listen.length === 0
          ? []
          : [`--listen-door=${socket('uns-door.sock')}`, `--listen-push=${socket('uns-push.sock')}`]),
      ],
    ],
  },
  {
    name: 'lccd-cu',
    phase: 'readers',
    children: ({ settings }) =>
      settings.cu.listen.length + settings.cu.httpListen.length + settings.cluster.machines.length === 0
        ? []
        : [
            [
              ...doors('listen-machines', settings, 'lccq'),
              ...settings.cu.listen.map(endpoint => `--listen=${endpoint}`),
              ...settings.cu.httpListen.map(endpoint => `--http-listen=${endpoint}`),
            ],
          ],
  },
  {
    name: 'lccd-rs',
    phase: 'readers',
    children: ({ settings }) => {
      const { rs, uns: local } = settings;
      // Where lccd has its UNS listen, which need not be what lcc.toml says.
      const [uns] = rs.uns === '' ? local.listen : [];
      const told = uns === undefined ? [] : [`--uns=${formatEndpoint(parseEndpoint(uns))}`];
      return rs.listen.length === 0
        ? []
        : [
            [
              ...rs.listen.map(endpoint => `--listen=${endpoint}`),
              ...rs.operatorListen.map(endpoint => `--operator-listen=${endpoint}`),
              ...told,
              ...allowedAddresses(settings),
            ],
          ];
    },
  },
  {
    name: 'lccd-hard',
    phase: 'clearing',
    children: ({ settings }) => (settings.clear.enabled ? [[]] : []),
  },
  {
    name: 'lccd-soft',
    phase: 'clearing',
    children: ({ settings }) => (settings.clear.enabled ? [[]] : []),
  },
];

/** Daemons that lccd does not start: they may be anywhere, and a URL server ends when there is nothing left
 * to do. */
export const ALONE: readonly string[] = ['lccd-fe', 'lccspider', 'lccstored', 'lccurld'];

const namesOf = (phases: readonly string[]) =>
  phases.flatMap(phase => KINDS.filter(kind => kind.phase === phase).map(({ name }) => name));

/** Work is handed downstream before it is let go of upstream: asked in this order, none is overlooked on its
 * way. */
export const FLOW: readonly string[] = namesOf(PHASES.filter(phase => phase !== 'readers'));

/** Upstream first: what has been handed on can still be taken. */
export const STOP_ORDER: readonly string[] = namesOf(PHASES);

export function isOfKind(name: string, kind: string): boolean {
  // There is one lccd itself; the other daemons have names that begin like it.
  return name === kind || (kind !== 'lccd' && name.startsWith(`${kind}-`));
}

/** True for what runs on a machine that does not own a kept home, too. */
export function isOfStandby(name: string): boolean {
  return !KINDS.some(
    kind => isOfKind(name, kind.name) && kind.isOfStandby !== true && kind.name !== 'lccbot',
  );
}

/** The place of a name in an order of kinds; after all of them when it is of none. */
export function rankOf(name: string, kinds: readonly string[]): number {
  const at = kinds.findIndex(kind => isOfKind(name, kind));
  return at < 0 ? kinds.length : at;
}

/** True if it is the name of a UNS. */
export function isUns(name: string): boolean {
  return isOfKind(name, 'lccd-uns');
}
