/**
 * A kept home (lcc-cluster(7)): before a daemon or a command tells anybody of what it has committed, the
 * pages are in the engine. Without `store.url` all of this is open at once.
 */
import type { KeptName } from '../config/kept.js';

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
