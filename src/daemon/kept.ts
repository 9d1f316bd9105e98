/**
 * A kept home (lcc-cluster(7)): before a daemon or a command tells anybody of what it has committed, the
 * pages are in the engine. Without `store.url` all of this is open at once.
 */
import type { KeptName } from '../config/kept.js';
import { within, type Clock } from '../lib/clock.js';
import { LccError } from '../lib/errors.js';

/**
 * How the home stands, as the keeper says. `untilMs`: surely held until then, by the daemon's clock. `owner`:
 * name of the machine that has it, '' for none.
 */
export type Lease = { state: 'owner'; epoch: number; untilMs: number } | { state: 'standby'; owner: string };

/** The gate of a daemon. */
export interface Kept {
  /** False without an engine. */
  readonly isKept: boolean;
  /**
   * Resolves when all that this process has committed so far is in the engine, however long that takes.
   * @throws LccError `try.later` when this machine owns the home no more: what was committed will not be
   * there, and must not be told
   */
  shipped(name: KeptName): Promise<void>;
  /** As last told; undefined without an engine, or before the keeper has said anything. */
  readonly lease: Lease | undefined;
  /** Calls `changed` with each change of the lease, and once at first if there is one. @returns ends that */
  watch(changed: (lease: Lease) => void): () => void;
  close(): void;
}

/** The gate of an LCC without an engine. */
export const OPEN_GATE: Kept = {
  isKept: false,
  shipped: () => Promise.resolve(),
  lease: undefined,
  watch: () => () => undefined,
  close: () => undefined,
};

/** Time for the engine to take what is told next: a cursor, changes. */
export const SHIPPED_WAIT_MS = 10_000;

/** The same, for a time. @throws LccError `try.later` after `limitMs`, too; what was asked goes on */
export async function shippedWithin(
  kept: Kept,
  name: KeptName,
  clock: Clock,
  limitMs: number,
): Promise<void> {
  if (!kept.isKept) return;
  const isShipped = kept.shipped(name).then(() => true);
  if ((await within(clock, isShipped, limitMs)) === true) return;
  throw new LccError(
    'try.later',
    `the engine has not taken what is committed within ${limitMs / 1000} s; lcckeep status says why`,
  );
}

/**
 * The epoch in which this machine has the home, when the keeper has said so; 0 without an engine.
 * @throws LccError `try.later` when the daemon is told to stop before
 */
export async function epochOf(kept: Kept, told: AbortSignal): Promise<number> {
  if (!kept.isKept) return 0;
  const lease = await new Promise<Lease | undefined>(resolve => {
    kept.watch(resolve);
    if (told.aborted) resolve(undefined);
    told.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  if (lease?.state === 'owner') return lease.epoch;
  throw new LccError('try.later', 'lccd-keep has not said that this machine owns the home');
}
