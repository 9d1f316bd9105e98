/** What lanes are made of: the rules, a provider's wishes, a lane, leave to send. */
import type { DelayRules } from './delays.js';

/** 0 to 2; 2 goes first. */
export const PRIORITIES = 3;

export interface LaneRules {
  overbookPercent: number;
  /** Urls on their way to a Bot Manager that its lanes share when that makes their windows larger. */
  sharedWindow: number;
  /** Urls of one lane before an equal that waits gets it. */
  turn: number;
  /** Who has waited so long counts one priority higher. */
  ageingMs: number;
  delays: DelayRules;
}

export interface LaneProvider {
  pid: number;
  priority: 0 | 1 | 2;
  parallel: number;
  /** Urls on their way in one lane, at least; 1: exactly one. */
  window: number;
}

export interface Lane {
  /** What requests of this lane carry: `pid`, or `pid.n` for the further ones of a parallel provider. */
  name: string;
  pid: number;
  worker: number;
  inFlight: number;
  turnLeft: number;
  /** Urls that were answered, or came back. */
  done: number;
  /** What its provider counted as when it was opened, until the turn is over. */
  priority: number;
  /** It ends: what it has not begun comes back. */
  recalled: boolean;
}

/** A provider as its lanes see it. */
export interface ProviderLanes extends LaneProvider {
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

/** The states of a provider, as lanes.ts draws them. */
export type Standing = 'resting' | 'waiting' | 'in-lane' | 'hindered' | 'delayed';

/** Leave to send up to `room` urls of a provider into a lane. */
export interface Grant {
  lane: Lane;
  room: number;
}

/** Stopped by the operator; outside its hours; its sets are being put together. */
export type Hindrance = 'stopped' | 'closed' | 'joining';

/** @param n which of the provider's lanes, from 0 */
export function laneName(pid: number, n: number): string {
  return n === 0 ? String(pid) : `${pid}.${n}`;
}
