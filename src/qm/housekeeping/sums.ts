import type { Chore } from './chore.js';

/** From one page to the next; a million rows take ten minutes. */
const PAGE_PAUSE_MS = 500;
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
  readonly #kinds: readonly Looking[];
  #round: ReturnType<Looking> | undefined;

  /** @param kinds what is looked through, one after the other */
  constructor(kinds: readonly Looking[]) {
    this.#kinds = kinds;
  }

  run(): number {
    this.#round ??= this.#all();
    const { value: settle } = this.#round.next();
    if (settle === undefined) {
      this.#round = undefined;
      return ROUND_PAUSE_MS;
    }
    settle();
    return PAGE_PAUSE_MS;
  }

  *#all(): ReturnType<Looking> {
    for (const kind of this.#kinds) yield* kind();
  }
}
