/**
 * What waits in the spool, so that the next set to be sent is found at once, however many there are. Providers take turns,
 * each with its oldest set: whoever has a thousand sets waiting is not in front of all others with all of them.
 *
 *     waiting ──take──▶ being sent ──done──▶ gone: its provider's next one waits, behind those of others
 *        │ ▲                 ╰──back──▶ waiting
 *        ▼ ╰── some time later
 *     held up by another UNS
 */
import type { Clock } from '../lib/clock.js';
import type { SpoolEntry } from '../lib/spool-frames.js';
import { parseLabel, type EntryLabel } from './label.js';
import { LARGE_SET_URLS } from './options.js';
import { LOOK_MS } from './turns.js';

export interface SpooledSet {
  entry: SpoolEntry;
  /** undefined when its name says nothing of it. */
  label: EntryLabel | undefined;
  isLarge: boolean;
}

/** The provider; a set whose name says nothing of it stands alone. */
type Owner = number | string;

export interface BacklogParts {
  clock: Clock;
  /** All entries, oldest first; new ones are put behind. */
  entries: () => readonly SpoolEntry[];
  /** Whether no other UNS has an earlier set of its provider. */
  isNext: (label: EntryLabel | undefined) => boolean;
}

export class Backlog {
  readonly #parts: BacklogParts;
  /** What each owner has, oldest first; the first one may be on its way. */
  readonly #queues = new Map<Owner, SpooledSet[]>();
  /** Owners whose first set waits, in the order of their turns, by its size. */
  readonly #small = new Set<Owner>();
  readonly #large = new Set<Owner>();
  /** Those whose first set waits for another UNS. */
  readonly #heldUp = new Set<Owner>();
  #lookAtMs = 0;
  #isLargeSent = false;
  #lastId = '';

  constructor(parts: BacklogParts) {
    this.#parts = parts;
  }

  /** Whether the provider has anything here, on its way or not. */
  has(pid: number): boolean {
    this.#addNew();
    return this.#queues.has(pid);
  }

  /** The next set to be sent, one of a provider and one large one at a time; `done` or `back` must follow. */
  take(): SpooledSet | undefined {
    this.#addNew();
    this.#lookAgain();
    const small = this.#firstOf(this.#small);
    const large = this.#isLargeSent ? undefined : this.#firstOf(this.#large);
    const set = small === undefined || (large && large.entry.id < small.entry.id) ? large : small;
    if (set === undefined) return undefined;
    this.#lineOf(set).delete(ownerOf(set));
    this.#isLargeSent ||= set.isLarge;
    return set;
  }

  /** A set that was taken is gone. */
  done(set: SpooledSet): void {
    const owner = ownerOf(set);
    const queue = this.#queues.get(owner) ?? [];
    queue.shift();
    if (set.isLarge) this.#isLargeSent = false;
    const [next] = queue;
    if (next === undefined) this.#queues.delete(owner);
    else this.#lineOf(next).add(owner);
  }

  /** A set that was taken has not been sent: it is the first of all. */
  back(set: SpooledSet): void {
    if (set.isLarge) this.#isLargeSent = false;
    const line = this.#lineOf(set);
    const others = [...line];
    line.clear();
    for (const owner of [ownerOf(set), ...others]) line.add(owner);
  }

  #lineOf({ isLarge }: SpooledSet): Set<Owner> {
    return isLarge ? this.#large : this.#small;
  }

  #addNew(): void {
    const entries = this.#parts.entries();
    let from = entries.length;
    while (from > 0 && (entries[from - 1]?.id ?? '') > this.#lastId) from--;
    for (const entry of entries.slice(from)) {
      const label = parseLabel(entry.label);
      const set = { entry, label, isLarge: (label?.received ?? 0) > LARGE_SET_URLS };
      const owner = ownerOf(set);
      const queue = this.#queues.get(owner);
      this.#lastId = entry.id;
      if (queue !== undefined) {
        queue.push(set);
        continue;
      }
      this.#queues.set(owner, [set]);
      this.#lineOf(set).add(owner);
    }
  }

  #firstOf(owners: Set<Owner>): SpooledSet | undefined {
    for (const owner of owners) {
      const [first] = this.#queues.get(owner) ?? [];
      if (first !== undefined && this.#parts.isNext(first.label)) return first;
      owners.delete(owner);
      this.#heldUp.add(owner);
    }
    return undefined;
  }

  #lookAgain(): void {
    const nowMs = this.#parts.clock.monotonicMs();
    if (this.#heldUp.size === 0 || nowMs < this.#lookAtMs) return;
    this.#lookAtMs = nowMs + LOOK_MS;
    for (const owner of this.#heldUp) {
      const [first] = this.#queues.get(owner) ?? [];
      if (first !== undefined) this.#lineOf(first).add(owner);
    }
    this.#heldUp.clear();
  }
}

function ownerOf({ entry, label }: SpooledSet): Owner {
  return label?.pid ?? entry.id;
}
