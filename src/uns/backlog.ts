/**
 * Sets that wait in the spool, so that the next one to be sent is found at once, however many there are.
 * Providers take turns, each with its oldest set: a provider with a thousand sets waiting is not in front of
 * all others with all of them.
 *
 *     waiting ──take──▶ being sent ──done──▶ gone: its provider's next one waits, after those of others
 *                          ├──back──▶ waiting
 *                          ╰──rest──▶ resting ──again──▶ waiting
 */
import type { SpoolEntry } from '../lib/spool-frames.js';
import { LARGE_SET_URLS } from '../wire/uns-qm.js';
import { parseLabel, type EntryLabel } from './spool-names.js';

export interface SpooledSet {
  entry: SpoolEntry;
  /** undefined when its name says nothing of it. */
  label: EntryLabel | undefined;
  isLarge: boolean;
}

/** The provider; a set stands alone when its name does not say the provider. */
type Owner = number | string;

/** Sets of a provider, and what is in them. */
export interface WaitingSets {
  sets: number;
  urls: number;
  fullSets: number;
}

export class Backlog {
  readonly #entries: () => readonly SpoolEntry[];
  /** Sets of each owner, oldest first; the first one may be on its way. */
  readonly #queues = new Map<Owner, SpooledSet[]>();
  /** Owners with their first set waiting, in the order of their turns, by its size. */
  readonly #small = new Set<Owner>();
  readonly #large = new Set<Owner>();
  /** By provider. */
  readonly #waiting = new Map<number, WaitingSets>();
  #isLargeSent = false;
  #lastId = '';

  /** @param entries all there are, oldest first; new ones are put at the end */
  constructor(entries: () => readonly SpoolEntry[]) {
    this.#entries = entries;
  }

  /** True if the provider has anything here, on its way or not. */
  has(pid: number): boolean {
    this.#addNew();
    return this.#queues.has(pid);
  }

  /** The sets that the provider has here, on their way or not. */
  waiting(pid: number): Readonly<WaitingSets> {
    this.#addNew();
    return this.#waiting.get(pid) ?? { sets: 0, urls: 0, fullSets: 0 };
  }

  /** The next set to be sent, one of a provider and one large one at a time; `done` or `back` must follow. */
  take(): SpooledSet | undefined {
    this.#addNew();
    const small = this.#firstOf(this.#small);
    const large = this.#isLargeSent ? undefined : this.#firstOf(this.#large);
    const set = small === undefined || (large && large.entry.id < small.entry.id) ? large : small;
    if (set === undefined) return undefined;
    this.#lineOf(set).delete(ownerOf(set));
    this.#isLargeSent ||= set.isLarge;
    return set;
  }

  /** Takes a set out that is not being sent. @returns false: it is, or is gone */
  withdraw(id: string): boolean {
    this.#addNew();
    for (const [owner, queue] of this.#queues) {
      const index = queue.findIndex(({ entry }) => entry.id === id);
      const set = queue[index];
      if (set === undefined) continue;
      if (index === 0 && !this.#lineOf(set).has(owner)) return false;
      if (index > 0) {
        queue.splice(index, 1);
        this.#count(set, -1);
        return true;
      }
      this.#lineOf(set).delete(owner);
      const isLargeSent = this.#isLargeSent;
      this.done(set);
      this.#isLargeSent = isLargeSent;
      return true;
    }
    return false;
  }

  /** A set that was taken is gone. */
  done(set: SpooledSet): void {
    const owner = ownerOf(set);
    const queue = this.#queues.get(owner) ?? [];
    queue.shift();
    this.#count(set, -1);
    if (set.isLarge) this.#isLargeSent = false;
    const [next] = queue;
    if (next === undefined) this.#queues.delete(owner);
    else this.#lineOf(next).add(owner);
  }

  /** A set that was taken has not been sent: it is the first of all. */
  back(set: SpooledSet): void {
    this.rest(set);
    const line = this.#lineOf(set);
    const others = [...line];
    line.clear();
    for (const owner of [ownerOf(set), ...others]) line.add(owner);
  }

  /** A set that was taken is not wanted for now: its provider has no turn until `again`. */
  rest({ isLarge }: SpooledSet): void {
    if (isLarge) this.#isLargeSent = false;
  }

  /** A set that has rested is the last of all. */
  again(set: SpooledSet): void {
    this.#lineOf(set).add(ownerOf(set));
  }

  #lineOf({ isLarge }: SpooledSet): Set<Owner> {
    return isLarge ? this.#large : this.#small;
  }

  #addNew(): void {
    const entries = this.#entries();
    let from = entries.length;
    while (from > 0 && (entries[from - 1]?.id ?? '') > this.#lastId) from--;
    for (const entry of entries.slice(from)) {
      const label = parseLabel(entry.label);
      const set = { entry, label, isLarge: (label?.received ?? 0) > LARGE_SET_URLS };
      const owner = ownerOf(set);
      const queue = this.#queues.get(owner);
      this.#lastId = entry.id;
      this.#count(set, 1);
      if (queue !== undefined) {
        queue.push(set);
        continue;
      }
      this.#queues.set(owner, [set]);
      this.#lineOf(set).add(owner);
    }
  }

  #count({ label }: SpooledSet, by: 1 | -1): void {
    // Sets that nobody announced are none of their provider's doing.
    if (label?.origin !== undefined || label === undefined) return;
    const { sets, urls, fullSets } = this.#waiting.get(label.pid) ?? { sets: 0, urls: 0, fullSets: 0 };
    const now = {
      sets: sets + by,
      urls: urls + by * label.received,
      fullSets: fullSets + (label.set === 'full' ? by : 0),
    };
    if (now.sets === 0) this.#waiting.delete(label.pid);
    else this.#waiting.set(label.pid, now);
  }

  #firstOf(owners: Set<Owner>): SpooledSet | undefined {
    const [owner] = owners;
    return owner === undefined ? undefined : this.#queues.get(owner)?.[0];
  }
}

function ownerOf({ entry, label }: SpooledSet): Owner {
  return label?.pid ?? entry.id;
}
