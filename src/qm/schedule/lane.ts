/** Parts of lanes: the rules, a provider and its states, a lane and its states, leave to send. */
import { transitions, type StateOf } from '../../lib/states.js';
import { LINKS, type SetClass } from '../../wire/origin.js';

/** 0 to 2; 2 goes first. */
export const PRIORITIES = 3;
/** Priority of links -1, of scans, audits and slow pushes -2: less than all that was announced. */
export const LOWEST = -2;

export type Priority = -2 | -1 | 0 | 1 | 2;

/** Priority of a provider whose next url is of a set of that class. */
export function priorityOf(own: 0 | 1 | 2, setClass: SetClass): Priority {
  if (setClass < LINKS) return own;
  return setClass === LINKS ? -1 : LOWEST;
}

/** A host that nothing is known of has no limit: what the next url is of is seen when that is taken. */
export const ANY_HOST = '';

export interface LaneRules {
  overbookPercent: number;
  /** Urls on their way to a Bot Manager that its lanes share when that makes their windows larger. */
  sharedWindow: number;
  /** Urls of one lane before an equal that waits gets it. */
  turn: number;
  /** A provider that has waited this long counts one priority higher. */
  ageingMs: number;
  /** Lanes at one host at a time, of all providers together. */
  perHost: number;
  /** Lanes of one group at a time, of all its providers together. */
  perGroup: number;
}

export interface LaneProvider {
  pid: number;
  priority: Priority;
  parallel: number;
  /** Urls on their way in one lane, at least; 1: exactly one. */
  window: number;
  /** Scheme, host and port of all its urls; undefined when it has several: then those of its next url are
   * seen as that is taken. Of one in a group that is its host, wherever its urls are. */
  host?: string | undefined;
}

const GROUP = 'group ';

/** Name that stands for the hosts of a group's providers. */
export function hostOfGroup(name: string): string {
  return GROUP + name;
}

export function isGroup(host: string): boolean {
  return host.startsWith(GROUP);
}

const becomes = transitions('lane', {
  overbooked: ['in-slot', 'recalled', 'closed'],
  'in-slot': ['recalled', 'closed'],
  recalled: ['closed'],
  closed: [],
});

/**
 * The states of a lane; docs/design/states.md says what ends each.
 *
 *     opened ──a slot is free──▶ in-slot ───╮
 *        │                         ▲        ├──recall──▶ recalled ──╮
 *        ╰──none is──▶ overbooked ─╯────────╯                       │
 *                      any of them ──nothing is on its way, or its Bot Manager is gone──▶ closed
 */
export type LaneState = StateOf<typeof becomes>;

/** @throws Error for a transition that LaneState does not draw */
export function enter(lane: Lane, state: LaneState): void {
  lane.state = becomes(lane.state, state, lane.name);
}

export interface Lane {
  /** Name in requests of this lane: `pid`, or `pid.n` for the further ones of a parallel provider. */
  name: string;
  pid: number;
  provider: ProviderLanes;
  worker: number;
  /** Where its urls are fetched from: of one host at a time. */
  host: string;
  inFlight: number;
  turnLeft: number;
  /** Urls that were answered, or came back. */
  done: number;
  /** Priority of its provider when it was opened, until the turn is over. */
  priority: number;
  state: LaneState;
}

const providerBecomes = transitions('provider', {
  resting: ['waiting', 'parked', 'delayed', 'hindered'],
  waiting: ['in-lane', 'parked', 'delayed', 'hindered', 'resting'],
  parked: ['waiting', 'delayed', 'hindered', 'resting'],
  'in-lane': ['waiting', 'parked', 'delayed', 'hindered', 'resting'],
  delayed: ['waiting', 'parked', 'hindered', 'resting'],
  hindered: ['waiting', 'parked', 'delayed', 'in-lane', 'resting'],
});

/** The states of a provider; lanes.ts says what moves each, docs/design/states.md what is left of it after a
 * restart. One that may have several lanes can have a place in the line while it is in a lane. */
export type ProviderState = StateOf<typeof providerBecomes>;

/** A place in the line for slots, or beside it: `parked` until the host has a place. */
export interface LinePlace {
  host: string;
  priority: number;
  sinceMs: number;
  parked: boolean;
}

