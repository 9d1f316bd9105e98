/**
 * A kept home (lcc-cluster(7)): before a daemon or a command tells anybody of what it has committed, the
 * pages are in the engine. Without `store.url` all of this is open at once.
 */

/** Names of the databases that are kept. */
export type KeptDatabase = 'lcc' | 'rs' | 'clear';

/** How the home stands, as the keeper says. */
export type Lease =
  | {
      state: 'owner';
      epoch: number;
      /** Surely held until then, in the milliseconds of the daemon's clock. */ untilMs: number;
    }
  | { state: 'standby'; /** Name of the machine that has it; '' for none. */ owner: string };

/** The gate of a daemon. */
export interface Kept {
  /** False without an engine. */
  readonly isKept: boolean;
  /**
   * Resolves when all that this process has committed so far is in the engine; waits for as long as that takes.
   * @throws LccError `try.later` when this machine does not own the home any more: what was committed will
   * not be there, and must not be told
   */
  shipped(name: KeptDatabase): Promise<void>;
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
