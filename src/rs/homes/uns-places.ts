/** The UNSes that have the providers of an LCC, for logins and pushes: that of a home here by its sockets,
 * those of others where their owners are. */
import type { Endpoint } from '../../lib/endpoint.js';
import { LccError } from '../../lib/errors.js';
import type { UnsPlace } from '../../wire/uns-places.js';
import type { HomePeers } from './peers.js';
import type { HomeRoutes } from './routes.js';

type Peers = Pick<HomePeers, 'own' | 'find' | 'unsOf'>;

export class UnsPlaces {
  readonly #here: { look: Endpoint; push: Endpoint };
  readonly #peers: Peers | undefined;
  readonly #routes: Pick<HomeRoutes, 'homeOf'> | undefined;

  /** @param peers undefined: there is one home; no routes either, then */
  constructor(here: { look: Endpoint; push: Endpoint }, peers?: Peers, routes?: Pick<HomeRoutes, 'homeOf'>) {
    this.#here = here;
    this.#peers = peers;
    this.#routes = routes;
  }

  /** Where a provider is looked at; undefined: nobody knows, or its home has no owner. A UNS that has it no
   * more says so. */
  async look(pid: number): Promise<UnsPlace | undefined> {
    const shard = this.#routes === undefined ? undefined : await this.#routes.homeOf(pid);
    if (this.#peers === undefined || shard === this.#peers.own) return { door: this.#here.look };
    return shard === undefined ? undefined : this.#at(shard, 'look');
  }

  /** Where pushes of providers go; those that wait are missing. What goes to a home that has the provider no
   * more would be dropped, so nothing goes by what was known before. */
  async push(pids: readonly number[]): Promise<Map<number, UnsPlace>> {
    const here = { door: this.#here.push };
    const peers = this.#peers;
    if (peers === undefined) return new Map(pids.map(pid => [pid, here]));
    const located = await peers.find(pids);
    const places = new Map<number, UnsPlace>();
    for (const pid of pids) {
      const { shard, state } = located.get(pid) ?? { shard: peers.own, state: 'served' };
      const place = shard === peers.own ? here : this.#at(shard, 'push');
      if (state === 'served' && place !== undefined) places.set(pid, place);
    }
    return places;
  }

  #at(shard: number, name: 'look' | 'push'): UnsPlace | undefined {
    try {
      return this.#peers?.unsOf(shard, name);
    } catch (error) {
      // Certificates that cannot be read now; who connects to the others says so.
      if (error instanceof LccError) return undefined;
      throw error;
    }
  }
}
