/**
 * BM ↔ BOT (lcc-protocol(5)); public, and made to be typed by hand.
 *
 *     up:   <lococa:bot slots="64"/>                          first, and again whenever it changes
 *           <lococa:bot slots="64" pings="yes"/>              the same of one that wants to be pinged
 *           <fetched id="17" status="ok" …/>                  fetch-messages.ts
 *           <pong/>                                           answers a ping
 *     down: <fetch id="17" lane="7" url="http://…" file="/…/ab/cd/1f.0"/>  <recall lane="7"/>
 *           <ping intervalms="15000"/>                        the next comes after that time
 *
 * A robot that is pinged gives up a Bot Manager that is silent for two intervals, and with it what it fetches; it is given
 * up, and its lanes go to others, when it has not answered three pings (pings.ts).
 *
 * A result with `retryafter` stops all lanes of its provider: what has not begun of them comes back as `recalled`, also what
 * still arrives, until one of them is recalled (stops.ts).
 *
 * Requests of one lane are carried out one after the other, in the order in which they come; one without a lane stands
 * alone. Of a `fetch` only `id`, `url` and `file` must be there; a typed `mtime` may have any form of a date.
 */
import type { Duplex } from 'node:stream';
import { limitText } from '../config/settings/index.js';
import type { Clock } from '../lib/clock.js';
import type { LccError } from '../lib/errors.js';
import {
  formatFetch,
  formatFetched,
  formatRecall,
  readRecall,
  readRobotFetch,
  readRobotFetched,
} from './fetch-messages.js';
import type { FetchTerms, RobotRequest, RobotResult } from './fetch.js';
import { optionalFlag, requiredSlots } from './fields.js';
import { awaitHello, MessageChannel, type ChannelOptions, type LinkOptions } from './messages.js';
import { Patience, Pinger } from './pings.js';

/** What a robot's owner asks of the code that serves a connection to a Bot Manager (or a person). */
export interface ManagerHandlers {
  fetch(request: RobotRequest): void;
  /** What has not begun of the lane is to be given back. */
  recall(lane: string, begun: boolean): void;
  /** No more requests will come, but results may still be sent; without this handler the connection is closed then. */
  ended?(): void;
  closed(reason: LccError | undefined): void;
}

export interface ManagerPeerOptions extends ChannelOptions {
  /** How long a new connection may say nothing; left out: for ever. */
  firstWordMs?: number | undefined;
}

/** The robot's end. */
export class ManagerPeer {
  readonly channel: MessageChannel;
  readonly #patience: Patience;
  #held = false;
  #cancelHello: (() => void) | undefined;
  constructor(stream: Duplex, handlers: ManagerHandlers, options: ManagerPeerOptions) {
    this.channel = new MessageChannel(
      stream,
      {
        message: (name, attributes) => {
          this.#cancelHello?.();
          if (this.#patience.isOver()) return;
          if (name === 'fetch') handlers.fetch(readRobotFetch(attributes));
          else if (name === 'recall') handlers.recall(...readRecall(attributes));
          else if (name === 'ping') this.#patience.heard(attributes);
          else
            throw this.channel.violation(
              `<${name}> is nothing a robot does; <fetch id url file/> and <recall lane/> are`,
            );
        },
        ...(handlers.ended === undefined ? undefined : { ended: () => handlers.ended?.() }),
        closed: reason => {
          this.#cancelHello?.();
          this.#patience.stop();
          handlers.closed(reason);
        },
      },
      options,
    );
    this.#patience = new Patience(this.channel, options.clock, () => this.#held);
    if (options.firstWordMs !== undefined) this.#awaitHello(options.clock, options.firstWordMs);
  }

  #awaitHello(clock: Clock, timeoutMs: number): void {
    this.#cancelHello = clock.after(timeoutMs, () => {
      // What it has said may wait to be read.
      if (this.#held) return this.#awaitHello(clock, timeoutMs);
      const limit = limitText('wire.hello_timeout_ms', timeoutMs);
      this.channel.refuse(this.channel.violation(`has said nothing for ${limit}`));
    });
  }

  /**
   * Says how many fetches are done at a time; the first message, and again whenever that changes.
   * @param pinged asks for pings, from now on
   */
  hello(slots: number, pinged = false): void {
    this.channel.send(`<lococa:bot slots="${slots}"${pinged ? ' pings="yes"' : ''}/>\n`);
  }
  /** Whether the Bot Manager may have given this robot's work to another, which ends the channel. To be asked before a fetch. */
  isOver(): boolean {
    return this.#patience.isOver();
  }
  /** Stops (true) or goes on (false) taking requests. */
  hold(held: boolean): void {
    this.#held = held;
    this.channel.hold(held);
  }
  fetched(result: RobotResult): void {
    this.channel.send(formatFetched(result));
  }
}

/** What a Bot Manager asks of the code that serves a robot. */
export interface RobotHandlers {
  /** First of all, and again whenever it changes. */
  hello(slots: number): void;
  fetched(result: RobotResult): void;
  closed(reason: LccError | undefined): void;
}

/** The Bot Manager's end. */
export class RobotPeer {
  readonly channel: MessageChannel;
  readonly #pinger: Pinger;
  readonly #cancelHello: () => void;
  #greeted = false;
  constructor(stream: Duplex, handlers: RobotHandlers, options: LinkOptions) {
    this.channel = new MessageChannel(
      stream,
      {
        message: (name, attributes, text) => {
          this.#pinger.heard();
          if (name === 'bot') {
            handlers.hello(requiredSlots(name, attributes));
            this.#greeted = true;
            this.#cancelHello();
            if (optionalFlag(name, attributes, 'pings') === true) this.#pinger.start();
          } else if (!this.#greeted) {
            throw this.channel.violation(`<${name}> before <lococa:bot>`);
          } else if (name === 'fetched') {
            handlers.fetched(readRobotFetched(attributes, text));
          } else if (name !== 'pong') {
            throw this.channel.violation(`<${name}> is nothing a robot says; bot, fetched and pong are`);
          }
        },
        closed: reason => {
          this.#cancelHello();
          this.#pinger.stop();
          handlers.closed(reason);
        },
      },
      options,
    );
    this.#pinger = new Pinger(this.channel, options);
    this.#cancelHello = awaitHello(this.channel, options);
  }

  /** For how long it has not answered a ping; 0 while it does, and of one that wants none. */
  get silentMs(): number {
    return this.#pinger.silentMs;
  }

  /** Asks for a request of the source, under the id the robot is to answer with. */
  fetch(id: number, file: string, request: FetchTerms & { lane?: string }): void {
    this.channel.send(formatFetch(id, request, file));
  }
  /** Asks for what has not begun of the lane. */
  recall(lane: string, begun = false): void {
    this.channel.send(formatRecall(lane, begun));
  }
}