/** A provider as its lanes see it. */
export interface ProviderLanes extends LaneProvider {
  state: ProviderState;
  /** Host of its next url, as far as that is known. */
  host: string;
  hasUrls: boolean;
  hindrances: Set<Hindrance>;
  /** No url is sent before a time: because of a delay of its own, … */
  isDelayed: boolean;
  /** … or so that others get on. */
  makesRoom: boolean;
  /** Undefined while it wants no further lane. */
  place: LinePlace | undefined;
  /** Send one url only and see: the site did not answer last time. */
  probing: boolean;
  /** True if it has a large set, and others are there. */
  yielding: boolean;
  /** Most urls on their way in one lane, so that its other lanes find work. */
  share: number;
  lanes: Map<string, Lane>;
}

/** True if a url of it may be sent, in a lane that it has or gets. */
export function mayFetch({ hasUrls, hindrances, isDelayed, makesRoom }: ProviderLanes): boolean {
  return hasUrls && hindrances.size === 0 && !isDelayed && !makesRoom;
}

/** Something of the provider has changed: it enters the state that this means. @throws Error for a transition
 * that is none */
export function restate(provider: ProviderLanes): void {
  const state = meantBy(provider);
  if (state !== provider.state) provider.state = providerBecomes(provider.state, state, provider.pid);
}

/** The first that fits holds. */
function meantBy(provider: ProviderLanes): ProviderState {
  if (provider.hindrances.size > 0) return 'hindered';
  if (provider.lanes.size > 0) return 'in-lane';
  if (!provider.hasUrls) return 'resting';
  if (!mayFetch(provider)) return 'delayed';
  return provider.place?.parked === true ? 'parked' : 'waiting';
}

/** Leave to send up to `room` urls of a provider into a lane. */
export interface Grant {
  lane: Lane;
  room: number;
}

/**
 * Stopped by the operator; outside its hours; its sets are being put together; on its way to another shard,
 * or from one.
 */
export type Hindrance = 'stopped' | 'closed' | 'joining' | 'moving';

/** @param n which of the provider's lanes, from 0 */
function laneName(pid: number, n: number): string {
  return n === 0 ? String(pid) : `${pid}.${n}`;
}

/** One that nothing is known of yet. Property by property: spread makes objects of another shape, and all
 * code that reads them is compiled twice. */
export function newProvider(pid: number): ProviderLanes {
  return {
    pid,
    priority: 0,
    parallel: 1,
    window: 1,
    state: 'resting',
    host: ANY_HOST,
    hasUrls: false,
    hindrances: new Set(),
    isDelayed: false,
    makesRoom: false,
    place: undefined,
    probing: false,
    yielding: false,
    share: Infinity,
    lanes: new Map(),
  };
}

/** A further lane of the provider, at its host. */
export function newLane(
  provider: ProviderLanes,
  worker: number,
  { turn, priority, state }: { turn: number; priority: number; state: 'overbooked' | 'in-slot' },
): Lane {
  const { pid, host, lanes } = provider;
  let n = 0;
  while (lanes.has(laneName(pid, n))) n++;
  return {
    name: laneName(pid, n),
    pid,
    provider,
    worker,
    host,
    inFlight: 0,
    turnLeft: turn,
    done: 0,
    priority,
    state,
  };
}

/** Urls read from the queue at a time, so few that the others do not wait for it. */
const REFILL_URLS = 128;

/**
 * How many urls are on their way in a lane at a time. Few lanes have large windows: a Queue Manager that
 * writes results must not leave them without urls meanwhile. A lane beyond the slots has one url.
 * @param lanesBeside lanes at its Bot Manager, its own included
 * @param sharedWindow urls on their way to a Bot Manager that its lanes share when that makes their windows
 * larger
 */
export function windowOf({ state, provider }: Lane, lanesBeside: number, sharedWindow: number): number {
  const { window, yielding, share } = provider;
  if (state === 'overbooked' || window === 1) return 1;
  return Math.min(share, yielding ? window : Math.max(window, Math.floor(sharedWindow / lanesBeside)));
}

/** True if it is worth reading urls for the lane. */
export function isHungry({ inFlight, provider }: Lane, window: number): boolean {
  if (provider.yielding) return inFlight === 0;
  return 2 * (window - inFlight) >= Math.min(window, 2 * REFILL_URLS);
}
