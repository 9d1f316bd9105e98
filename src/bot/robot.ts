/**
 * The robot: requests of Bot Managers (or of a person) in, fetches in a number of slots, results out.
 * Requests of one lane are fetched one after the other; a slot is what a lane needs while one of its requests
 * is asked of the site. A request without a lane is a lane of its own.
 *
 * A lane that is recalled gives back what waits in it; what is being fetched is finished, unless that must be
 * given up. So do the lanes of a provider with a site that asks to be left alone (left-alone.ts), until one
 * of them is recalled.
 *
 * A connection that closes takes its requests with it: what waits is forgotten, what is being fetched is
 * cancelled, for the manager gives it to another robot. A Bot Manager that hangs is given up, too: its source
 * gives its lanes to others. A robot that was stopped longer than its Bot Manager waits asks nothing more for
 * it.
 */
import type { Duplex } from 'node:stream';
import type { Clock } from '../lib/clock.js';
import { messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { ManagerPeer, type ManagerEnd, type ManagerHandlers } from '../wire/bm-bot.js';
import { UNPERMITTED } from '../wire/codes.js';
import type { FetchInline, RobotDone, RobotRequest } from '../wire/fetch.js';
import type { ChannelLimits } from '../wire/messages.js';
import { parseMtime } from '../wire/mtime.js';
import { ownerOf } from '../wire/left-alone.js';
import { NearManager, type FromRobot, type Turn } from '../wire/near-robot.js';
import type { FetchEngine } from '../fetch/engine.js';
import type { Fetched, FetchOutcome } from '../fetch/outcome.js';
import { MemorySink, type Sink } from '../fetch/sink.js';
import { countsOf, type BotStatus } from './figures.js';
import { BotLanes, type BotLane } from './lanes.js';
import { offeredSlots } from './offered-slots.js';
import { areEnough, sendResults, sendSoon } from './result-batch.js';
import { BegunFetch, newSession } from './session-state.js';
import type { Ahead, Asker, Served, Session, WaitingRequest } from './session-state.js';
import { StoreFiles } from './store-files.js';
import { verdictOf } from './verdict.js';

export interface RobotOptions {
  engine: FetchEngine;
  /** Lanes being fetched from at a time, over all connections. */
  slots: number;
  /** Requests waiting for a slot at which no more are read. */
  maxWaiting: number;
  channel: ChannelLimits;
  /** Sync every file and its directory before its result is given. */
  syncContent?: boolean;
  /** How long a connection may say nothing at first; left out: for ever, as a Bot Manager may. */
  firstWordMs?: number | undefined;
  /** Status of the robot whose counts it goes on with. */
  before?: BotStatus | undefined;
  clock: Clock;
  log: Log;
}

/** Time that fetches begun get when the robot is told to stop. */
const STOP_GRACE_MS = 5000;
/** Fetches under way from which on content is put in place by a thread of its own. */
const BUSY_FETCHES = 8;
/**
 * Beside no more lanes than this, a page with nothing after it in its lane is likely a whole set, and does
 * not wait for those of a large one: neither at the thread that writes them nor for their results. With many
 * lanes such pages come in crowds, which are better off together.
 */
const FEW_LANES = 4;

export class Robot {
  readonly #options: RobotOptions;
  readonly #sessions = new Set<Session>();
  readonly #lanes: BotLanes<WaitingRequest>;
  /** Fetches begun and not over; some have left their lane and wait for the disk. */
  #running = 0;
  readonly #offered: ReturnType<typeof offeredSlots>;
  #held = false;
  #filling = false;
  #stopping = false;
  #whenIdle: (() => void) | undefined;
  readonly #ahead: Ahead = {
    isBusy: () => this.#lanes.waiting > 0 || this.#running >= BUSY_FETCHES,
    isLastOf: ({ waiting }) =>
      waiting.length === 0 && this.#lanes.active > 1 && this.#lanes.active <= FEW_LANES,
    park: lane => this.#park(lane),
    leaveLane: begun => this.#leaveLane(begun),
    end: (begun, outcome) => this.#end(begun, outcome),
  };
  readonly #files: StoreFiles;
  readonly #counts;

  constructor(options: RobotOptions) {
    this.#options = options;
    this.#counts = countsOf(options.before);
    this.#offered = offeredSlots(options.slots, options.clock, slots => this.#offer(slots));
    this.#lanes = new BotLanes(options.slots);
    this.#files = new StoreFiles(options.syncContent === true, options.clock);
  }

  /** Takes a connection over. `closed` is called once, with the reason when it was not good order. */
  serve(stream: Duplex, where: string, asker: Asker, more: Partial<Served> = {}): void {
    const { channel, clock, firstWordMs } = this.#options;
    const options = { ...channel, clock, where, firstWordMs };
    this.#serve(handlers => new ManagerPeer(stream, handlers, options), where, asker, more);
  }

  /** Takes over the edge to the Bot Manager of whose process it is a thread. */
  serveNear(say: (said: Turn<FromRobot>) => void): NearManager {
    return this.#serve(handlers => new NearManager(say, handlers), 'Bot Manager', 'manager', {});
  }

  #serve<P extends ManagerEnd>(
    open: (handlers: ManagerHandlers) => P,
    where: string,
    asker: Asker,
    { closed, mayWrite = () => true }: Partial<Served>,
  ): P {
    const { log, slots } = this.#options;
    const peer = open({
      fetch: request => this.#accept(session, request),
      recall: (lane, begun) => this.#recall(session, lane, begun),
      ...(asker === 'person' ? { ended: () => this.#ended(session) } : undefined),
      closed: reason => {
        if (reason !== undefined) log.warn('connection lost', { peer: where, reason: messageOf(reason) });
        this.#close(session);
        closed?.(reason);
      },
    });
    const session = newSession(peer, asker, mayWrite);
    this.#sessions.add(session);
    if (this.#stopping) session.peer.channel.end();
    else {
      this.#greet(session, asker === 'manager' ? this.#offered.last : slots);
      session.peer.hold(this.#held);
    }
    return peer;
  }

  status(): BotStatus {
    return {
      idle: this.#running === 0 && this.#lanes.waiting === 0,
      slots: this.#options.slots,
      fetching: this.#lanes.active,
      slow: this.#lanes.parked,
      storing: this.#running - this.#lanes.active - this.#lanes.parked,
      waiting: this.#lanes.waiting,
      managers: this.#sessions.size,
      idle_connections: this.#options.engine.idleConnections,
      ...this.#counts,
    };
  }

  /** Finishes the fetches begun, for a few seconds, sends their results and closes everything. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#offered.stop();
    for (const session of this.#sessions) {
      this.#forget(session);
      this.#greet(session, 0);
    }
    await new Promise<void>(resolve => {
      this.#whenIdle = resolve;
      this.#options.clock.after(STOP_GRACE_MS, resolve);
      if (this.#running === 0) resolve();
    });
    this.#options.engine.close();
    this.#files.close();
    for (const session of this.#sessions) {
      sendResults(session);
      session.peer.channel.end();
    }
  }

  #accept(session: Session, request: RobotRequest): void {
    if (this.#stopping) return;
    if (request.inline === undefined && !session.mayWrite(request.file))
      throw session.peer.channel.violation(
        `<fetch>: attribute file: "${request.file}" is below no folder that this robot writes to (--dir); ask for the content with inline`,
      );
    if (request.lane !== undefined && session.stops.includes(request.lane, this.#nowMs())) {
      session.unsent.push({ id: request.id, status: 'recalled' });
      sendSoon(session, this.#options.clock);
      return;
    }
    session.open++;
    this.#lanes.add(this.#laneOf(session, request.lane), { session, request });
    this.#fill();
    if (!this.#held && this.#lanes.waiting >= this.#options.maxWaiting) this.#hold(true);
  }

  #recall(session: Session, name: string, begun: boolean): void {
    session.stops.recalled(name);
    const lane = session.lanes.get(name);
    if (lane === undefined) return;
    this.#handBack(session, name, lane);
    sendResults(session);
    // The fetch ends as an error; only the side that asked can say what that means.
    if (begun) session.asking.get(name)?.cancel();
    this.#endIfDone(session);
    this.#fill();
  }

  /** A request that waits in a lane is as if it had never been asked for. */
  #handBack(session: Session, name: string, lane: BotLane<WaitingRequest>): void {
    for (const { request } of this.#lanes.withdraw(lane)) {
      session.open--;
      session.unsent.push({ id: request.id, status: 'recalled' });
    }
    if (!this.#lanes.isActive(lane)) session.lanes.delete(name);
  }

  /** The site of a lane wants to be left alone: nothing of its provider is begun any more. */
  #leaveAlone(session: Session, stopped: string): void {
    const owner = ownerOf(stopped);
    for (const [name, lane] of session.lanes)
      if (ownerOf(name) === owner) this.#handBack(session, name, lane);
  }

  #laneOf(session: Session, name: string | undefined): BotLane<WaitingRequest> {
    if (name === undefined) return this.#lanes.create();
    let lane = session.lanes.get(name);
    if (lane === undefined) {
      lane = this.#lanes.create();
      session.lanes.set(name, lane);
    }
    return lane;
  }

  #fill(): void {
    // A fetch may be over before the call that began it returns; the loop that made that call goes on then.
    if (this.#filling) return;
    this.#filling = true;
    for (let next = this.#lanes.next(); next !== undefined; next = this.#lanes.next()) {
      this.#begin(next.lane, next.request);
    }
    this.#filling = false;
    if (this.#held && this.#lanes.waiting <= this.#options.maxWaiting / 2) this.#hold(false);
  }

  #begin(lane: BotLane<WaitingRequest>, { session, request }: WaitingRequest): void {
    const { lane: name } = request;
    if (session.peer.isOver()) {
      this.#lanes.end(lane);
      return;
    }
    if (request.lastModified !== undefined) request.lastModified = httpDate(request.lastModified);
    this.#running++;
    const begun = new BegunFetch(session, request, lane, this.#ahead);
    const sink = this.#sinkFor(request, begun);
    const fetch = this.#options.engine.fetch(request, sink, begun);
    begun.fetch = fetch;
    if (!begun.over) session.running.add(fetch);
    if (begun.inLane && name !== undefined) session.asking.set(name, fetch);
  }

  #sinkFor({ file, inline }: RobotRequest, begun: BegunFetch): Sink {
    if (inline === undefined) return this.#files.sinkFor(file, begun);
    begun.inline = new MemorySink(false);
    return begun.inline;
  }

  #end(begun: BegunFetch, outcome: FetchOutcome): void {
    const { session, request, fetch } = begun;
    const isAwaited = begun.isAwaited();
    begun.over = true;
    if (fetch !== undefined) session.running.delete(fetch);
    const result = resultOf(request, outcome, begun.inline);
    this.#note(session, result);
    if (request.lane !== undefined && session.stops.heard(request.lane, result, this.#nowMs()))
      this.#leaveAlone(session, request.lane);
    this.#leaveLane(begun);
    this.#settle(session, isAwaited);
  }

  /**
   * The lane's site hardly answers: another lane may have its slot meanwhile, also one that is not here yet.
   */
  #park(lane: BotLane<WaitingRequest>): void {
    this.#lanes.park(lane);
    this.#lookAtSlots();
    this.#fill();
  }

  #lookAtSlots(): void {
    this.#offered.look(() => this.#lanes.parked);
  }

  #offer(slots: number): void {
    for (const session of this.#sessions) if (session.asker === 'manager') this.#greet(session, slots);
  }

  #greet({ peer, asker }: Session, slots: number): void {
    peer.hello(slots, { isPinged: asker === 'manager', takesUnasked: true });
  }

  #leaveLane(begun: BegunFetch): void {
    if (!begun.inLane) return;
    begun.inLane = false;
    const { session, request, lane } = begun;
    const { lane: name } = request;
    if (name !== undefined) session.asking.delete(name);
    if (!this.#lanes.end(lane) && name !== undefined) session.lanes.delete(name);
    if (this.#offered.last !== this.#options.slots) this.#lookAtSlots();
    this.#fill();
  }

  #note(session: Session, result: RobotDone): void {
    this.#running--;
    this.#counts[result.status === 'inline' ? 'ok' : result.status]++;
    this.#counts.wire_bytes += result.wireBytes;
    if (result.status === 'ok') this.#counts.bytes += result.len;
    if (result.status === 'error' && result.code === UNPERMITTED) this.#counts.unpermitted++;
    session.open--;
    if (!session.closed) session.unsent.push(result);
  }

  /** A result was noted, and the next fetch begun: sends now or a moment later. */
  #settle(session: Session, isAwaited: boolean): void {
    if (!session.closed) {
      if (isAwaited || areEnough(session, this.#lanes.waiting) || this.#running === 0) sendResults(session);
      else sendSoon(session, this.#options.clock);
      this.#endIfDone(session);
    }
    if (this.#running === 0) this.#whenIdle?.();
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }

  #hold(held: boolean): void {
    this.#held = held;
    for (const session of this.#sessions) session.peer.hold(held);
  }

  #ended(session: Session): void {
    session.ended = true;
    this.#endIfDone(session);
  }

  #endIfDone(session: Session): void {
    if (!session.ended || session.open > 0) return;
    sendResults(session);
    session.peer.channel.end();
  }

  #close(session: Session): void {
    session.closed = true;
    this.#sessions.delete(session);
    session.cancelSend?.();
    this.#forget(session);
    for (const fetch of session.running) fetch.cancel();
    this.#fill();
  }

  /** Drops the requests that have not begun. */
  #forget(session: Session): void {
    session.open -= this.#lanes.drop(waiting => waiting.session === session);
  }
}

