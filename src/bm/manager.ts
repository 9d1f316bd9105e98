/**
 * A Bot Manager with a store: requests come from one source (a QM, or a Bot Manager above), go to whatever
 * robots are connected, and the results go back with the place of the content.
 *
 * A request: waiting ──▶ with a robot ──▶ answered
 *   robot gone             → waiting again, for the same destination; after `maxLosses` answered with 605
 *   robot cut off          → the same, under another name: it may live and write to the one it was given
 *   error, unchanged       → answered; its name goes back unused
 *   lane recalled          → what has not begun is answered with `recalled`, what has is finished
 *   site wants patience    → the same of all lanes of its provider, and of what still comes (left-alone.ts)
 *   no robots for a while  → what waits is answered with `recalled`: another machine may have slots
 *   source gone            → dropped, also at robots: another machine may be asked for it now, and a site
 *                            must not be by both; what ends nevertheless has no answer (its lane stays shut
 *                            that long), its file goes
 *   disk nearly full       → answered with code 613, and no slots are offered until there is room; what waits
 *                            at robots is answered with `recalled`, what has begun is finished
 */
import type { Duplex } from 'node:stream';
import type { Name } from '../db/names/names.js';
import { fileIdOf } from '../db/names/naming.js';
import { errnoOf, LccError, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { RobotPeer, type RobotEnd, type RobotHandlers } from '../wire/bm-bot.js';
import { isForUnasked, storedAt } from '../wire/fetch.js';
import type { FetchFailed, FetchRequest, RobotResult } from '../wire/fetch.js';
import { ownerOf, Stops } from '../wire/left-alone.js';
import { NearRobot, type NearJoin } from '../wire/near-robot.js';
import type { UpkeepRequest } from '../wire/upkeep.js';
import { Distributor } from './distribute.js';
import type { BmStatus } from './figures.js';
import { cutHungRobots } from './attempt-timeout.js';
import type { PassingOptions } from './options.js';
import { MissingRobots } from './missing-robots.js';
import { storeFull } from './store-full-answer.js';
import { robotWait } from './robot-wait.js';
import { RobotWorker, type FetchTask } from './robot-worker.js';
import type { Store } from './store.js';
import { outcomeOfName } from './source-lost.js';
import { Upstream } from './upstream.js';
import { answerToVanished } from './vanished.js';

export interface BotManagerOptions extends PassingOptions {
  store: Store;
  /** How long a robot may take for one request before it is taken for hung and cut. */
  attemptTimeoutMs: number;
  /** How long requests wait for the first robot before they go back to the source. */
  robotWaitMs: number;
}

/** How often the disk's room and hung robots are looked at. */
const WATCH_INTERVAL_MS = 1000;

export class BotManager {
  readonly #options: BotManagerOptions;
  readonly #store: Store;
  readonly #log: Log;
  readonly #distributor: Distributor<FetchTask>;
  readonly #robots = new Set<RobotWorker>();
  readonly #missingRobots: MissingRobots;
  /** The robot lost last: whether it may go on all the same, and the names it had been given. */
  #losing: { mayLive: boolean; names: Name[] } = { mayLive: false, names: [] };
  readonly #upstream: Upstream;
  readonly #stops = new Stops();
  #tasks = 0;
  /** Files being checked, and syncs. */
  #tended = 0;
  #full: boolean;
  #stopping = false;
  #cancelWatch: () => void;
  readonly #robotWait: ReturnType<typeof robotWait>;

  constructor(options: BotManagerOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#log = options.log;
    this.#missingRobots = new MissingRobots(options.clock);
    this.#distributor = new Distributor<FetchTask>(options.laneWindow, (task, begun) =>
      this.#lost(task, begun),
    );
    this.#robotWait = robotWait(options.clock, options.robotWaitMs, () => {
      const requests = this.#takeBack(() => true);
      this.#balance();
      this.#log.warn('no robot: what waited goes back to the source', { requests });
    });
    this.#upstream = new Upstream(options, {
      fetch: (source, request) => this.#request(source, request),
      recall: (source, lane, begun) => {
        this.#stops.recalled(lane);
        this.#takeBack(task => task.source === source, lane, begun);
        this.#distributor.pump();
        this.#balance();
      },
      delete: (source, { id, machineId, fileId }) => {
        if (machineId !== this.#store.machineId)
          return this.#upstream.deleted(source, { id, status: 'away' });
        this.#store.delete(fileId, () => {
          this.#upstream.deleted(source, { id, status: 'ok' });
          this.#balance();
        });
        this.#balance();
      },
      upkeep: (source, request) => void this.#tend(source, request),
      refused: (_machineId, why) => options.refused(new LccError('config', why)),
      lost: source => {
        this.#stops.clear();
        const dropped = this.#takeBack(task => task.source === source, undefined, true);
        return { dropped, fetching: this.#distributor.given };
      },
    });
    this.#full = options.store.full();
    if (this.#full) this.#sayRoom();
    this.#cancelWatch = options.clock.after(WATCH_INTERVAL_MS, () => this.#watch());
  }

  /** Serves a connection to the source; an earlier one, if it still stands, is given up for it. */
  source(stream: Duplex, where: string): void {
    this.#upstream.serve(stream, where);
    this.#offer();
  }

  /** Serves a robot. */
  robot(stream: Duplex, where: string): void {
    const { channel, clock, attemptTimeoutMs } = this.#options;
    // A robot gives up after two intervals of silence: before it is cut off.
    const pingIntervalMs = Math.min(channel.pingIntervalMs, Math.ceil(attemptTimeoutMs / 3));
    const options = { ...channel, pingIntervalMs, clock, where };
    this.#robot(where, handlers => new RobotPeer(stream, handlers, options));
  }

  /** Takes in a robot that is a thread of this process. */
  readonly near: NearJoin = (where, say, cut) =>
    this.#robot(where, handlers => new NearRobot(where, handlers, say, cut));

  #robot<P extends RobotEnd>(where: string, open: (handlers: RobotHandlers) => P): P {
    const peer = open({
      hello: (slots, takesUnasked) => {
        this.#upstream.heedSilence();
        if (worker.slots !== slots || !this.#robots.has(worker))
          this.#log.info('robot connected', { peer: where, slots });
        worker.slots = slots;
        worker.takesUnasked = takesUnasked;
        if (!takesUnasked) this.#takeBack(({ request }) => isForUnasked(request));
        if (this.#robots.has(worker)) this.#distributor.pump();
        else {
          this.#robots.add(worker);
          this.#missingRobots.came(where);
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
        this.#log.warn('robot disconnected', { peer: where, reason: reason && messageOf(reason) });
        if (reason !== undefined && !this.#stopping) this.#missingRobots.add(where, messageOf(reason));
        const names: Name[] = [];
        this.#losing = { mayLive: reason !== undefined && !isDeath(reason), names };
        this.#distributor.leave(worker);
        this.#store.leftovers.removeOf(names);
        this.#offer();
      },
    });
    const worker = new RobotWorker(
      peer,
      this.#store,
      () => this.#options.clock.monotonicMs(),
      (failed, result) => void this.#done(failed, result),
    );
    return peer;
  }

  status(): BmStatus {
    const waiting = this.#distributor.waiting;
    const given = this.#distributor.given;
    return {
      idle: this.#upstream.known && waiting === 0 && given === 0 && this.#store.deletionsWaiting === 0,
      machineid: this.#store.machineId,
      source: this.#upstream.connected,
      robots: this.#robots.size,
      robots_silent: [...this.#robots]
        .filter(({ silentMs }) => silentMs > 0)
        .map(({ where: peer, silentMs }) => ({ peer, silent_ms: silentMs })),
      robots_lost: this.#missingRobots.list(),
      slots: this.#distributor.slots,
      waiting,
      fetching: given,
      begun: this.#distributor.begun,
      lanes: this.#distributor.lanes,
      deletions_waiting: this.#store.deletionsWaiting,
      names_free: this.#store.freeNames,
      names_in_grace: this.#store.namesInGrace,
      store_full: this.#full,
      no_room: this.#full ? this.#store.describeRoom() : null,
      disk: this.#store.roomStatus(),
      names_full: this.#store.namesFull,
    };
  }

  /** Lets robots finish what they have begun, a few seconds long, gives back the rest, then lets go of
   * everything. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#offer();
    this.#takeBack(() => true);
    await this.#upstream.drain(this.#distributor.given);
    this.#cancelWatch();
    this.#robotWait.stop();
    this.#store.close();
    this.#upstream.end();
    for (const robot of this.#robots) robot.cut(undefined);
  }

  #request(source: number, request: FetchRequest): void {
    if (this.#stopping || this.#stops.includes(request.lane, this.#options.clock.monotonicMs()))
      return this.#upstream.answer(source, { id: request.id, status: 'recalled' });
    if (isForUnasked(request) && !this.#takesUnasked)
      return this.#upstream.answer(source, { id: request.id, status: 'recalled' });
    this.#heedRoom();
    if (this.#full) return this.#upstream.answer(source, this.#storeFull(request.id));
    this.#distributor.add({
      number: ++this.#tasks,
      lane: request.lane,
      request,
      source,
      destination: undefined,
      losses: 0,
      tainted: false,
      recalled: false,
      startedMs: 0,
    });
    this.#waitForRobots();
    this.#balance();
  }

  async #tend(source: number, request: UpkeepRequest): Promise<void> {
    const { kind, id, machineId } = request;
    this.#tended++;
    this.#balance();
    const done =
      machineId === this.#store.machineId ? await this.#store.tend(request) : { status: 'away' as const };
    this.#tended--;
    this.#upstream.upkept(source, { kind, id, ...done });
    this.#balance();
  }

  /**
   * Gives back what has not begun: at once what no robot has, the rest when its robot hands it back.
   * @returns how many at once
   */
  #takeBack(wanted: (task: FetchTask) => boolean, lane?: string, begun = false): number {
    const taken = this.#distributor.recall(wanted, lane, begun);
    for (const task of taken) this.#answer(task, { id: task.number, status: 'recalled' });
    return taken.length;
  }

  /** A robot's answer; false when it was not asked that. */
  #done(worker: RobotWorker, result: RobotResult): boolean {
    this.#upstream.heedSilence();
    if (result.status === 'recalled' && this.#distributor.taskOf(worker, result.id)?.recalled !== true)
      return false;
    const task = this.#distributor.finish(worker, result.id);
    if (task === undefined) return false;
    this.#answer(task, result);
    if (this.#stops.heard(task.lane, result, this.#options.clock.monotonicMs()))
      this.#leaveAlone(worker, task);
    if (result.status === 'ok') this.#store.stored(result.len);
    this.#heedRoom();
    this.#distributor.pump();
    this.#balance();
    if (this.#distributor.given === 0) this.#upstream.drained();
    return true;
  }

  /** The task's site wants to be left alone: its robot has stopped by itself and waits to hear that this is
   * known. */
  #leaveAlone(worker: RobotWorker, task: FetchTask): void {
    const owner = ownerOf(task.lane);
    for (const lane of this.#distributor.laneNames())
      if (ownerOf(lane) === owner) this.#takeBack(() => true, lane);
    worker.heardStop(task.lane);
  }

  /** Answers a request under its own id, content with its place. */
  #answer(task: FetchTask, result: RobotResult): void {
    const { id } = task.request;
    const { destination, source, tainted: isTainted } = task;
    const hasContent = result.status === 'ok';
    const outcome = outcomeOfName(hasContent, !this.#upstream.has(source), isTainted);
    if (destination !== undefined && outcome === 'discarded') this.#store.discard(destination);
    if (destination !== undefined && outcome === 'given back') this.#store.giveBack(destination);
    if (result.status !== 'ok') return this.#upstream.answer(source, { ...result, id });
    if (destination === undefined) throw new Error(`request ${id}: content without a name in the store`);
    if (outcome !== 'reported') return;
    const { machineId } = this.#store;
    this.#upstream.answer(source, storedAt(result, id, machineId, fileIdOf(destination)));
  }

  /** The task's robot is gone: whether another shall go on with it (vanished.ts). */
  #lost(task: FetchTask, begun: boolean): boolean {
    task.tainted = true;
    if (task.destination !== undefined) this.#losing.names.push(task.destination);
    const { maxLosses } = this.#options;
    const answer = answerToVanished(task, begun, { id: task.number, maxLosses, what: 'robots ended' });
    if (answer !== undefined) this.#answer(task, answer);
    else if (this.#losing.mayLive) this.#rename(task);
    return answer === undefined;
  }

  /** A file that a robot puts in place after it was cut off must not replace that of the next robot, which
   * gets another name. */
  #rename(task: FetchTask): void {
    if (task.destination !== undefined) this.#store.discard(task.destination);
    task.destination = undefined;
    task.tainted = false;
  }

  /** Any of the robots may get what is asked for. */
  get #takesUnasked(): boolean {
    return this.#robots.size > 0 && [...this.#robots].every(robot => robot.takesUnasked);
  }

  /** Says how much can be done, when that has changed. */
  #offer(): void {
    const slots = this.#full || this.#stopping ? 0 : this.#distributor.slots;
    const { machineId, word } = this.#store;
    const takesUnasked = this.#takesUnasked;
    this.#upstream.offer({ machineIds: [machineId], slots, storeIds: [word], relays: false, takesUnasked });
    this.#waitForRobots();
  }

  #waitForRobots(): void {
    this.#robotWait.look(this.#distributor.slots, this.#distributor.waiting);
  }

  /** Reads from the source only while there is room for what it asks. */
  #balance(): void {
    const waiting = this.#distributor.waiting + this.#store.deletionsWaiting + this.#tended;
    this.#upstream.hold(waiting >= this.#options.maxWaiting);
  }

  #watch(): void {
    this.#cancelWatch = this.#options.clock.after(WATCH_INTERVAL_MS, () => this.#watch());
    const { attemptTimeoutMs, clock } = this.#options;
    cutHungRobots(this.#robots, this.#distributor, { nowMs: clock.monotonicMs(), attemptTimeoutMs });
    this.#lookForRoom();
  }

  /** Looks when what came since the last look may have taken the room. */
  #heedRoom(): void {
    if (!this.#full && this.#store.mayBeFull(this.#distributor.begun)) this.#lookForRoom();
    this.#distributor.giveAhead(!this.#store.mayBeFull(this.#distributor.capacity));
  }

  #lookForRoom(): void {
    const full = this.#store.full(this.#distributor.begun);
    if (full === this.#full) return;
    this.#full = full;
    this.#sayRoom();
    if (full) {
      for (const task of this.#distributor.withdraw(() => true))
        this.#answer(task, this.#storeFull(task.number));
      this.#distributor.giveAhead(false);
    }
    this.#offer();
    this.#balance();
  }

  #sayRoom(): void {
    const event = this.#full ? 'store full, nothing is fetched' : 'store has room again';
    this.#log.warn(event, { disk: this.#store.describeRoom() });
  }

  #storeFull(id: number): FetchFailed {
    return storeFull(id, this.#store.describeRoom());
  }
}

/** True if a connection ended as those of processes that die do. */
function isDeath(reason: LccError): boolean {
  return reason.code === 'data.cut' || ['ECONNRESET', 'EPIPE'].includes(errnoOf(reason.cause) ?? '');
}
