/**
 * Changes made durable together, with the sync aside: others are served meanwhile. What comes while a sync
 * runs is made when that has ended, all of it in one go, and shares the next one. So nobody waits for more
 * than two, and a crowd makes few. GroupCommit does the same where the sync is part of the commit.
 */
interface GroupSyncOptions {
  /** Makes changes, visibly but not durably, or throws and leaves everything as it was. */
  commit: <T>(change: () => T) => T;
  /** Resolves when everything committed before is durable. */
  sync: () => Promise<void>;
  /** The most changes of one commit. */
  maxChanges: number;
}

interface Waiting {
  change: () => unknown;
  done: (value: unknown) => void;
  failed: (error: unknown) => void;
}

export class GroupSync {
  readonly #options: GroupSyncOptions;
  readonly #waiting: Waiting[] = [];
  #isServing = false;

  constructor(options: GroupSyncOptions) {
    this.#options = options;
  }

  /** Resolves with what `change` returned once it is durable; rejects when it was not made, or its sync
   * failed. */
  add<T>(change: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const done = (value: unknown) => resolve(value as T);
      this.#waiting.push({ change, done, failed: reject });
      if (!this.#isServing) void this.#serve();
    });
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    // All requests of this turn of the event loop are served together.
    await new Promise<void>(resolve => void setImmediate(resolve));
    while (this.#waiting.length > 0) await this.#serveGroup();
    this.#isServing = false;
  }

  async #serveGroup(): Promise<void> {
    const { commit, sync, maxChanges } = this.#options;
    const group = this.#waiting.splice(0, maxChanges);
    try {
      const values = commit(() => group.map(({ change }) => change()));
      await sync();
      for (const [index, { done }] of group.entries()) done(values[index]);
    } catch (error) {
      for (const { failed } of group) failed(error);
    }
  }
}
