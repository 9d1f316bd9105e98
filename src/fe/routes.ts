/** Where the CPs of a provider belong, for a front end. */
import { createHash } from 'node:crypto';
import type { Located, OwnedHome, ProviderMap } from '../db/engine/map.js';
import { watchOwners } from '../db/engine/owners.js';
import { within, type Clock } from '../lib/clock.js';
import { formatEndpoint, type Endpoint } from '../lib/endpoint.js';
import type { Log } from '../lib/log.js';
import { setNewest } from '../lib/newest.js';

export interface Routes {
  /**
   * Where the owner of a provider's home takes CPs from front ends; undefined: nowhere at this moment.
   * @param id as the CP writes it; of one that no home has, a home is chosen that refuses it
   */
  find(id: string): Promise<Endpoint | undefined>;
  /** Calls `lost` once nobody who counts listens there any more: the owner is another. @returns ends that */
  watch(endpoint: Endpoint, lost: () => void): () => void;
}

/** How often owners are looked up. */
const LOOK_MS = 250;
/** Time for the engine to say where a provider is; then it is taken to be where it was. */
const ANSWER_MS = 500;
/** Providers remembered for that; those that were asked for last. */
const MOST_KNOWN = 200_000;

interface RouteParts {
  map: Pick<ProviderMap, 'homes' | 'find'>;
  /** Where a machine takes CPs of a home. */
  doorOf: (owner: string, shard: number) => Endpoint;
  clock: Clock;
  log: Log;
}

/** Routes as the engine has them; as it last had them, while it is away. */
export class MapRoutes implements Routes {
  readonly #parts: RouteParts;
  readonly #stop = new AbortController();
  /** In the order of their numbers; undefined: the engine has not said yet. */
  #homes: readonly OwnedHome[] | undefined;
  #heardMs: number;
  readonly #known = new Map<number, Located>();
  /** Providers that are asked for with the next question, and the question. */
  #next: { pids: Set<number>; answer: Promise<ReadonlyMap<number, Located>> } | undefined;
  #asking: Promise<unknown> = Promise.resolve();
  readonly #watching = new Map<string, Set<() => void>>();

  constructor(parts: RouteParts) {
    this.#parts = parts;
    this.#heardMs = parts.clock.monotonicMs();
    const { map, clock, log } = parts;
    const { signal: stop } = this.#stop;
    const homes = () => map.homes(stop);
    void watchOwners({ homes, everyMs: LOOK_MS, stop, clock, log }, found => this.#heard(found));
  }

  get figures() {
    const homes = this.#homes ?? [];
    return {
      homes: homes.length,
      homes_free: homes.filter(({ owner }) => owner === '').length,
      map_age_seconds: (this.#parts.clock.monotonicMs() - this.#heardMs) / 1000,
    };
  }

  close(): void {
    this.#stop.abort();
  }

  async find(id: string): Promise<Endpoint | undefined> {
    const located = await this.#locate(id);
    if (located === undefined || located.state === 'moving') return undefined;
    const home = this.#homes?.find(({ shard }) => shard === located.shard);
    return home === undefined || home.owner === '' ? undefined : this.#parts.doorOf(home.owner, home.shard);
  }

  watch(endpoint: Endpoint, lost: () => void): () => void {
    const name = formatEndpoint(endpoint);
    const others = this.#watching.get(name) ?? new Set();
    this.#watching.set(name, others.add(lost));
    return () => {
      others.delete(lost);
      if (others.size === 0 && this.#watching.get(name) === others) this.#watching.delete(name);
    };
  }

  /** Where a provider is; undefined: nobody knows. */
  async #locate(id: string): Promise<Located | undefined> {
    const pid = /^\d{1,15}$/.test(id) ? Number(id) : 0;
    if (pid > 0) {
      const found = await within(this.#parts.clock, this.#ask(pid), ANSWER_MS);
      const located = found === undefined ? this.#known.get(pid) : found.get(pid);
      // While the engine does not say whose it is, no home may say that it is nobody's.
      if (located !== undefined || found === undefined) return located;
    }
    const homes = this.#homes ?? [];
    const home = homes[createHash('md5').update(id).digest().readUInt32BE() % homes.length];
    return home && { shard: home.shard, state: 'served' };
  }

  /** Those that come while a question is on its way are asked for together with the next one. */
  #ask(pid: number): Promise<ReadonlyMap<number, Located>> {
    if (this.#next === undefined) {
      const pids = new Set<number>();
      const answer = this.#asking.then(async () => {
        this.#next = undefined;
        const found = await this.#parts.map.find([...pids], this.#stop.signal);
        for (const pid of pids) this.#know(pid, found.get(pid));
        return found;
      });
      this.#asking = answer.catch(() => undefined);
      this.#next = { pids, answer };
    }
    this.#next.pids.add(pid);
    return this.#next.answer;
  }

  #know(pid: number, located: Located | undefined): void {
    if (located === undefined) this.#known.delete(pid);
    else setNewest(this.#known, pid, located, MOST_KNOWN);
  }

  #heard(homes: readonly OwnedHome[]): void {
    const before = this.#homes ?? [];
    this.#homes = homes;
    this.#heardMs = this.#parts.clock.monotonicMs();
    for (const { shard, owner, epoch } of before) {
      const now = homes.find(home => home.shard === shard);
      if (owner === '' || (now?.owner === owner && now.epoch === epoch)) continue;
      this.#parts.log.info('home has another owner', { shard, owner: now?.owner ?? '', before: owner });
      for (const lost of this.#watching.get(formatEndpoint(this.#parts.doorOf(owner, shard))) ?? []) lost();
    }
  }
}
