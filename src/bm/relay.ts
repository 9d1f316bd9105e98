/**
 * A Bot Manager without a store: it passes on what others do. Bot Managers and further relays connect to it,
 * it connects to its source, and to that it looks like one Bot Manager with all their machines and slots. Why
 * it is built as it is: docs/design/relay.md.
 *
 * A request: waiting ──▶ with a branch ──▶ answered
 *   branch gone             → given to another branch that has a slot, else answered with `recalled`
 *   handed back unasked     → the same (its Bot Manager stops, or has no robots)
 *   store full (613)        → the same, and the branch is given nothing until it has room
 *   site wants patience     → what waits of its provider, and what still comes, is answered with `recalled`
 *   lane recalled           → what waits is answered with `recalled`, the branch is asked for the rest
 *   source gone             → recalled, also what has begun; what is stored nevertheless is deleted
 * A deletion or check goes to the branch of its machine; when that is not there, or vanishes, it is answered
 * with `away`.
 */
import type { Duplex } from 'node:stream';
import { messageOf, type LccError } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { STORE_FULL } from '../wire/codes.js';
import { isForUnasked, type FetchRequest, type FetchResult } from '../wire/fetch.js';
import { Machines, refuseMachine, type RefusedMachine } from '../wire/machines.js';
import { BotManagerPeer, silence, type Offer } from '../wire/qm-bm.js';
import { ownerOf, Stops } from '../wire/left-alone.js';
import { Branch, type RelayTask } from './branches.js';
import { Distributor } from './distribute.js';
import { Errands } from './errands.js';
import type { RelayStatus } from './figures.js';
import type { PassingOptions } from './options.js';
import { Upstream } from './upstream.js';
import { answerToVanished, mayGoOn, takeStranded } from './vanished.js';

export interface RelayOptions extends PassingOptions {
  /** Lanes given to a branch beyond its slots. */
  overbookPercent: number;
}

/** How long a branch with a full store is given nothing, at most, unless it says that it has room. */
const FULL_REST_MS = 30_000;

