/** What lanes are made of: the rules, a provider's wishes, a lane and its states, leave to send. */
import { transitions } from '../../lib/states.js';
import type { SetClass } from '../../wire/origin.js';
import type { DelayRules } from './delays.js';

/** 0 to 2; 2 goes first. */
export const PRIORITIES = 3;
/** What nobody announced counts less than all that was: links -1, scans and audits -2. */
export const LOWEST = -2;

export type Priority = -2 | -1 | 0 | 1 | 2;

/** What a provider counts as whose next url is of a set of that class. */
export function priorityOf(own: 0 | 1 | 2, setClass: SetClass): Priority {
  if (setClass === 0) return own;
  return setClass === 1 ? -1 : LOWEST;
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
  delays: DelayRules;
}

export interface LaneProvider {
  pid: number;
  priority: Priority;
  parallel: number;
  /** Urls on their way in one lane, at least; 1: exactly one. */
  window: number;
  /**
   * Scheme, host and port of all its urls; undefined when it has several: then those of its next url are seen as that is
   * taken. Of one in a group that is its host, wherever its urls are.
   */
  host?: string | undefined;
}

const GROUP = 'group ';

/** What stands for the hosts of a group's providers. */
export function hostOfGroup(name: string): string {
  return GROUP + name;
}

export function isGroup(host: string): boolean {
  return host.startsWith(GROUP);
}

/**
 * The states of a lane; docs/design/states.md says what ends each.
 *
 *     opened ──a slot is free──▶ in-slot ───╮
 *        │                         ▲        ├──recall──▶ recalled ──╮
 *        ╰──none is──▶ overbooked ─╯────────╯                       │
 *                      any of them ──nothing is on its way, or its Bot Manager is gone──▶ closed
 */
export type LaneState = 'overbooked' | 'in-slot' | 'recalled' | 'closed';

const becomes = transitions<LaneState>('lane', {
  overbooked: ['in-slot', 'recalled', 'closed'],
  'in-slot': ['recalled', 'closed'],
  recalled: ['closed'],
  closed: [],
});

/** @throws Error for a transition that LaneState does not draw */
export function enter(lane: Lane, state: LaneState): void {
  lane.state = becomes(lane.state, state, lane.name);
}

export interface Lane {
  /** What requests of this lane carry: `pid`, or `pid.n` for the further ones of a parallel provider. */
  name: string;
  pid: number;
  worker: number;
  /** Where its urls are fetched from: of one host at a time. */
  host: string;
  inFlight: number;
  turnLeft: number;
  /** Urls that were answered, or came back. */
  done: number;
  /** What its provider counted as when it was opened, until the turn is over. */
  priority: number;
  state: LaneState;
}

/** A provider as its lanes see it. */
export interface ProviderLanes extends LaneProvider {
  /** Of its next url, as far as that is known. */
  host: string;
  hasUrls: boolean;
  hindrances: Set<Hindrance>;
  /** Send one url only and see: the site did not answer last time. */
  probing: boolean;
  /** It has a large set, and others are there. */
  yielding: boolean;
  /** Most urls on their way in one lane, so that its other lanes find work. */
  share: number;
  lanes: Map<string, Lane>;
}

/** The states of a provider, as lanes.ts draws them; docs/design/states.md describes each. */
export type ProviderState = 'resting' | 'waiting' | 'parked' | 'in-lane' | 'hindered' | 'delayed';

/** Leave to send up to `room` urls of a provider into a lane. */
export interface Grant {
  lane: Lane;
  room: number;
}

/** Stopped by the operator; outside its hours; its sets are being put together. */
export type Hindrance = 'stopped' | 'closed' | 'joining';

/** @param n which of the provider's lanes, from 0 */
function laneName(pid: number, n: number): string {
  return n === 0 ? String(pid) : `${pid}.${n}`;
}

/** Property by property: spread makes objects of another shape, and all code that reads them is compiled twice. */
export function newProvider({ pid, priority, parallel, window, host }: LaneProvider): ProviderLanes {
  return {
    pid,
    priority,
    parallel,
    window,
    host: host ?? ANY_HOST,
    hasUrls: false,
    hindrances: new Set(),
    probing: false,
    yielding: false,
    share: Infinity,
    lanes: new Map(),
  };
}

/** A further lane of the provider, at its host. */
export function newLane(
  { pid, host, lanes }: ProviderLanes,
  worker: number,
  { turn, priority, state }: { turn: number; priority: number; state: 'overbooked' | 'in-slot' },
): Lane {
  let n = 0;
  while (lanes.has(laneName(pid, n))) n++;
  return {
    name: laneName(pid, n),
    pid,
    worker,
    host,
    inFlight: 0,
    turnLeft: turn,
    done: 0,
    priority,
    state,
  };
}
