/** The homes of an LCC that is several (lcc-cluster(7)), for its Registration Server: where each provider
 * is, and connections to the Queue Managers of the others, at whichever machine owns them. */
import type { Connection, Peer } from '../../daemon/types.js';
import type { Located, OwnedHome, ProviderMap } from '../../db/engine/map.js';
import { watchOwners } from '../../db/engine/owners.js';
import type { Clock } from '../../lib/clock.js';
import type { MachineDoor } from '../../config/cluster.js';
import type { Trust } from '../../lib/dial.js';
import type { Endpoint } from '../../lib/endpoint.js';
import { LccError, messageOf } from '../../lib/errors.js';
import type { Log } from '../../lib/log.js';
import { UNS_DOORS, type UnsDoorName, type UnsPlace } from '../../wire/uns-places.js';

/** Between two looks at who owns which home; and for an answer of the engine. */
const LOOK_MS = 500;
const ANSWER_MS = 3000;

export interface HomePeersOptions {
  map: Pick<ProviderMap, 'homes' | 'find' | 'list' | 'take' | 'free'>;
  /** The home whose Registration Server this is. */
  own: number;
  /** Where the owner of a home takes Registration Servers, or front ends. */
  doorOf: (owner: string, shard: number, door: MachineDoor) => Endpoint;
  /** For connections that are not made by `connect`. @throws LccError `config` */
  trust: () => Trust;
  connect: (endpoint: Endpoint, onConnect: (connection: Connection) => void, role: string) => Peer;
  clock: Clock;
  log: Log;
  fail: (error: unknown) => void;
  /** Nothing is asked of the map any more. */
  closed: () => void;
}

type Serve = (shard: number, connection: Connection) => void;

export class HomePeers {
  readonly #options: HomePeersOptions;
  readonly #stop = new AbortController();
  /** The others, as the engine last had them. */
  #homes: readonly OwnedHome[] = [];
  readonly #users = new Map<Serve, { role: string; peers: Map<number, { owner: string; peer: Peer }> }>();

  constructor(options: HomePeersOptions) {
    this.#options = options;
    const { map, own, clock, log, fail } = options;
    const homes = () => map.homes(this.#soon());
    watchOwners({ homes, everyMs: LOOK_MS, stop: this.#stop.signal, clock, log }, found => {
      this.#homes = found.filter(({ shard }) => shard !== own);
      this.#connectAll();
    }).catch(fail);
  }

  get own(): number {
    return this.#options.own;
  }

  /** Numbers of the other homes, ascending. */
  get others(): number[] {
    return this.#homes.map(({ shard }) => shard);
  }

  /** Serves a connection to each other home, made again when it is lost, or its owner is another. @returns
   * ends that */
  keep(serve: Serve, role: string): () => void {
    this.#users.set(serve, { role, peers: new Map() });
    this.#connectAll();
    return () => {
      for (const { peer } of this.#users.get(serve)?.peers.values() ?? []) peer.close();
      this.#users.delete(serve);
    };
  }

  /** Homes of providers; those that no home has are missing. @throws LccError `try.later` */
  find(pids: readonly number[]): Promise<Map<number, Located>> {
    return this.#options.map.find(pids, this.#soon());
  }

  /** A door of the UNS of another home, at its owner; undefined: it has none at this moment. */
  unsOf(shard: number, name: UnsDoorName): UnsPlace | undefined {
    const { doorOf, trust } = this.#options;
    const owner = this.#homes.find(home => home.shard === shard)?.owner ?? '';
    if (owner === '') return undefined;
    return { door: doorOf(owner, shard, 'front ends'), trust: trust(), hello: `${UNS_DOORS[name]}\r\n` };
  }

  /** Takes numbers of new providers for the open home that has the fewest, and an owner. @returns false:
   * there is no such home @throws LccError `try.later` */
  async place(pids: readonly number[]): Promise<boolean> {
    const { map } = this.#options;
    const open = (await map.list(this.#soon())).filter(({ isOpen, owner }) => isOpen && owner !== '');
    for (const pid of pids) {
      const [fewest] = open.sort((a, b) => a.providers - b.providers);
      if (fewest === undefined) return false;
      await map.take([pid], fewest.shard, this.#soon());
      fewest.providers++;
    }
    return true;
  }

  /** Gives back the number of one that no home has taken. */
  async free(pid: number): Promise<void> {
    const { map, log } = this.#options;
    try {
      const at = (await this.find([pid])).get(pid);
      if (at !== undefined) await map.free([pid], at.shard, this.#soon());
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      log.warn('number of a provider not given back', { pid, reason: messageOf(error) });
    }
  }

  close(): void {
    this.#stop.abort();
    for (const { peers } of this.#users.values()) for (const { peer } of peers.values()) peer.close();
    this.#options.closed();
  }

  #soon(): AbortSignal {
    return AbortSignal.any([this.#stop.signal, AbortSignal.timeout(ANSWER_MS)]);
  }

  #connectAll(): void {
    const { doorOf, connect } = this.#options;
    for (const [serve, { role, peers }] of this.#users)
      for (const { shard, owner } of this.#homes) {
        if (peers.get(shard)?.owner === owner || owner === '') continue;
        peers.get(shard)?.peer.close();
        const peer = connect(
          doorOf(owner, shard, 'registration'),
          each => serve(shard, each),
          `${role} of home ${shard}`,
        );
        peers.set(shard, { owner, peer });
      }
  }
}
