/** A set as it is taken: how a UNS offers it, and its urls that are being applied. */
import type { SetClass } from '../../wire/origin.js';
import type { SetState } from './absorbed.js';
import type { IntakeQuota } from './quota.js';
import type { QueuedUrl } from './row.js';

/** A set as a UNS offers it. */
export interface OfferedSet {
  uns: string;
  entry: string;
  pid: number;
  full: boolean;
  /** Urls in the set: that many places in the queue are set aside for it. */
  received: number;
  /** When the UNS accepted it, seconds. */
  atS: number;
}

/** How to read the urls of a set. */
export interface SetKindRules {
  full: boolean;
  /** Deletes are noted (held-removals.ts) instead of carried out. */
  withheld: boolean;
  /** With these urls it is complete: `complete` must follow in the same transaction. */
  isLast: boolean;
  /** 0: its owner's. */
  class: SetClass;
  /** More flags of its rows (row.ts). */
  flags?: number;
  /** True if an address lies below the roots of now, which may be others than when the set was accepted;
   * undefined: not judged. */
  isInside: ((url: string) => boolean) | undefined;
}

/** The urls being applied: those before `mark` are counted, `submitted` since then. */
export interface AppliedSlice {
  state: SetState;
  full: boolean;
  nowS: number;
  /** True if what earlier sets need is no mere bound. */
  summed: boolean;
  isUnasked: boolean;
  quota: IntakeQuota;
  /** True if its provider wants what is held to be what it said. */
  enforced: boolean;
  mark: number;
  submitted: number;
  /** Further rows of pages that are pushed, or announced as served, by page and type: not yet written. */
  views: Map<string, QueuedUrl>;
}
