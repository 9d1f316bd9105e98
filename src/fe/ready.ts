/**
 * Connections to UNSes. A handshake of two certificates costs more than all else of a short conversation: so
 * where one was needed just now the next one is made ready, and it resumes the session of the one before.
 *
 *     dialled ──handshake──▶ ready ──a CP comes──▶ taken
 *        ╰── late, refused ──▶ ╰── not needed for READY_MS, ended, the owner is another ──▶ gone
 *
 * A machine that is lost ends nothing: so none is ready for longer than its UNS is believed without a word.
 */
import type { Socket } from 'node:net';
import { within, type Clock } from '../lib/clock.js';
import { Conversation } from '../lib/conversation.js';
import { dialToBreak, type Trust } from '../lib/dial.js';
import { formatEndpoint, type Endpoint } from '../lib/endpoint.js';
import { LccError } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import type { Routes } from './routes.js';

/** Time for a UNS to be reached; then it is looked again. */
const CONNECT_MS = 3000;
const READY_MS = 1000;
/** Silence of a UNS that is cut: longer than any that it permits a CP. */
const IDLE_MS = 600_000;
/** Connections to one UNS, however many CPs come, or leave, at once. */
const MOST_READY = 8;
const MOST_DIALLED = 16;
/** Certificates are checked as often. */
const SESSION_MS = 600_000;

/** The connection to a UNS. */
export interface UnsPassage {
  talk: Conversation;
  socket: Socket;
  breakOff: () => void;
}

interface Waiting {
  cp: Conversation;
  /** Hands it a connection; none: nobody answers. */
  hand: (uns: UnsPassage | undefined) => void;
}

/** Where a UNS takes CPs from front ends. */
interface Door {
  to: Endpoint;
  name: string;
  /** The oldest first. */
  ready: Set<UnsPassage>;
  dialled: number;
  /** In the order in which they came. */
  waiting: Set<Waiting>;
  session?: { ticket: Buffer; trust: Trust; sinceMs: number };
}

interface DoorParts {
  /** Certificates of connections to UNSes; another object where they are others. */
  trust: () => Trust;
  routes: Pick<Routes, 'watch'>;
  clock: Clock;
  log: Log;
}

export class UnsDoors {
  readonly #parts: DoorParts;
  readonly #doors = new Map<string, Door>();
  #isClosed = false;

  constructor(parts: DoorParts) {
    this.#parts = parts;
  }

  /** @returns undefined where nobody answers in time, or the CP is gone */
  async take(to: Endpoint, limitMs: number, cp: Conversation): Promise<UnsPassage | undefined> {
    const name = formatEndpoint(to);
    const door = this.#doors.get(name) ?? { to, name, ready: new Set(), dialled: 0, waiting: new Set() };
    this.#doors.set(name, door);
    const [uns] = door.ready;
    if (uns !== undefined) {
      door.ready.delete(uns);
      uns.socket.setTimeout(IDLE_MS);
      this.#dial(door);
      return uns;
    }
    const waiting: Waiting = { cp, hand: () => undefined };
    const handed = new Promise<UnsPassage | undefined>(resolve => (waiting.hand = resolve));
    door.waiting.add(waiting);
    // One for itself, and one for the next.
    for (let n = 0; n < 2; n++) this.#dial(door);
    const found = await within(this.#parts.clock, handed, Math.max(1, Math.min(CONNECT_MS, limitMs)));
    door.waiting.delete(waiting);
    return found;
  }

  /** Ends those that nobody has taken. */
  close(): void {
    this.#isClosed = true;
    for (const { ready } of this.#doors.values()) for (const { breakOff } of ready) breakOff();
  }

  /** Dials, unless as many are dialled, or ready, as may be. */
  #dial(door: Door): void {
    const { ready, dialled, waiting } = door;
    if (dialled < MOST_DIALLED && ready.size + dialled < waiting.size + MOST_READY) void this.#reach(door);
  }

  async #reach(door: Door): Promise<void> {
    door.dialled++;
    const uns = await this.#shakeHands(door);
    door.dialled--;
    this.#hand(door, uns);
    if (door.waiting.size > door.dialled) this.#dial(door);
  }

  /** To the CP that has waited longest, and is there. */
  #hand(door: Door, uns: UnsPassage | undefined): void {
    for (const waiting of door.waiting) {
      door.waiting.delete(waiting);
      const isThere = !waiting.cp.isOver;
      waiting.hand(isThere ? uns : undefined);
      if (isThere) return;
    }
    if (this.#isClosed) uns?.breakOff();
    else if (uns !== undefined) this.#keep(door, uns);
  }

  /** Keeps it ready, unless it ends or says anything, which is never for the next CP. */
  #keep({ ready }: Door, uns: UnsPassage): void {
    ready.add(uns);
    uns.socket.setTimeout(READY_MS);
    const drop = () => void (ready.delete(uns) && uns.breakOff());
    for (const event of ['readable', 'close', 'timeout']) uns.socket.once(event, drop);
  }

  /** @returns undefined where nobody answers in time */
  async #shakeHands(door: Door): Promise<UnsPassage | undefined> {
    const { clock, routes, log, trust: trusted } = this.#parts;
    const lost = (why: string) => new LccError('peer.unavailable', `the UNS at ${door.name} ${why}`);
    let breakOff = () => {};
    try {
      const trust = trusted();
      const isFresh =
        door.session?.trust === trust && clock.monotonicMs() - door.session.sinceMs < SESSION_MS;
      let isReady = false;
      const resumed = isFresh && { session: door.session?.ticket };
      const { socket, ...dialled } = dialToBreak(door.to, { ...trust, ...resumed }, () => {
        isReady = true;
        talk.stir();
      });
      ({ breakOff } = dialled);
      const uns = { talk: new Conversation(socket, door.name, clock), socket, breakOff };
      const { talk } = uns;
      const unwatch = routes.watch(door.to, () => {
        talk.interrupt(lost('is no longer that of the owner'));
        if (door.ready.delete(uns)) breakOff();
      });
      socket.once('close', unwatch);
      const sinceMs = (isFresh && door.session?.sinceMs) || clock.monotonicMs();
      socket.on('session', (ticket: Buffer) => (door.session = { ticket, trust, sinceMs }));
      const late = () => lost('does not answer');
      await talk.until(() => isReady, CONNECT_MS, late);
      socket.setTimeout(IDLE_MS, () => talk.interrupt(lost('is silent')));
      return uns;
    } catch (error) {
      breakOff();
      if (!(error instanceof LccError)) throw error;
      log.debug('UNS not reached', { to: door.name, cause: error.message });
      return undefined;
    }
  }
}
