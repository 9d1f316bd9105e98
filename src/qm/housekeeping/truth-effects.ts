import type { QueueStore } from '../../db/queue/store.js';
import { LOW_SCORE, scoreClass, type ScoreClass } from '../../db/truth/reader.js';
import type { Clock } from '../../lib/clock.js';
import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';
import type { Chore } from '../housekeeping.js';

const DAY_MS = 86_400_000;
/** Score that one that was low must reach again. */
const GOOD_SCORE = 60;

export interface TruthEffectsOptions {
  store: QueueStore;
  clock: Clock;
  log: Log;
  /** The priority of a provider is another. */
  changed: (pid: number) => void;
}

/**
 * Daily: what a provider's score of truthfulness does to its priority. Also forgets counts that are too old.
 */
export class TruthEffects implements Chore {
  readonly #options: TruthEffectsOptions;
  /** How many there are, as of the last run. */
  providers: Readonly<Record<ScoreClass, number>> = { low: 0, fair: 0, good: 0, unknown: 0 };

  constructor(options: TruthEffectsOptions) {
    this.#options = options;
  }

  run(): number {
    const { store, clock, log, changed } = this.#options;
    const nowS = Math.floor(clock.nowMs() / 1000);
    const scores = store.scores(nowS);
    const providers = { low: 0, fair: 0, good: 0, unknown: 0 };
    for (const one of scores) providers[scoreClass(one)]++;
    this.providers = providers;
    const moved = store.transaction(() => {
      store.truth.forgetOld(nowS);
      store.pushes.forgetOld(nowS);
      return scores.flatMap(({ pid, truth }) => {
        if (truth < LOW_SCORE && store.truth.lower(pid)) return [{ pid, truth, words: 'lowered' }];
        if (truth >= GOOD_SCORE && store.truth.restore(pid)) return [{ pid, truth, words: 'restored' }];
        return [];
      });
    });
    if (moved.length > 0) step('qm.truth.applied');
    for (const { pid, truth, words } of moved) {
      log.info(`priority ${words} for the truthfulness of its announcements`, { pid, truth });
      changed(pid);
    }
    return DAY_MS;
  }
}
