import type { Clock } from '../../lib/clock.js';
import type { Chore } from './chore.js';

/** From one page to the next at least; a million rows of content take half an hour, deletions ten minutes. */
const PAGE_PAUSE_MS = 500;
/** And so many times what the page took: at most a hundredth of a core, also where pages come from a slow disk. */
const PAUSE_TIMES = 100;
const ROUND_PAUSE_MS = 3_600_000;

/** Rows of one kind, page by page: for each page what is to be done about it. */
export type Looking = () => Generator<() => void, void>;

/**
 * @param pages the damaged rows of each page
 * @param drop is called where there are any
 */
export function lookingThrough<T>(
  pages: () => Generator<T[], void>,
  drop: (found: readonly T[]) => void,
): Looking {
  return function* () {
    for (const found of pages())
      yield () => {
        if (found.length > 0) drop(found);
      };
  };
}

/**
 * Looks through rows that nobody else may ever meet, round after round: a damaged deletion that selections leave out, or
 * SQLite does not find, content users would not notice themselves.
 */
export class Sums implements Chore {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #kinds: readonly Looking[];
  #round: ReturnType<Looking> | undefined;

  /** @param kinds what is looked through, one after the other */
  constructor(clock: Pick<Clock, 'monotonicMs'>, kinds: readonly Looking[]) {
    this.#clock = clock;
    this.#kinds = kinds;
  }

  run(): number {
    const startMs = this.#clock.monotonicMs();
    this.#round ??= this.#all();
    const { value: settle } = this.#round.next();
    if (settle === undefined) {
      this.#round = undefined;
      return ROUND_PAUSE_MS;
    }
    settle();
    return Math.max(PAGE_PAUSE_MS, PAUSE_TIMES * (this.#clock.monotonicMs() - startMs));
  }

  *#all(): ReturnType<Looking> {
    for (const kind of this.#kinds) yield* kind();
  }
}