/** @param inline what was wanted with the result */
function resultOf(
  { id, file }: RobotRequest,
  outcome: FetchOutcome,
  inline: MemorySink | undefined,
): RobotDone {
  if (outcome.status === 'ok' && inline !== undefined) return inlineOf(id, outcome, inline);
  if (outcome.status !== 'error') return Object.assign(outcome, { id });
  const { failure, wireBytes, elapsedMs } = outcome;
  if (failure.kind === 'status' && failure.location !== undefined) {
    const { status: http, location } = failure;
    return { id, status: 'redirect', http, location, wireBytes, elapsedMs };
  }
  return { id, status: 'error', ...verdictOf(failure, file), wireBytes, elapsedMs };
}

function inlineOf(id: number, outcome: Fetched, sink: MemorySink): FetchInline {
  const { http, wireBytes, elapsedMs, isCut = false, lastModified, etag, finalUrl } = outcome;
  return {
    id,
    status: 'inline',
    http,
    content: sink.bytes(),
    isCut,
    wireBytes,
    elapsedMs,
    ...(lastModified === undefined ? undefined : { lastModified }),
    ...(etag === undefined ? undefined : { etag }),
    ...(finalUrl === undefined ? undefined : { finalUrl }),
  };
}

/** The form a server understands; what it sent itself, or anything that is no time, stays as it is. */
function httpDate(text: string): string {
  if (/^[A-Z]/.test(text)) return text;
  const seconds = parseMtime(text);
  return seconds === undefined ? text : new Date(seconds * 1000).toUTCString();
}
