/** Notices lists whose times are those of their making: one time for nearly all urls, and another one at the
 * next reading. Such times say nothing of the pages, and every page would be fetched every time. */

/** Fewer urls may well have changed together. */
const FEWEST = 20;
const SHARE = 0.9;

/** The one value that more than half of a sequence has, if any has: a vote in one pass, in no memory. */
export class Majority {
  #value = '';
  #votes = 0;
  count = 0;

  add(value: string): void {
    this.count += 1;
    if (this.#votes === 0) this.#value = value;
    this.#votes += value === this.#value ? 1 : -1;
  }

  /** Nothing else can be it; whether it is, its number says. */
  get candidate(): string {
    return this.#value;
  }
}

/** @returns whether nearly all have one time */
export function isCommon(ofThese: number, urls: number): boolean {
  return urls >= FEWEST && ofThese >= urls * SHARE;
}

export interface Making {
  /** The time that nearly all urls have; '' where there is none. */
  common: string;
  /** True if the time is the one at which the list was made. */
  isMaking: boolean;
}

/**
 * @param before of the last reading; it stays so as long as nearly all have one time, be it the same as last
 * time
 */
export function makingOf(common: string, before: Making | undefined): Making {
  const hasMoved = before !== undefined && before.common !== '' && before.common !== common;
  return { common, isMaking: common !== '' && (before?.isMaking === true || hasMoved) };
}
