/**
 * Whose turn it is among the UNSes of one LCC: a set waits while another UNS has one of the same provider that was
 * accepted earlier. A UNS that neither hands over nor shows that it lives is waited for `uns.order_wait_ms` at most;
 * after that it is passed over until it shows itself again.
 */
import type { Holder, OrderStore, WaitingEntry } from '../db/order.js';
import type { Clock } from '../lib/clock.js';
import { LccError, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import type { Labelling } from '../lib/spool.js';
import { step } from '../lib/steps.js';
import { parseLabel, type EntryLabel } from './label.js';
import { setsInSpools } from './spooled.js';

/** How soon a provider that is held up is looked at again. */
export const LOOK_MS = 50;
const LONGEST_BEAT_MS = 1000;
const SHORTEST_BEAT_MS = 10;
/** Beats within the time a UNS is waited for: one that lives is never taken for one that is away. */
const BEATS_PER_WAIT = 4;
/** Beats that one misses before it is spoken of. */
const SILENT_BEATS = 2;

export interface TurnsParts {
  order: OrderStore;
  clock: Clock;
  log: Log;
  /** Longest wait for a UNS that is away. */
  waitMs: number;
}

/** A provider whose next set waits, and the UNS it waits for: until then at most, unless that shows itself. */
export interface HeldUp {
  pid: number;
  uns: string;
  /** Wall clock. */
  until_ms: number;
}

interface Seen {
  beat: number;
  sinceMs: number;
  away: boolean;
  /** That it is waited for has been said. */
  said: boolean;
}

export class Turns implements Labelling {
  readonly #parts: TurnsParts;
  /** What was last seen of other UNSes that held up something, and when it was new. */
  readonly #seen = new Map<string, Seen>();
  /** Numbers of entries that are gone, to be crossed out together. */
  #gone: { n: number; pid: number }[] = [];
  /** Providers that are held up. */
  readonly #heldUp = new Map<number, { lookAtMs: number; uns: string }>();

  constructor(parts: TurnsParts) {
    this.#parts = parts;
  }

  /**
   * Makes what is known of the order agree with the spools. To be called when this UNS has its own: what lies in that
   * must not change meanwhile.
   * @param root where the spools of all UNSes lie, each under its UNS's name
   */
  agree(root: string): void {
    this.#parts.order.agree(() => numberedSets(root));
  }

  /** Numbers entries that are about to be accepted. @throws LccError `io.full` or `io` */
  finish(labels: readonly string[]): string[] {
    const numbers = this.#parts.order.enter(labels.map(label => waitingEntry(parseLabel(label))));
    step('uns.order.entered');
    return labels.map((label, index) => `${label}.${numbers[index]}`);
  }

  undo(label: string): void {
    this.done(parseLabel(label));
  }

  /**
   * The entry is gone from the spool. It is crossed out a moment later, with others that have gone meanwhile; one that
   * cannot be crossed out holds up other UNSes, never loses anything.
   */
  done(label: EntryLabel | undefined): void {
    if (label?.order === undefined) return;
    this.#gone.push({ n: label.order, pid: label.pid });
    if (this.#gone.length === 1) this.#parts.clock.after(0, () => this.crossOut());
  }

  /** Crosses out what has gone. */
  crossOut(): void {
    const gone = this.#gone;
    const [first] = gone;
    if (first === undefined) return;
    this.#gone = [];
    try {
      this.#parts.order.leave(gone.map(({ n }) => n));
      step('uns.order.left');
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      this.#parts.log.error('cannot say that sets have gone', {
        sets: gone.length,
        pid: first.pid,
        error: messageOf(error),
      });
    }
  }

  /** Whether no other UNS has an earlier set of the same provider. Entries without a number wait for nobody. */
  isNext(label: EntryLabel | undefined): boolean {
    if (label?.order === undefined) return true;
    const { order, clock } = this.#parts;
    const lookAtMs = this.#heldUp.get(label.pid)?.lookAtMs;
    if (lookAtMs !== undefined && clock.monotonicMs() < lookAtMs) return false;
    // All of them: the time of each runs.
    const [first] = order.holders(label.pid, label.order).filter(holder => !this.#isAway(holder));
    if (first === undefined) {
      this.#heldUp.delete(label.pid);
      return true;
    }
    this.#heldUp.set(label.pid, { lookAtMs: clock.monotonicMs() + LOOK_MS, uns: first.id });
    this.#say(label.pid, first.id);
    return false;
  }

  /** Providers whose next set waits for another UNS: how many, and `limit` of them. */
  heldUp(limit: number): { count: number; some: HeldUp[] } {
    const { clock, waitMs } = this.#parts;
    const aheadMs = clock.nowMs() - clock.monotonicMs() + waitMs;
    const some = [...this.#heldUp].slice(0, limit).map(([pid, { uns }]) => ({
      pid,
      uns,
      until_ms: Math.round((this.#seen.get(uns)?.sinceMs ?? 0) + aheadMs),
    }));
    return { count: this.#heldUp.size, some };
  }

  /**
   * The Queue Manager is there: from now on this UNS shows that it lives whenever `hasEntries`, and others are given all
   * their time anew. @returns ends it
   */
  handOver(hasEntries: () => boolean): () => void {
    const { order, clock, log, waitMs } = this.#parts;
    this.#seen.clear();
    this.#heldUp.clear();
    const intervalMs = beatMs(waitMs);
    let cancel: () => void;
    const beat = () => {
      try {
        if (hasEntries()) order.beat();
      } catch (error) {
        if (!(error instanceof LccError)) throw error;
        log.error('cannot show other UNSes that this one lives', { error: messageOf(error) });
      }
      cancel = clock.after(intervalMs, beat);
    };
    beat();
    return () => cancel();
  }

  /** Once, when one that is waited for should have shown itself and has not. */
  #say(pid: number, uns: string): void {
    const { clock, log, waitMs } = this.#parts;
    const seen = this.#seen.get(uns);
    const silentMs = clock.monotonicMs() - (seen?.sinceMs ?? 0);
    if (seen === undefined || seen.said || silentMs < SILENT_BEATS * beatMs(waitMs)) return;
    seen.said = true;
    log.warn('sets wait for another UNS, which does not show itself', {
      uns,
      pid,
      silent_ms: silentMs,
      order_wait_ms: waitMs,
    });
  }

  #isAway({ id, beat }: Holder): boolean {
    const { clock, log, waitMs } = this.#parts;
    const nowMs = clock.monotonicMs();
    const seen = this.#seen.get(id);
    if (seen?.beat !== beat) {
      this.#seen.set(id, { beat, sinceMs: nowMs, away: false, said: false });
      return waitMs === 0;
    }
    if (!seen.away && nowMs - seen.sinceMs >= waitMs) {
      seen.away = true;
      log.warn('sets of another UNS are passed over: it is away', {
        uns: id,
        waited_ms: nowMs - seen.sinceMs,
      });
    }
    return seen.away;
  }
}

function beatMs(waitMs: number): number {
  return Math.max(SHORTEST_BEAT_MS, Math.min(LONGEST_BEAT_MS, waitMs / BEATS_PER_WAIT));
}

/** As it is numbered. @throws LccError `bug` for a label that is none */
function waitingEntry(label: EntryLabel | undefined): WaitingEntry {
  if (label === undefined) throw new LccError('bug', 'an entry without a label');
  return { pid: label.pid, full: label.set === 'full', urls: label.received };
}

/** The sets in the spools of all UNSes, by name and number. */
function numberedSets(root: string): Map<string, Map<number, WaitingEntry>> {
  const spools = new Map<string, Map<number, WaitingEntry>>();
  for (const [uns, labels] of setsInSpools(root)) {
    const sets = new Map<number, WaitingEntry>();
    spools.set(uns, sets);
    for (const label of labels) if (label.order !== undefined) sets.set(label.order, waitingEntry(label));
  }
  return spools;
}
