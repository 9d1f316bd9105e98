/** Connections of Bot Managers: their identities and capacities, requests to them, results from them. */
import type { Kept } from '../daemon/kept.js';
import type { Connection } from '../daemon/types.js';
import { nameOf } from '../db/names/naming.js';
import { messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { setNewest } from '../lib/newest.js';
import type { FetchResult } from '../wire/fetch.js';
import { Machines, refuseMachine, UNKNOWN_STORE } from '../wire/machines.js';
import type { LinkOptions } from '../wire/messages.js';
import { BotManagerPeer, silence, type Offer } from '../wire/qm-bm.js';
import type { Dispatcher } from './dispatch.js';
import type { MachineErrands } from './machine-errands.js';

export interface BmLinksOptions {
  dispatcher: Dispatcher;
  errands: MachineErrands;
  log: Log;
  kept: Pick<Kept, 'isKept' | 'lease'>;
  /** Why rows of the machine may not point into this store; undefined: they may, and it is remembered as the
   * machine's. */
  refusal(machineId: string, storeId: string): string | undefined;
  link: Omit<LinkOptions, 'where'>;
}

interface Link {
  id: number;
  peer: BotManagerPeer;
  name: string;
  slots: number;
  relays: boolean;
  greeted: boolean;
  /** Machines below a relay that must not be used; the relay has been told. */
  refused: Set<string>;
}

/** A machine that was refused: it loses its connection, so nothing more is heard under that. */
interface Refused {
  reason: string;
  /** Unix time. */
  atMs: number;
  /** Id of its store, unless it did not give any: under another machine id it is the same machine. */
  storeId: string | undefined;
}

const MAX_REFUSALS = 20;
/** Characters of what a peer said, in a message. */
const MOST_SHOWN = 100;
/** Machines with a remembered time of leaving. */
const MAX_LEFT = 1000;

export class BmLinks {
  readonly #options: BmLinksOptions;
  readonly #links = new Map<number, Link>();
  readonly #machines = new Machines<Link>();
  /** Machines that were refused and have not come back otherwise: the latest ones, by id. */
  readonly #refusals = new Map<string, Refused>();
  /** When machines that are away left (Unix time): the latest ones, by id. */
  readonly #left = new Map<string, number>();
  #lastId = 0;

  constructor(options: BmLinksOptions) {
    this.#options = options;
  }

  accept({ socket, peer: name }: Connection): void {
    const { dispatcher, errands, log, kept, link: linkOptions } = this.#options;
    // Nobody is served while the lease is not surely held: peers look for who has it, and come again at once.
    const isHeld = kept.lease?.state === 'owner' && kept.lease.untilMs > linkOptions.clock.monotonicMs();
    if (kept.isKept && !isHeld) return void socket.destroy();
    const id = ++this.#lastId;
    const peer = new BotManagerPeer(
      socket,
      {
        hello: offer => this.#hello(link, offer),
        fetched: result => {
          const done = this.#placed(link, result);
          // The file may be one that a row points to (a result sent twice): left for lccfsck to judge.
          if (!dispatcher.fetched(id, done))
            log.warn('unexpected result ignored', { peer: name, id: result.id });
        },
        deleted: result => void errands.answered(peer, 'delete', result),
        upkept: result => void errands.answered(peer, result.kind, result),
        closed: reason => {
          const machines = this.#machines.of(link);
          if (this.#links.delete(id))
            log.info('Bot Manager disconnected', {
              peer: name,
              machines: machines.join(' '),
              reason: reason && messageOf(reason),
            });
          this.#noteLeft(machines);
          this.#machines.remove(link);
          dispatcher.removeWorker(id);
          errands.removePeer(peer);
        },
      },
      { ...linkOptions, where: `bot manager ${name}` },
    );
    const link: Link = { id, peer, name, slots: 0, relays: false, greeted: false, refused: new Set() };
    peer.greet(kept.lease?.state === 'owner' ? kept.lease.epoch : 0);
  }

  /** Ends the connections that there are. */
  stop(): void {
    for (const { peer } of this.#links.values()) peer.channel.destroy();
  }

  status() {
    return [...this.#links.values()].map(link => ({
      peer: link.name,
      machines: this.#machines.of(link),
      slots: link.slots,
      relay: link.relays,
      ...silence(link.peer),
      ...this.#options.dispatcher.restOf(link.id),
    }));
  }

  /** Machines that were refused, why, and when (Unix time). */
  refused(): { machine: string; reason: string; at_ms: number }[] {
    return [...this.#refusals].map(([machine, { reason, atMs }]) => ({ machine, reason, at_ms: atMs }));
  }

  /** When a machine that is away left (Unix time); undefined when it has not been here since the start. */
  leftAt(machineId: string): number | undefined {
    return this.#left.get(machineId);
  }

  #noteLeft(machineIds: readonly string[]): void {
    const nowMs = this.#options.link.clock.nowMs();
    for (const machineId of machineIds) setNewest(this.#left, machineId, nowMs, MAX_LEFT);
  }

  #hello(link: Link, offer: Offer): void {
    const { dispatcher, errands, log } = this.#options;
    link.relays = offer.relays;
    link.slots = offer.slots;
    link.refused.clear();
    const before = this.#machines.of(link);
    this.#refuseStrangeStores(link, offer);
    for (const refusal of this.#machines.set(link, without(offer, link.refused)))
      this.#refuse(refusal.link, refusal.machineId, refusal.why, refusal.link === link ? offer : undefined);
    if (!link.peer.channel.open) return;
    this.#links.set(link.id, link);
    if (!link.greeted)
      log.info(link.relays ? 'relay connected' : 'Bot Manager connected', {
        peer: link.name,
        slots: offer.slots,
        machines: offer.machineIds.join(' '),
      });
    link.greeted = true;
    dispatcher.setWorker(link.id, link.peer, offer.slots, offer.takesUnasked === true);
    const machineIds = this.#machines.of(link);
    this.#noteLeft(before.filter(id => !machineIds.includes(id)));
    for (const machineId of machineIds) this.#left.delete(machineId);
    this.#forget(
      machineIds.filter(id => !before.includes(id)),
      without(offer, link.refused).storeIds,
    );
    errands.setMachines(link.peer, machineIds);
  }

  /**
   * A result that says where its content is, as rows keep it.
   * @throws LccError `peer.protocol` when it names no file, or that of a machine the Bot Manager never said
   * it is
   */
  #placed(link: Link, result: FetchResult): FetchResult {
    if (result.status !== 'ok') return result;
    const { id, machineId, fileId } = result;
    if (nameOf(fileId) === undefined)
      throw link.peer.channel.violation(
        `fileid ${JSON.stringify(fileId.slice(0, MOST_SHOWN))} is no file of a store`,
      );
    if (this.#machines.linkOf(machineId) === link) return result;
    // A machine that was refused, or has left its relay, may have been given something before that was heard
    // of there.
    if (link.relays || link.refused.has(machineId)) return { id, status: 'recalled' };
    throw link.peer.channel.violation(
      `machineid ${JSON.stringify(machineId.slice(0, MOST_SHOWN))} is not one of ${this.#machines.of(link).join(', ')}`,
    );
  }

  /** Forgets refusals that are over: their machine has come, under its id or with its store under another. */
  #forget(machineIds: readonly string[], storeIds: readonly string[]): void {
    for (const [id, { storeId }] of this.#refusals)
      if (machineIds.includes(id) || (storeId !== undefined && storeIds.includes(storeId)))
        this.#refusals.delete(id);
  }

  /** Machines that come with a store that is not the one rows point into. */
  #refuseStrangeStores(link: Link, offer: Offer): void {
    const { machineIds, storeIds } = offer;
    for (const [i, storeId] of storeIds.entries()) {
      const machineId = machineIds[i] ?? '';
      if (storeId === UNKNOWN_STORE || this.#machines.has(link, machineId, storeId)) continue;
      // A machine whose id belongs to another connection is not looked at: its store must not become that
      // machine's.
      if (this.#machines.linkOf(machineId) !== undefined) continue;
      const why = this.#options.refusal(machineId, storeId);
      if (why !== undefined) this.#refuse(link, machineId, why, offer);
    }
  }

  /** @param offer the offer that named the machine, when it has just come */
  #refuse(link: Link, machineId: string, why: string, offer?: Offer): void {
    this.#options.log.error('Bot Manager refused', { peer: link.name, machine: machineId, error: why });
    this.#machines.drop(link, machineId);
    link.refused.add(machineId);
    const storeId = offer?.storeIds[offer.machineIds.indexOf(machineId)];
    const refusal = {
      reason: why,
      atMs: this.#options.link.clock.nowMs(),
      storeId: storeId === UNKNOWN_STORE ? undefined : storeId,
    };
    setNewest(this.#refusals, machineId, refusal, MAX_REFUSALS);
    refuseMachine(link.peer, link.relays, machineId, why);
  }
}

function without(offer: Offer, refused: ReadonlySet<string>): Pick<Offer, 'machineIds' | 'storeIds'> {
  const kept = [...offer.machineIds.keys()].filter(i => !refused.has(offer.machineIds[i] ?? ''));
  return {
    machineIds: kept.map(i => offer.machineIds[i] ?? ''),
    storeIds: offer.storeIds.length === 0 ? [] : kept.map(i => offer.storeIds[i] ?? ''),
  };
}
