/**
 * The kinds of daemons of a whole LCC: what lccd starts of each, in which order it stops them, and in which order all are asked
 * what they do. Which kind a name is of: there may be several of a kind, `lccd-uns` and `lccd-uns-west`.
 */
import type { Config } from '../config/load.js';
import { formatEndpoint, parseEndpoint } from '../lib/endpoint.js';

/** Where a kind stands: readers beside the work, the others along its way, upstream first; what is cleared comes last. */
const PHASES = ['readers', 'intake', 'queue', 'managers', 'robots', 'clearing'] as const;

/** Without these urls are taken and fetched all the same. */
export const BESIDE: readonly (typeof PHASES)[number][] = ['readers', 'clearing'];

interface DaemonKind {
  /** Of its command, its control socket and in logs. */
  name: string;
  phase: (typeof PHASES)[number];
  /** The options of each child of this kind that lccd starts; of several, each has its number in its name. */
  children: (config: Config, socket: (file: string) => string) => string[][];
}

/** For those that fetch from sites. */
function allowedAddresses(config: Config): string[] {
  return config.get('bot.allow_addresses').map(network => `--allow-address=${network}`);
}

/** In the order in which they are started: what is connected to comes before what connects. */
export const KINDS: readonly DaemonKind[] = [
  {
    name: 'lccd-qm',
    phase: 'queue',
    children: (config, socket) => [
      [
        `--listen-uns=${socket('qm-uns.sock')}`,
        `--listen-bm=${socket('qm-bm.sock')}`,
        ...(config.get('rs.listen').length === 0 ? [] : [`--listen-rs=${socket('qm-rs.sock')}`]),
      ],
    ],
  },
  {
    name: 'lccd-bm',
    phase: 'managers',
    children: (config, socket) => [
      [
        `--source=${socket('qm-bm.sock')}`,
        `--listen=${socket('bm.sock')}`,
        `--store=${config.home.store}`,
        `--machineid=${config.get('bm.machine_id')}`,
      ],
    ],
  },
  {
    name: 'lccbot',
    phase: 'robots',
    children: (config, socket) =>
      Array.from({ length: config.get('bm.bots') }, () => [
        `--bm=${socket('bm.sock')}`,
        `--slots=${config.get('bm.slots')}`,
        ...allowedAddresses(config),
      ]),
  },
  {
    name: 'lccd-uns',
    phase: 'intake',
    children: (config, socket) => [
      [
        ...config.get('uns.listen').map(endpoint => `--listen=${endpoint}`),
        `--qm=${socket('qm-uns.sock')}`,
        `--listen-spider=${socket('spider.sock')}`,
        ...(config.get('rs.listen').length === 0 ? [] : [`--listen-door=${socket('uns-door.sock')}`]),
      ],
    ],
  },
  {
    name: 'lccd-cu',
    phase: 'readers',
    children: config => {
      const endpoints = config.get('cu.listen');
      return endpoints.length === 0 ? [] : [endpoints.map(endpoint => `--listen=${endpoint}`)];
    },
  },
  {
    name: 'lccd-rs',
    phase: 'readers',
    children: config => {
      const endpoints = config.get('rs.listen');
      const operators = config.get('rs.operator_listen');
      // Where lccd has its UNS listen, which need not be what lcc.toml says.
      const [uns] = config.get('rs.uns') === '' ? config.get('uns.listen') : [];
      const told = uns === undefined ? [] : [`--uns=${formatEndpoint(parseEndpoint(uns))}`];
      return endpoints.length === 0
        ? []
        : [
            [
              ...endpoints.map(endpoint => `--listen=${endpoint}`),
              ...operators.map(endpoint => `--operator-listen=${endpoint}`),
              ...told,
              ...allowedAddresses(config),
            ],
          ];
    },
  },
  {
    name: 'lccd-hard',
    phase: 'clearing',
    children: config => (config.get('clear.enabled') ? [[]] : []),
  },
  {
    name: 'lccd-soft',
    phase: 'clearing',
    children: config => (config.get('clear.enabled') ? [[]] : []),
  },
];

/** Daemons that lccd does not start: they may be anywhere, and a URL server ends when there is nothing left to do. */
export const ALONE: readonly string[] = ['lccspider', 'lccstored', 'lccurld'];

const namesOf = (phases: readonly string[]) =>
  phases.flatMap(phase => KINDS.filter(kind => kind.phase === phase).map(({ name }) => name));

/** Work is handed downstream before it is let go of upstream: asked in this order, none is overlooked on its way. */
export const FLOW: readonly string[] = namesOf(PHASES.filter(phase => phase !== 'readers'));

/** Upstream first: what has been handed on can still be taken. */
export const STOP_ORDER: readonly string[] = namesOf(PHASES);

export function isOfKind(name: string, kind: string): boolean {
  // There is one lccd itself; the other daemons have names that begin like it.
  return name === kind || (kind !== 'lccd' && name.startsWith(`${kind}-`));
}

/** The place of a name in an order of kinds; after all of them when it is of none. */
export function rankOf(name: string, kinds: readonly string[]): number {
  const at = kinds.findIndex(kind => isOfKind(name, kind));
  return at < 0 ? kinds.length : at;
}

/** Whether it is the name of a UNS. */
export function isUns(name: string): boolean {
  return isOfKind(name, 'lccd-uns');
}
