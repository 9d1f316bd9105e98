/** Parts and rules that a dispatcher is given. */
import type { KnownOptions } from './known-providers.js';
import type { PumpOptions } from './pump.js';
import type { RetryOptions } from './retries.js';
import type { GateOptions } from './robots-gate/gate.js';
import type { LaneRules } from './schedule/lane.js';

export interface DispatchOptions
  extends KnownOptions, RetryOptions, GateOptions, Pick<PumpOptions, 'atReturn'> {
  lanes: LaneRules;
  /** Results were committed: there may be files to delete. */
  committed: () => void;
  /** Asked before anything is sent; left out: always. */
  maySend?: () => boolean;
  /** Asked before results are committed; left out: always. */
  mayCommit?: () => boolean;
}
