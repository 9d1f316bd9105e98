/**
 * Which machine hangs at which connection, for a Queue Manager or a relay with Bot Managers below it. A
 * machine-id belongs to one machine, and says where content lies: two that use the same one must not both be
 * served.
 *
 * A store has an id of its own, so the two cases can be told apart: the same machine that comes over a new
 * connection, while the old one still seems to stand (a link was cut), replaces it; a second machine with an
 * id that is taken is refused.
 */
import { LccError } from '../lib/errors.js';
import type { BotManagerPeer, Offer } from './qm-bm.js';

/** Stands for the store of a machine that did not say which it has. */
export const UNKNOWN_STORE = '-';

export interface RefusedMachine<L> {
  link: L;
  machineId: string;
  why: string;
}

/** The id in what a Bot Manager says of its store (db/names/store-mark.ts): another run of it has the same
 * one. */
const idOf = (word: string) => word.split('/', 1)[0];

export class Machines<L> {
  readonly #places = new Map<string, { link: L; storeId: string }>();
  /** Machines that have left a connection which has not said so yet: what it says of them was true before. */
  readonly #left = new Map<L, Set<string>>();

  /** True if this machine, with this store, is known to be at this connection. */
  has(link: L, machineId: string, storeId: string): boolean {
    const place = this.#places.get(machineId);
    return place?.link === link && place.storeId === storeId;
  }

  linkOf(machineId: string): L | undefined {
    return this.#places.get(machineId)?.link;
  }

  /** Machines at a connection, in the order they came. */
  of(link: L): string[] {
    return [...this.#places].filter(([, place]) => place.link === link).map(([id]) => id);
  }

  /** All machines, or all but some, with their stores, in the order they came. */
  all(without: readonly string[] = []): { machineIds: string[]; storeIds: string[] } {
    const places = [...this.#places].filter(([machineId]) => !without.includes(machineId));
    return {
      machineIds: places.map(([machineId]) => machineId),
      storeIds: places.map(([, { storeId }]) => storeId),
    };
  }

  /**
   * A connection says who is there, instead of what it said before.
   * @returns the machines to refuse: one of this connection with an id that is taken, or one that this
   * connection replaces
   */
  set(link: L, offer: Pick<Offer, 'machineIds' | 'storeIds'>): RefusedMachine<L>[] {
    const refusals: RefusedMachine<L>[] = [];
    for (const id of this.of(link)) if (!offer.machineIds.includes(id)) this.#places.delete(id);
    const left = this.#leftOf(link, offer.machineIds);
    for (const [i, machineId] of offer.machineIds.entries()) {
      if (left.has(machineId)) continue;
      const storeId = offer.storeIds[i] ?? UNKNOWN_STORE;
      const other = this.#places.get(machineId);
      if (other !== undefined && other.link !== link) {
        if (idOf(other.storeId) !== idOf(storeId) || storeId === UNKNOWN_STORE) {
          refusals.push({ link, machineId, why: takenText(machineId) });
          continue;
        }
        refusals.push({ link: other.link, machineId, why: replacedText(machineId) });
        this.#left.set(other.link, this.#leftOf(other.link).add(machineId));
      }
      this.#places.set(machineId, { link, storeId });
    }
    return refusals;
  }

  /** One machine of a connection is not served. */
  drop(link: L, machineId: string): void {
    if (this.linkOf(machineId) === link) this.#places.delete(machineId);
  }

  /** The connection is gone. */
  remove(link: L): void {
    for (const id of this.of(link)) this.#places.delete(id);
    this.#left.delete(link);
  }

  /** Those of the named machines that have left; others are forgotten. */
  #leftOf(link: L, named?: readonly string[]): Set<string> {
    const left = this.#left.get(link) ?? new Set<string>();
    for (const id of left) if (named?.includes(id) === false) left.delete(id);
    return left;
  }
}

/**
 * Refuses a machine: a relay is told which of those below it, a Bot Manager loses its connection (code 107).
 */
export function refuseMachine(peer: BotManagerPeer, relays: boolean, machineId: string, why: string): void {
  if (relays) peer.refuse(machineId, why);
  else peer.channel.refuse(new LccError('config', why));
}

function takenText(id: string): string {
  return `machine "${id}": another machine of that id is connected; give this one an id of its own (--machineid or bm.machine_id)`;
}

function replacedText(id: string): string {
  return `machine "${id}": it has connected again with the same store; if that was another machine, one of them has a copied store: give it an empty one`;
}
