/**
 * Homes that operations of providers go to. A new one has its row in the map before its operation is sent.
 *
 *     register ──no row──▶ placed: the open home with the fewest ──▶ sent there     ──refused──▶ row freed
 *     others ──row──▶ sent there     moving ──▶ waits     no row: of the home here
 */
import type { WaitingOperation } from '../../db/rs/outbox.js';
import { LccError } from '../../lib/errors.js';
import { setNewest } from '../../lib/newest.js';
import { step } from '../../lib/steps.js';
import type { Ours } from '../outbox-sender.js';
import type { HomePeers } from './peers.js';

/** Providers remembered for a time without the map. */
const MOST_KNOWN = 100_000;

export class HomeRoutes {
  readonly #peers: Pick<HomePeers, 'own' | 'find' | 'place'>;
  readonly #known = new Map<number, number>();

  constructor(peers: Pick<HomePeers, 'own' | 'find' | 'place'>) {
    this.#peers = peers;
  }

  /** The home of a provider, or its last one that is known: one without a row is of the home here.
   * Undefined while nobody can say: another home would say that there is none. */
  async homeOf(pid: number): Promise<number | undefined> {
    try {
      const shard = (await this.#peers.find([pid])).get(pid)?.shard ?? this.#peers.own;
      setNewest(this.#known, pid, shard, MOST_KNOWN);
      return shard;
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      return this.#known.get(pid);
    }
  }

  /** Providers whose operations go to one home. @throws LccError `try.later` while the map is away */
  async ours(shard: number, operations: readonly WaitingOperation[]): Promise<Ours> {
    const pids = [...new Set(operations.map(({ change }) => change.pid))];
    const before = await this.#peers.find(pids);
    const added = operations.filter(({ change }) => change.op === 'register' && !before.has(change.pid));
    const fresh = new Set(added.map(({ change }) => change.pid));
    let located = before;
    if (fresh.size > 0 && (await this.#peers.place([...fresh]))) {
      step('rs.home.taken');
      located = await this.#peers.find(pids);
    }
    const at = (pid: number) =>
      located.get(pid) ?? (fresh.has(pid) ? undefined : { shard: this.#peers.own, state: 'served' });
    const ours = pids.filter(pid => at(pid)?.shard === shard && at(pid)?.state === 'served');
    const moving = pids.find(pid => at(pid)?.state === 'moving');
    let later = moving === undefined ? undefined : `provider ${moving} is being moved to another home`;
    if (pids.some(pid => at(pid) === undefined)) later = 'no home takes new providers; lccmap open-shard N';
    return { pids: new Set(ours), later };
  }
}