export class Relay {
  readonly #options: RelayOptions;
  readonly #log: Log;
  readonly #upstream: Upstream;
  readonly #distributor: Distributor<RelayTask>;
  readonly #machines = new Machines<Branch>();
  /** Branches that have identified themselves, and where they are connected from. */
  readonly #branches = new Map<Branch, string>();
  readonly #errands: Errands;
  readonly #stops = new Stops();
  /** The last number given to anything on its way down. */
  #lastNumber = 0;
  #stopping = false;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#distributor = new Distributor<RelayTask>(options.laneWindow, (task, begun) =>
      this.#lost(task, begun),
    );
    this.#upstream = new Upstream(options, {
      newEpoch: epoch => {
        for (const { peer } of this.#branches.keys()) peer.greet(epoch);
      },
      fetch: (source, request) => this.#request(source, request),
      recall: (source, lane, begun) => {
        this.#stops.recalled(lane);
        this.#takeBack(task => task.source === source, lane, begun);
        this.#settle();
      },
      delete: (source, request) => {
        this.#errands.delete(source, request);
        this.#balance();
      },
      upkeep: (source, request) => {
        this.#errands.upkeep(source, request);
        this.#balance();
      },
      refused: (machineId, why) => this.#refuse(this.#machines.linkOf(machineId), machineId, why),
      lost: source => {
        this.#stops.clear();
        this.#takeBack(task => task.source === source, undefined, true);
        return { fetching: this.#distributor.given };
      },
    });
    this.#errands = new Errands(
      machineId => this.#machines.linkOf(machineId),
      () => ++this.#lastNumber,
      this.#upstream,
    );
  }

  /** Serves a connection to the source; an earlier one, if it still stands, is given up for it. */
  source(stream: Duplex, where: string): void {
    this.#upstream.serve(stream, where);
    this.#offer();
  }

  /** Serves a Bot Manager or relay below. */
  branch(stream: Duplex, where: string): void {
    const { channel, clock, overbookPercent } = this.#options;
    const peer = new BotManagerPeer(
      stream,
      {
        hello: offer => this.#hello(branch, offer, where),
        fetched: result => {
          if (!this.#done(branch, result))
            this.#log.warn('unexpected result ignored', { peer: where, id: result.id });
        },
        deleted: ({ id, status }) => {
          this.#errands.done(branch, id, { status });
          this.#settle();
        },
        upkept: ({ id, status, fileId }) => {
          this.#errands.done(branch, id, fileId === undefined ? { status } : { status, fileId });
          this.#settle();
        },
        closed: reason => this.#branchGone(branch, reason),
      },
      { ...channel, clock, where },
    );
    const branch = new Branch(peer, overbookPercent);
  }

  status(): RelayStatus {
    const { waiting, given, begun, lanes } = this.#distributor;
    return {
      idle: this.#upstream.known && waiting === 0 && given === 0 && this.#errands.size === 0,
      relay: true,
      source: this.#upstream.connected,
      bot_managers: [...this.#branches].map(([branch, peer]) => ({
        peer,
        machines: this.#machines.of(branch),
        slots: branch.offered,
        relay: branch.relays,
        ...silence(branch.peer),
      })),
      machines: this.#machines.all().machineIds.length,
      slots: this.#slots(),
      waiting,
      fetching: given,
      begun,
      lanes,
      deletions_waiting: this.#errands.deletions,
    };
  }

  /** Lets branches finish what they have begun, a few seconds long, gives back the rest, then lets go of
   * everything. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#offer();
    this.#takeBack(() => true);
    await this.#upstream.drain(this.#distributor.given);
    this.#upstream.end();
    for (const branch of this.#branches.keys()) branch.peer.channel.end();
  }

  #hello(branch: Branch, offer: Offer, where: string): void {
    this.#upstream.heedSilence();
    branch.relays = offer.relays;
    branch.takesUnasked = offer.takesUnasked === true;
    if (!branch.takesUnasked) this.#takeBack(({ request }) => isForUnasked(request));
    const refusals = this.#machines.set(branch, offer);
    this.#cameAnew(refusals.filter(({ link }) => link !== branch));
    for (const { link, machineId, why } of refusals) this.#refuse(link, machineId, why);
    if (!branch.peer.channel.open) return;
    branch.offer(offer.slots);
    if (this.#branches.has(branch)) this.#distributor.pump();
    else {
      branch.peer.greet(this.#upstream.epoch);
      this.#log.info(offer.relays ? 'relay connected' : 'Bot Manager connected', {
        peer: where,
        slots: offer.slots,
        machines: offer.machineIds.join(' '),
      });
      this.#branches.set(branch, where);
      this.#distributor.join(branch);
    }
    this.#offer();
    this.#settle();
  }

  /** Machines at another connection than before, maybe after a power cut: the source must not take them for
   * having stayed. */
  #cameAnew(replaced: readonly RefusedMachine<Branch>[]): void {
    if (replaced.length === 0) return;
    for (const { link, machineId } of replaced) this.#errands.leave(link, machineId);
    this.#offer(replaced.map(({ machineId }) => machineId));
  }

  #branchGone(branch: Branch, reason: LccError | undefined): void {
    this.#machines.remove(branch);
    if (!this.#branches.delete(branch)) return;
    this.#log.warn('Bot Manager disconnected', {
      peer: branch.peer.channel.where,
      reason: reason && messageOf(reason),
    });
    const lanes = this.#distributor.leave(branch);
    this.#errands.leave(branch);
    this.#offer();
    this.#returnStranded(lanes);
    this.#settle();
  }

  #request(source: number, request: FetchRequest): void {
    if (
      this.#stopping ||
      this.#slots() === 0 ||
      (isForUnasked(request) && !this.#takesUnasked) ||
      this.#stops.includes(request.lane, this.#options.clock.monotonicMs())
    )
      return this.#upstream.answer(source, { id: request.id, status: 'recalled' });
    const number = ++this.#lastNumber;
    this.#distributor.add({ number, lane: request.lane, request, source, losses: 0, recalled: false });
    this.#balance();
  }

  /** A branch's answer; false when it was not asked that. */
  #done(branch: Branch, result: FetchResult): boolean {
    this.#upstream.heedSilence();
    const task = this.#distributor.taskOf(branch, result.id);
    if (task === undefined) return false;
    const isUnwanted = !this.#upstream.has(task.source);
    const isUndone = this.#isUndone(branch, result);
    if (isUndone && !isUnwanted && !task.recalled) this.#handedBack(branch, task);
    else {
      this.#distributor.finish(branch, task.number);
      if (isUnwanted) this.#discard(branch, result);
      else {
        this.#answer(task, isUndone ? { id: 0, status: 'recalled' } : result);
        if (this.#stops.heard(task.lane, result, this.#options.clock.monotonicMs()))
          this.#leaveAlone(branch, task);
      }
    }
    this.#settle();
    return true;
  }

  /** The task's site wants to be left alone: its branch has stopped by itself and waits to hear that this is
   * known. */
  #leaveAlone(branch: Branch, task: RelayTask): void {
    const owner = ownerOf(task.lane);
    for (const lane of this.#distributor.laneNames())
      if (ownerOf(lane) === owner) this.#takeBack(() => true, lane);
    branch.peer.recall(task.lane);
  }

  /** True if the request is as if it had never been given to this branch. */
  #isUndone(branch: Branch, result: FetchResult): boolean {
    switch (result.status) {
      case 'recalled':
        return true;
      case 'error':
        // One content that is too large for the branch (reach url) says nothing about the next.
        if (result.code !== STORE_FULL || result.reach === 'url') return false;
        this.#rest(branch, Math.min(result.retryAfterMs ?? FULL_REST_MS, FULL_REST_MS), result.message);
        return true;
      case 'ok':
        // A machine below it that was refused, or has gone over to another branch: its file is not to be
        // pointed to.
        return this.#machines.linkOf(result.machineId) !== branch;
      case 'unchanged':
      case 'redirect':
      case 'inline':
        return false;
    }
  }

  #handedBack(branch: Branch, task: RelayTask): void {
    if (mayGoOn(task, true, this.#options.maxLosses)) {
      this.#distributor.again(branch, task.number);
      this.#distributor.pump();
      this.#returnStranded([task.lane]);
      return;
    }
    this.#distributor.finish(branch, task.number);
    this.#answer(task, { id: 0, status: 'recalled' });
  }

  /** The task's branch is gone: whether another shall go on with it (vanished.ts). */
  #lost(task: RelayTask, begun: boolean): boolean {
    if (!this.#upstream.has(task.source)) return false;
    const { maxLosses } = this.#options;
    const answer = answerToVanished(task, begun, { id: 0, maxLosses, what: 'Bot Managers vanished' });
    if (answer !== undefined) this.#answer(task, answer);
    return answer === undefined;
  }

  #returnStranded(lanes: readonly string[]): void {
    for (const task of takeStranded(this.#distributor, lanes))
      this.#answer(task, { id: 0, status: 'recalled' });
  }

  #takeBack(wanted: (task: RelayTask) => boolean, lane?: string, begun = false): void {
    for (const task of this.#distributor.recall(wanted, lane, begun))
      this.#answer(task, { id: 0, status: 'recalled' });
  }

  #answer(task: RelayTask, result: FetchResult): void {
    this.#upstream.answer(task.source, { ...result, id: task.request.id });
  }

  /** Nobody will ever point to this file. */
  #discard(branch: Branch, result: FetchResult): void {
    if (result.status !== 'ok') return;
    const { machineId, fileId } = result;
    branch.peer.delete({ id: ++this.#lastNumber, machineId, fileId });
  }

  #refuse(branch: Branch | undefined, machineId: string, why: string): void {
    if (branch === undefined) return;
    this.#log.error('Bot Manager refused', {
      peer: branch.peer.channel.where,
      machine: machineId,
      error: why,
    });
    this.#machines.drop(branch, machineId);
    refuseMachine(branch.peer, branch.relays, machineId, why);
    this.#offer();
  }

  #rest(branch: Branch, restMs: number, reason: string): void {
    if (branch.offered === 0) return;
    this.#log.warn('Bot Manager cannot store content', { peer: branch.peer.channel.where, reason });
    branch.rest(true);
    this.#offer();
    this.#options.clock.after(restMs, () => {
      branch.rest(false);
      this.#distributor.pump();
      this.#offer();
    });
  }

  /** Any of the branches may get what is asked for. */
  get #takesUnasked(): boolean {
    return this.#branches.size > 0 && [...this.#branches.keys()].every(branch => branch.takesUnasked);
  }

  #slots(): number {
    let slots = 0;
    for (const branch of this.#branches.keys()) slots += branch.offered;
    return slots;
  }

  /** Says who is below and how much all can do, when that has changed. */
  #offer(without: readonly string[] = []): void {
    this.#upstream.offer({
      ...this.#machines.all(without),
      slots: this.#stopping ? 0 : this.#slots(),
      relays: true,
      takesUnasked: this.#takesUnasked,
    });
  }

  /** After something ended: gives what waits to free branches, and reads on or not. */
  #settle(): void {
    this.#distributor.pump();
    // Nobody is left to wait for.
    if (this.#slots() === 0) this.#withdrawAll();
    this.#balance();
    if (this.#distributor.given === 0) this.#upstream.drained();
  }

  #withdrawAll(): void {
    for (const task of this.#distributor.withdraw(() => true))
      this.#answer(task, { id: 0, status: 'recalled' });
  }

  #balance(): void {
    const waiting = this.#distributor.waiting + this.#errands.size;
    this.#upstream.hold(waiting >= this.#options.maxWaiting);
  }
}
