/**
 * A Bot Manager with a store: requests come from one source (a QM, or a Bot Manager above), go to whatever robots are
 * connected, and the results go back with the place of the content.
 *
 * A request: waiting ──▶ with a robot ──▶ answered
 *   robot gone             → waiting again, for the same destination; after `maxLosses` answered with code 605
 *   error, unchanged       → answered; its name goes back unused
 *   lane recalled          → what has not begun is answered with `recalled`, what has is finished
 *   source gone            → what has not begun is dropped, also at robots: nobody fetches what nobody asks for;
 *                            what has is finished without an answer (its lane stays shut that long), its file removed
 *   disk nearly full       → answered with code 613, and no slots are offered until there is room
 */
import type { Duplex } from 'node:stream';
import { limitText } from '../config/settings.js';
import type { Clock } from '../lib/clock.js';
import { LccError, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { RobotPeer, type RobotPeerOptions } from '../wire/bm-bot.js';
import type { FetchRequest, FetchResult } from '../wire/fetch.js';
import type { ChannelLimits } from '../wire/messages.js';
import { SourcePeer } from '../wire/qm-bm.js';
import { Distributor } from './distribute.js';
import { RobotWorker, storeFull, type FetchTask } from './robots.js';
import type { Store } from './store.js';

export interface BotManagerOptions {
  store: Store;
  clock: Clock;
  log: Log;
  channel: ChannelLimits & Pick<RobotPeerOptions, 'helloTimeoutMs'>;
  /** Requests waiting for robots, and deletions for their commit, at which the source is not read any more. */
  maxWaiting: number;
  maxRobots: number;
  /** Requests of one lane at a robot at a time. */
  laneWindow: number;
  /** Robots that may vanish over one request before it is answered with an error. */
  maxLosses: number;
  /** How long a robot may take for one request before it is taken for hung and cut. */
  attemptTimeoutMs: number;
  /** Called when the source does not take this store for the one it knows of. */
  refused(reason: LccError): void;
}

/** How often the disk's room and hung robots are looked at. */
const WATCH_INTERVAL_MS = 1000;
/** How long `stop` waits for what robots have begun. */
const STOP_WAIT_MS = 5000;

interface Source {
  readonly number: number;
  readonly peer: SourcePeer;
  /** Ids of requests not yet answered. */
  readonly open: Set<number>;
}

export class BotManager {
  readonly #options: BotManagerOptions;
  readonly #store: Store;
  readonly #log: Log;
  readonly #distributor: Distributor<FetchTask>;
  readonly #robots = new Set<RobotWorker>();
  #source: Source | undefined;
  #sources = 0;
  #tasks = 0;
  #saidSlots: number | undefined;
  #full: boolean;
  #stopping = false;
  #drained: (() => void) | undefined;
  #cancelWatch: () => void;

  constructor(options: BotManagerOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#log = options.log;
    this.#distributor = new Distributor<FetchTask>(options.laneWindow, (task, begun) =>
      this.#lost(task, begun),
    );
    this.#full = options.store.full();
    this.#cancelWatch = options.clock.after(WATCH_INTERVAL_MS, () => this.#watch());
  }

  /** Serves a connection to the source; an earlier one, if it still stands, is given up for it. */
  source(stream: Duplex, where: string): void {
    const earlier = this.#source;
    if (earlier !== undefined) {
      this.#sourceClosed(earlier, new LccError('peer.unavailable', `${where}: another connection to it`));
      earlier.peer.channel.destroy();
    }
    const open = new Set<number>();
    const number = ++this.#sources;
    const peer = new SourcePeer(
      stream,
      {
        fetch: request => this.#request(source, request),
        recall: lane => this.#recall(source, lane),
        delete: request => {
          if (request.machineId !== this.#store.machineId) {
            peer.deleted({ id: request.id, status: 'away' });
            return;
          }
          this.#store.delete(request.fileId, () => {
            peer.deleted({ id: request.id, status: 'ok' });
            this.#balance();
          });
          this.#balance();
        },
        closed: reason => this.#sourceClosed(source, reason),
      },
      { ...this.#options.channel, clock: this.#options.clock, where },
    );
    const source: Source = { number, peer, open };
    this.#source = source;
    this.#saidSlots = undefined;
    this.#offer();
  }

  /** Serves a robot. */
  robot(stream: Duplex, where: string): void {
    const { channel, clock, maxRobots } = this.#options;
    const peer = new RobotPeer(
      stream,
      {
        hello: slots => {
          if (worker.slots !== slots || !this.#robots.has(worker))
            this.#log.info('robot connected', { peer: where, slots });
          worker.slots = slots;
          if (this.#robots.has(worker)) this.#distributor.pump();
          else {
            this.#robots.add(worker);
            this.#distributor.join(worker);
          }
          this.#offer();
        },
        fetched: result => {
          if (!this.#done(worker, result)) {
            throw peer.channel.violation(`<fetched id="${result.id}">: no such fetch is with this robot`);
          }
        },
        closed: reason => {
          if (!this.#robots.delete(worker)) return;
          this.#log.warn('robot gone', { peer: where, reason: reason && messageOf(reason) });
          this.#distributor.leave(worker);
          this.#offer();
        },
      },
      { ...channel, clock, where },
    );
    const worker = new RobotWorker(
      peer,
      this.#store,
      () => clock.monotonicMs(),
      (failed, result) => void this.#done(failed, result),
    );
    if (this.#robots.size >= maxRobots) {
      const limit = limitText('bm.max_robots', maxRobots);
      peer.channel.refuse(new LccError('limit', `${where}: there are ${limit} robots already`));
    }
  }

  status(): { idle: boolean; [name: string]: unknown } {
    const waiting = this.#distributor.waiting;
    const given = this.#distributor.given;
    return {
      idle: waiting === 0 && given === 0 && this.#store.deletionsWaiting === 0,
      machineid: this.#store.machineId,
      source: this.#source !== undefined,
      robots: this.#robots.size,
      slots: this.#distributor.slots,
      waiting,
      fetching: given,
      lanes: this.#distributor.lanes,
      deletions_waiting: this.#store.deletionsWaiting,
      names_free: this.#store.freeNames,
      names_in_grace: this.#store.namesInGrace,
      store_full: this.#full,
    };
  }

  /** Lets robots finish what they have begun, a few seconds long, gives back the rest, then lets go of everything. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#offer();
    this.#takeBack(() => true);
    if (this.#source !== undefined && this.#distributor.given > 0) {
      await new Promise<void>(resolve => {
        this.#drained = resolve;
        this.#options.clock.after(STOP_WAIT_MS, resolve);
      });
    }
    this.#cancelWatch();
    this.#store.close();
    this.#source?.peer.channel.end();
    for (const robot of this.#robots) robot.cut(undefined);
  }

  #request(source: Source, request: FetchRequest): void {
    if (source.open.has(request.id)) {
      throw source.peer.channel.violation(`<fetch id="${request.id}">: that id is being fetched`);
    }
    if (this.#stopping) return source.peer.fetched({ id: request.id, status: 'recalled' });
    if (this.#full) return source.peer.fetched(storeFull(request.id));
    source.open.add(request.id);
    this.#distributor.add({
      number: ++this.#tasks,
      lane: request.lane,
      request,
      source: source.number,
      destination: undefined,
      losses: 0,
      tainted: false,
      recalled: false,
      startedMs: 0,
    });
    this.#balance();
  }

  #recall(source: Source, lane: string): void {
    this.#takeBack(task => task.source === source.number, lane);
    this.#distributor.pump();
    this.#balance();
  }

  /** Gives back what has not begun: at once what no robot has, the rest when its robot hands it back. @returns how many at once */
  #takeBack(wanted: (task: FetchTask) => boolean, lane?: string): number {
    const taken = this.#distributor.recall(wanted, lane);
    for (const task of taken) this.#answer(task, { id: task.number, status: 'recalled' });
    return taken.length;
  }

  /** A robot's answer; false when it was not asked that. */
  #done(worker: RobotWorker, result: FetchResult): boolean {
    if (result.status === 'recalled' && this.#distributor.taskOf(worker, result.id)?.recalled !== true)
      return false;
    const task = this.#distributor.finish(worker, result.id);
    if (task === undefined) return false;
    this.#answer(task, result);
    this.#distributor.pump();
    this.#balance();
    if (this.#distributor.given === 0) this.#drained?.();
    return true;
  }

  #answer(task: FetchTask, result: FetchResult): void {
    const source = this.#source?.number === task.source ? this.#source : undefined;
    source?.open.delete(task.request.id);
    result.id = task.request.id;
    if (result.status === 'ok' && task.destination !== undefined) {
      if (source === undefined) return this.#store.discard(task.destination);
      result.machineId = this.#store.machineId;
      result.fileId = this.#store.fileIdOf(task.destination);
    } else if (task.destination !== undefined) {
      // A robot that vanished over it may still be writing: its name is used up. Otherwise it was never used.
      if (task.tainted) this.#store.discard(task.destination);
      else this.#store.giveBack(task.destination);
    }
    source?.peer.fetched(result);
  }

  /** The task's robot is gone: whether another shall go on with it. Only what it can have begun may be to blame. */
  #lost(task: FetchTask, begun: boolean): boolean {
    task.tainted = true;
    if (task.recalled) {
      this.#answer(task, { id: task.number, status: 'recalled' });
      return false;
    }
    if (begun) task.losses++;
    if (task.losses < this.#options.maxLosses) return true;
    this.#answer(task, {
      id: task.number,
      status: 'error',
      code: 605,
      message: `${task.losses} robots ended while fetching this`,
      reach: 'url',
      wireBytes: 0,
      elapsedMs: 0,
    });
    return false;
  }

  #sourceClosed(source: Source, reason: LccError | undefined): void {
    if (this.#source !== source) return;
    this.#source = undefined;
    this.#drained?.();
    if (reason?.code === 'config') this.#options.refused(reason);
    const dropped = this.#takeBack(task => task.source === source.number);
    if (!this.#stopping) {
      this.#log.warn('source gone', {
        reason: reason && messageOf(reason),
        dropped,
        fetching: this.#distributor.given,
      });
    }
  }

  /** Says how much can be done, when that has changed. */
  #offer(): void {
    const slots = this.#full || this.#stopping ? 0 : this.#distributor.slots;
    if (this.#source === undefined || slots === this.#saidSlots) return;
    this.#saidSlots = slots;
    this.#source.peer.hello([this.#store.machineId], slots, [this.#store.id]);
  }

  /** Reads from the source only while there is room for what it asks. */
  #balance(): void {
    const waiting = this.#distributor.waiting + this.#store.deletionsWaiting;
    this.#source?.peer.channel.hold(waiting >= this.#options.maxWaiting);
  }

  #watch(): void {
    this.#cancelWatch = this.#options.clock.after(WATCH_INTERVAL_MS, () => this.#watch());
    const { attemptTimeoutMs, clock } = this.#options;
    const startedBeforeMs = clock.monotonicMs() - attemptTimeoutMs;
    for (const worker of this.#robots) {
      const late = this.#distributor.turnOf(worker, task => task.startedMs <= startedBeforeMs);
      if (late === undefined) continue;
      const limit = limitText('bm.attempt_timeout_ms', attemptTimeoutMs);
      worker.cut(new LccError('limit', `${worker.where}: no answer within ${limit} for ${late.request.url}`));
    }
    const full = this.#store.full();
    if (full === this.#full) return;
    this.#full = full;
    this.#log.warn(full ? 'store full, nothing is fetched' : 'store has room again', {});
    if (full)
      for (const task of this.#distributor.withdraw(() => true)) this.#answer(task, storeFull(task.number));
    this.#offer();
    this.#balance();
  }
}
