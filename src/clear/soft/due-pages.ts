/**
 * Publications that are due, each read once: what has been read is under way until it is done, or has a time
 * at which it is tried again. Reading from the beginning with every look would read all that is under way
 * with every page.
 */
import type { PublishedPage, SoftStore } from '../../db/clear/soft.js';

type Position = Pick<PublishedPage, 'nextTryMs' | 'publishSeq'>;

const BEGIN: Position = { nextTryMs: 0, publishSeq: 0 };
/** Publications that were never tried have no time, and come before this. */
const FIRST_TRIED: Position = { nextTryMs: 1, publishSeq: 0 };

export class DuePages {
  readonly #store: Pick<SoftStore, 'due'>;
  #fresh = BEGIN;
  #tried = FIRST_TRIED;
  #ahead = BEGIN;

  constructor(store: Pick<SoftStore, 'due'>) {
    this.#store = store;
  }

  /**
   * Has what is tried again read from the beginning: the time may have been set back since.
   * @param isIdle nothing is under way: all is read from the beginning, which costs nothing then
   */
  rewind(isIdle: boolean): void {
    this.#tried = FIRST_TRIED;
    this.#ahead = BEGIN;
    if (isIdle) this.#fresh = BEGIN;
  }

  /** Pages that come next, those tried longest ago first; less than `limit` when there is no more. @param
   * most wait that a page has: a longer one was noted while the clock was ahead, and is over */
  read(nowMs: number, most: number, limit: number): PublishedPage[] {
    const fresh = this.#store.due(0, limit, this.#fresh);
    this.#fresh = fresh.at(-1) ?? this.#fresh;
    if (fresh.length === limit) return fresh;
    const tried = this.#store.due(nowMs, limit - fresh.length, this.#tried);
    this.#tried = tried.at(-1) ?? this.#tried;
    const due = [...fresh, ...tried];
    if (due.length === limit) return due;
    if (this.#ahead === BEGIN) this.#ahead = { nextTryMs: nowMs + most + 1, publishSeq: 0 };
    const ahead = this.#store.due(Number.MAX_SAFE_INTEGER, limit - due.length, this.#ahead);
    this.#ahead = ahead.at(-1) ?? this.#ahead;
    return [...due, ...ahead];
  }
}
