/**
 * Fetches at a time from one host: scheme, host and port, wherever a redirect leads. A fetch without a place
 * waits for one, in the order of coming, and holds none elsewhere meanwhile, so that two hosts that redirect
 * to each other do not wait for each other.
 */
import { Fifo } from '../lib/fifo.js';

/** A place at a host, or in the line for one. */
export interface HostPlace {
  /** True if it was there at once. */
  readonly isFree: boolean;
  /** Gives it up, in the line as well; once. */
  leave(): void;
}

interface Host {
  taken: number;
  waiting: Fifo<Waiting>;
}

interface Waiting {
  isIn: boolean;
  hasLeft: boolean;
  go: () => void;
}

export class HostPlaces {
  readonly #most: number;
  readonly #hosts = new Map<string, Host>();

  /** @param most at one host */
  constructor(most: number) {
    this.#most = most;
  }

  /** Hosts that are fetched from. */
  get size(): number {
    return this.#hosts.size;
  }

  /** @param go called later, when there is a place, unless there is one now */
  enter(name: string, go: () => void): HostPlace {
    const host = this.#hosts.get(name) ?? { taken: 0, waiting: new Fifo() };
    this.#hosts.set(name, host);
    const isFree = host.taken < this.#most;
    const one = { isIn: isFree, hasLeft: false, go };
    if (isFree) host.taken++;
    else host.waiting.push(one);
    return { isFree, leave: () => this.#leave(name, host, one) };
  }

  #leave(name: string, host: Host, one: Waiting): void {
    if (one.hasLeft) return;
    one.hasLeft = true;
    if (!one.isIn) return host.waiting.retain(other => other !== one);
    const next = host.waiting.shift();
    if (next === undefined) {
      host.taken--;
      if (host.taken === 0) this.#hosts.delete(name);
      return;
    }
    next.isIn = true;
    // Not from within who leaves: a thousand that fail at once would be inside each other.
    queueMicrotask(() => {
      if (!next.hasLeft) next.go();
    });
  }
}
