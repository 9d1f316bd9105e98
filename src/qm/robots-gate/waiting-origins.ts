/**
 * Providers whose urls wait that nobody announced, for their origin is left alone: when they are looked at
 * again, and which of them are aside meanwhile, so that those of other origins go on. In memory only: after a
 * restart each finds at its turn what is written of its origin.
 */
import type { WaitingSet } from '../../db/queue/sets.js';
import type { WaitingRow } from '../../db/queue/row.js';
import { InOrder } from '../schedule/in-order.js';
import type { LaneTable } from '../schedule/lanes.js';
import type { ProviderOrder } from '../schedule/url-order.js';

type Order = Pick<ProviderOrder<WaitingSet, WaitingRow>, 'again'>;

/** Urls of a provider that are aside; further ones keep their turn, and what comes after them waits too. */
const MOST_ASIDE = 100_000;

interface Aside {
  set: WaitingSet;
  pos: number;
}

export interface WaitingOriginsParts {
  table: Pick<LaneTable, 'setHasUrls'>;
  orderOf: (pid: number) => Order | undefined;
}

export class WaitingOrigins {
  readonly #times = new InOrder<number>();
  readonly #aside = new Map<number, Aside[]>();
  readonly #table: Pick<LaneTable, 'setHasUrls'>;
  readonly #orderOf: (pid: number) => Order | undefined;

  constructor({ table, orderOf }: WaitingOriginsParts) {
    this.#table = table;
    this.#orderOf = orderOf;
  }

  /** The provider is looked at again then, or before. */
  wait(pid: number, untilMs: number): void {
    if (untilMs < (this.#times.at(pid) ?? Infinity)) this.#times.set(pid, untilMs);
  }

  /** A url stays out of its order until then. @returns false: there are too many of them */
  setAside(pid: number, url: Aside, untilMs: number): boolean {
    const aside = this.#aside.get(pid) ?? [];
    if (aside.length >= MOST_ASIDE) return false;
    aside.push(url);
    this.#aside.set(pid, aside);
    this.wait(pid, untilMs);
    return true;
  }

  /** Ends the waits whose time has come. */
  wake(nowMs: number): void {
    for (const pid of this.#times.takeUpTo(nowMs)) this.#end(pid);
  }

  /** Ends that of a provider, or all. */
  end(pid?: number): void {
    for (const one of this.of(pid)) {
      this.#times.delete(one);
      this.#end(one);
    }
  }

  /** Until when a provider waits, monotonic; undefined: it does not. */
  untilMs(pid: number): number | undefined {
    return this.#times.at(pid);
  }

  /** Those that wait, of one provider or of all. */
  of(pid?: number): number[] {
    if (pid === undefined) return [...this.#times.keys()];
    return this.#times.has(pid) ? [pid] : [];
  }

  /** When `wake` is worth asking again, monotonic. */
  nextMs(): number | undefined {
    return this.#times.first()?.at;
  }

  #end(pid: number): void {
    const aside = this.#aside.get(pid) ?? [];
    this.#aside.delete(pid);
    for (const { set, pos } of aside) this.#orderOf(pid)?.again(set, pos);
    this.#table.setHasUrls(pid, true);
  }
}
