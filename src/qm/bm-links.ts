/** Connections of Bot Managers: who they are and how much they can do, requests to them, results from them. */
import type { Connection } from '../daemon/types.js';
import { LccError, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { BotManagerPeer, type LinkOptions } from '../wire/qm-bm.js';
import type { Deletions } from './deletions.js';
import type { Dispatcher } from './dispatch.js';

export interface BmLinksOptions {
  dispatcher: Dispatcher;
  deletions: Deletions;
  log: Log;
  /** Whether this is the store that rows with files of the machine point into; it is from now on if it may be. */
  admit(machineId: string, storeId: string): boolean;
  link: Omit<LinkOptions, 'where'>;
}

interface Link {
  peer: BotManagerPeer;
  name: string;
  machineIds: readonly string[];
  slots: number;
}

export class BmLinks {
  readonly #options: BmLinksOptions;
  readonly #links = new Map<number, Link>();
  #lastId = 0;

  constructor(options: BmLinksOptions) {
    this.#options = options;
  }

  accept({ socket, peer: name }: Connection): void {
    const { dispatcher, deletions, log, link } = this.#options;
    const id = ++this.#lastId;
    const peer = new BotManagerPeer(
      socket,
      {
        hello: (machineIds, slots, storeIds) => {
          const known = this.#links.get(id);
          const refusal = known === undefined ? this.#refusal(name, machineIds, storeIds) : undefined;
          if (refusal !== undefined) return peer.channel.refuse(refusal);
          this.#links.set(id, { peer, name, machineIds, slots });
          if (known === undefined)
            log.info('a Bot Manager is here', { peer: name, slots, machines: machineIds.join(' ') });
          dispatcher.setWorker(id, peer, slots);
          deletions.setMachines(peer, machineIds);
        },
        fetched: result => {
          // Its file may be one that a row points to (a result sent twice): left for lccfsck to judge.
          if (!dispatcher.fetched(id, result))
            log.warn('a result that was not asked for', { peer: name, id: result.id });
        },
        deleted: result => {
          deletions.answered(peer, result.id, result.status);
        },
        closed: reason => {
          if (this.#links.delete(id))
            log.info('a Bot Manager is gone', { peer: name, reason: reason && messageOf(reason) });
          dispatcher.removeWorker(id);
          deletions.removeTarget(peer);
        },
      },
      { ...link, where: `bot manager ${name}` },
    );
  }

  /** Why nothing is asked of it: a machine comes with a store that is not the one rows point into. */
  #refusal(peer: string, machineIds: readonly string[], storeIds: readonly string[]): LccError | undefined {
    for (const [i, storeId] of storeIds.entries()) {
      const machine = machineIds[i] ?? '';
      if (this.#options.admit(machine, storeId)) continue;
      const error = new LccError(
        'config',
        `rows point to files of machine "${machine}" in another store than this one; mount that one, or stop lccd and run lccfsck --repair --store-lost`,
      );
      this.#options.log.error('a Bot Manager is refused', { peer, machine, error: error.message });
      return error;
    }
    return undefined;
  }

  stop(): void {
    for (const { peer } of this.#links.values()) peer.channel.destroy();
  }

  status() {
    return [...this.#links].map(([id, { name, machineIds, slots }]) => ({
      peer: name,
      machines: machineIds,
      slots,
      ...this.#options.dispatcher.restOf(id),
    }));
  }
}
