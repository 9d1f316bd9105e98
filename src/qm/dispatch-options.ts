/** Parts and rules that a dispatcher and its collaborators are given. */
import type { Slots } from '../config/hours.js';
import type { QueueStore } from '../db/queue/store.js';
import type { Backoff } from '../lib/backoff.js';
import type { Clock } from '../lib/clock.js';
import type { DutyCycle } from '../lib/duty-cycle.js';
import type { Log } from '../lib/log.js';
import type { LaneRules } from './schedule/lane.js';

export interface DispatchOptions {
  store: QueueStore;
  clock: Clock;
  log: Log;
  /** A transaction failed; true: try again later. */
  failed: (error: unknown) => boolean;
  /** 0 to 1, for jitter. */
  random: () => number;
  /** Providers with large sets in work, and the others. */
  duty: DutyCycle<number>;
  lanes: LaneRules;
  slots: Slots;
  /** How long a site that does not answer is left alone: nobody waits longer. */
  backoff: Backoff;
  /** Wait before a bad url is tried again; doubled each time, as far as `backoff` permits. */
  retryDelayMs: number;
  /** Limit of all providers together; 0 = unlimited. */
  bandwidthBytesPerS: number;
  /** Most bytes of one fetch, as far as robots are configured as this Queue Manager: an announcement beyond
   * it never comes. */
  maxContentBytes: number;
  /** Between two fetches from a provider that says nothing else; 0 = none. */
  paceMs: number;
  /** Mimetypes taken of what is wanted as served: patterns. */
  accept: readonly string[];
  /** `bot.user_agent`: its name is what robots.txt calls us, where a provider's terms say nothing else. */
  userAgent: string;
  /** Urls sent ahead to a provider without limits. */
  window: number;
  /** Sets of a provider kept in memory of which nothing has been taken. */
  untouchedSets: number;
  /** Sets of a provider with failed urls that are not due yet; with this many no further set is begun. */
  sleepingSets: number;
  /** Runs something when the present callback returns, before anybody else has the event loop. */
  atReturn: (action: () => void) => void;
  /** Results were committed: there may be files to delete. */
  committed: () => void;
  /** Asked before anything is sent; left out: always. */
  maySend?: () => boolean;
  /** Asked before results are committed; left out: always. */
  mayCommit?: () => boolean;
}
