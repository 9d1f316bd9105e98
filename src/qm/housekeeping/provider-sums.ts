import type { QueueStore } from '../../db/queue/store.js';
import { adviceOn } from '../../db/terms.js';
import type { Clock } from '../../lib/clock.js';
import type { Log } from '../../lib/log.js';
import type { Chore } from './chore.js';

/** From one page to the next, and until it is looked whether somebody has changed providers. */
const PAUSE_MS = 500;
const ROUND_PAUSE_MS = 3_600_000;

export interface ProviderSumsOptions {
  store: QueueStore;
  clock: Clock;
  log: Log;
  /** Others are damaged than before. */
  changed: () => void;
}

/** Looks through providers: those without a checksum get one, damaged ones are no longer fetched from. */
export class ProviderSums implements Chore {
  readonly #options: ProviderSumsOptions;
  #round: ReturnType<QueueStore['providers']['terms']['remarkable']> | undefined;
  #found = new Set<number>();
  #damaged = new Set<number>();
  #nextMs = 0;

  constructor(options: ProviderSumsOptions) {
    this.#options = options;
  }

  /** Damaged providers, as the last round found them. */
  get damaged(): number[] {
    return [...this.#damaged];
  }

  /** Somebody else has written the database. */
  again(): void {
    this.#round = undefined;
    this.#nextMs = 0;
  }

  run(): number {
    const { store, clock } = this.#options;
    if (this.#round === undefined) {
      if (clock.monotonicMs() < this.#nextMs) return PAUSE_MS;
      this.#round = store.providers.terms.remarkable();
      this.#found = new Set();
    }
    const { value: page } = this.#round.next();
    if (page === undefined) {
      this.#round = undefined;
      this.#nextMs = clock.monotonicMs() + ROUND_PAUSE_MS;
      this.#settle();
      return PAUSE_MS;
    }
    const pids = (state: string) => page.filter(one => one.state === state).map(({ pid }) => pid);
    const unsummed = pids('unsummed');
    if (unsummed.length > 0)
      store.transaction(() => unsummed.forEach(pid => store.providers.terms.confirm(pid)));
    for (const pid of pids('damaged')) this.#found.add(pid);
    return PAUSE_MS;
  }

  #settle(): void {
    const before = this.#damaged;
    this.#damaged = this.#found;
    const fresh = [...this.#damaged].filter(pid => !before.has(pid));
    for (const pid of fresh) this.#options.log.error('a damaged provider', { pid, what: adviceOn(pid) });
    if (fresh.length > 0 || before.size !== this.#damaged.size) this.#options.changed();
  }
}
