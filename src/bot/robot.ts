/**
 * The robot: requests of Bot Managers (or of a person) in, fetches in a number of slots, results out.
 *
 * A connection that closes takes its requests with it: what waits is forgotten, what is being fetched is cancelled, for
 * the manager gives it to another robot.
 */
import type { Duplex } from 'node:stream';
import type { Clock } from '../lib/clock.js';
import { messageOf, type LccError } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { ManagerPeer, type RobotRequest } from '../wire/bm-bot.js';
import type { ChannelLimits } from '../wire/messages.js';
import { parseMtime } from '../wire/mtime.js';
import type { FetchEngine } from './engine.js';
import type { FetchOutcome } from './job.js';

export interface RobotOptions {
  engine: FetchEngine;
  /** Fetches at a time, over all connections. */
  slots: number;
  /** Requests waiting for a slot at which no more are read. */
  maxWaiting: number;
  channel: ChannelLimits;
  clock: Clock;
  log: Log;
}

/** Time that fetches begun get when the robot is told to stop. */
const STOP_GRACE_MS = 5000;

interface Session {
  peer: ManagerPeer;
  running: Set<{ cancel(): void }>;
  waiting: number;
  ended: boolean;
  closed: boolean;
}

export class Robot {
  readonly #options: RobotOptions;
  readonly #sessions = new Set<Session>();
  #queue: { session: Session; request: RobotRequest }[] = [];
  #running = 0;
  #held = false;
  #stopping = false;
  #whenIdle: (() => void) | undefined;
  readonly #counts = { ok: 0, unchanged: 0, error: 0, bytes: 0, wire_bytes: 0 };

  constructor(options: RobotOptions) {
    this.#options = options;
  }

  /**
   * Takes a connection over. `closed` is called once, with the reason when it was not good order.
   * @param halfOpen the peer may end its sending side and still wait for results (`echo … | nc`). A Bot Manager never
   * does: when it ends, it is gone.
   */
  serve(
    stream: Duplex,
    where: string,
    halfOpen: boolean,
    closed?: (reason: LccError | undefined) => void,
  ): void {
    const { channel, clock, log, slots } = this.#options;
    const session: Session = {
      peer: new ManagerPeer(
        stream,
        {
          fetch: request => this.#accept(session, request),
          ...(halfOpen ? { ended: () => this.#ended(session) } : undefined),
          closed: reason => {
            if (reason !== undefined) log.warn('connection ends', { reason: messageOf(reason) });
            this.#close(session);
            closed?.(reason);
          },
        },
        { ...channel, clock, where },
      ),
      running: new Set(),
      waiting: 0,
      ended: false,
      closed: false,
    };
    this.#sessions.add(session);
    if (this.#stopping) session.peer.channel.end();
    else session.peer.hello(slots);
  }

  status(): { idle: boolean; [name: string]: unknown } {
    return {
      idle: this.#running === 0 && this.#queue.length === 0,
      slots: this.#options.slots,
      fetching: this.#running,
      waiting: this.#queue.length,
      managers: this.#sessions.size,
      idle_connections: this.#options.engine.idleConnections,
      ...this.#counts,
    };
  }

  /** Finishes the fetches begun, for a few seconds, sends their results and closes everything. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#queue = [];
    for (const session of this.#sessions) {
      session.waiting = 0;
      session.peer.hello(0);
    }
    await new Promise<void>(resolve => {
      this.#whenIdle = resolve;
      this.#options.clock.after(STOP_GRACE_MS, resolve);
      if (this.#running === 0) resolve();
    });
    this.#options.engine.close();
    for (const session of this.#sessions) session.peer.channel.end();
  }

  #accept(session: Session, request: RobotRequest): void {
    if (this.#stopping) return;
    if (this.#running < this.#options.slots) {
      this.#begin(session, request);
      return;
    }
    session.waiting++;
    this.#queue.push({ session, request });
    if (this.#queue.length >= this.#options.maxWaiting) this.#hold(true);
  }

  #begin(session: Session, request: RobotRequest): void {
    const { id, ...job } = request;
    if (job.lastModified !== undefined) job.lastModified = httpDate(job.lastModified);
    let fetch: { cancel(): void } | undefined;
    let over = false;
    this.#running++;
    fetch = this.#options.engine.fetch(job, outcome => {
      over = true;
      if (fetch !== undefined) session.running.delete(fetch);
      this.#finish(session, id, outcome);
    });
    if (!over) session.running.add(fetch);
  }

  #finish(session: Session, id: number, outcome: FetchOutcome): void {
    this.#running--;
    this.#counts[outcome.status]++;
    this.#counts.wire_bytes += outcome.wireBytes;
    if (outcome.status === 'ok') this.#counts.bytes += outcome.len;
    if (!session.closed) {
      session.peer.fetched({ id, ...outcome });
      this.#endIfDone(session);
    }
    this.#fill();
    if (this.#running === 0) this.#whenIdle?.();
  }

  #fill(): void {
    while (this.#running < this.#options.slots) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      next.session.waiting--;
      this.#begin(next.session, next.request);
    }
    if (this.#held && this.#queue.length <= this.#options.maxWaiting / 2) this.#hold(false);
  }

  #hold(held: boolean): void {
    this.#held = held;
    for (const session of this.#sessions) session.peer.channel.hold(held);
  }

  #ended(session: Session): void {
    session.ended = true;
    this.#endIfDone(session);
  }

  #endIfDone(session: Session): void {
    if (session.ended && session.running.size === 0 && session.waiting === 0) session.peer.channel.end();
  }

  #close(session: Session): void {
    session.closed = true;
    this.#sessions.delete(session);
    this.#queue = this.#queue.filter(entry => entry.session !== session);
    for (const fetch of session.running) fetch.cancel();
    this.#fill();
  }
}

/** The form a server understands; what it sent itself, or anything that is no time, stays as it is. */
function httpDate(text: string): string {
  if (/^[A-Z]/.test(text)) return text;
  const seconds = parseMtime(text);
  return seconds === undefined ? text : new Date(seconds * 1000).toUTCString();
}
