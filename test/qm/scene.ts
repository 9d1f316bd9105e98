import type { Ledger } from './ledger.js';
import type { Model, Now } from './model.js';
import type { Bm, World } from './world.js';

/** All that can be seen of a history at an instant. */
export interface Scene {
  readonly model: Model;
  readonly world: World;
  readonly ledger: Ledger;
  readonly now: Now;
  /** The local hour of the day. */
  readonly hour: number;
  /** The hour in a moment. */
  readonly soon: number;
  /** Whether the hour is the same a moment later. */
  readonly isHourEnding: boolean;
  /** When whatever has failed so far is due again. */
  readonly failedDueMs: number;
  /** Since when it is this hour, monotonic. */
  readonly hourSinceMs: number;
  /** Lanes a Bot Manager may have now. */
  capacityOf(bm: Bm): number;
  /** Whether a result of a url of the set is not committed yet. */
  isArriving(set: number): boolean;
  /** Files of results that are not committed yet. */
  arriving(): string[];
}
