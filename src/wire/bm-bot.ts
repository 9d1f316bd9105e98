/**
 * BM ↔ BOT (lcc-protocol(5)); public, and made to be typed by hand.
 *
 *     up:   <lococa:bot slots="64"/>                          first, and again whenever it changes
 *           <lococa:bot slots="64" pings="yes"/>              the same of one that wants to be pinged
 *           <lococa:bot slots="64" unasked="yes"/>            of one that understands redirects and inline
 *           <fetched id="17" status="ok" …/>  <part id="22">…</part>   fetch-messages.ts
 *           <pong/>                                           answers a ping
 *     down: <fetch id="17" lane="7" url="http://…" file="/…/ab/cd/1f.0"/>  <recall lane="7"/>
 *           <ping intervalms="15000"/>                        the next comes after that time
 *
 * A robot that is pinged gives up a Bot Manager that is silent for two intervals, and with it what it
 * fetches; it is given up, and its lanes go to others, when it has not answered three pings (pinged-link.ts).
 *
 * A result with `retryafter` stops all lanes of its provider: what has not begun of them comes back as
 * `recalled`, also what still arrives, until one of them is recalled (left-alone.ts).
 *
 * Requests of one lane are carried out one after the other, in the order in which they come; one without a
 * lane stands alone. Of a `fetch` only `id`, `url` and `file` must be there; a typed `mtime` may have any
 * form of a date.
 */
import type { Duplex } from 'node:stream';
import type { LccError } from '../lib/errors.js';
import type { Attributes } from '../lib/xml/types.js';
import { formatFetch, formatRecall, readRecall, readRobotFetch, readRobotFetched } from './fetch-messages.js';
import type { FetchTerms, RobotRequest, RobotResult } from './fetch.js';
import { InlineParts } from './inline-parts.js';
import { optionalFlag, requiredSlots } from './fields.js';
import { LowerEnd, UpperEnd } from './pinged-link.js';
import { sendFetched } from './inline-parts.js';
import type { LinkOptions, MessageChannel } from './messages.js';

/** Handlers of the robot for what a Bot Manager (or a person) says on a connection. */
export interface ManagerHandlers {
  fetch(request: RobotRequest): void;
  /** The urls of the lane that have not begun must be given back. */
  recall(lane: string, begun: boolean): void;
  /** No more requests will come, but results may still be sent; without this handler the connection is closed
   * then. */
  ended?(): void;
  closed(reason: LccError | undefined): void;
}

/** The robot's end as it has it, over a stream or within a process (near-robot.ts). */
export interface ManagerEnd extends Pick<ManagerPeer, 'hello' | 'fetched' | 'isOver' | 'hold'> {
  readonly channel: Pick<MessageChannel, 'end' | 'violation'>;
}

/** The robot's end. */
export class ManagerPeer extends LowerEnd<ManagerHandlers> {
  protected message(name: string, attributes: Attributes): void {
    if (name === 'fetch') this.handlers.fetch(readRobotFetch(attributes));
    else if (name === 'recall') this.handlers.recall(...readRecall(attributes));
    else
      throw this.channel.violation(
        `<${name}> is nothing a robot does; <fetch id url file/> and <recall lane/> are`,
      );
  }

  /**
   * Says how many fetches are done at a time; the first message, and again whenever that changes.
   * @param isPinged asks for pings, from now on
   * @param takesUnasked understands requests for what nobody announced
   */
  hello(slots: number, { isPinged = false, takesUnasked = false } = {}): void {
    const pings = isPinged ? ' pings="yes"' : '';
    this.channel.send(`<lococa:bot slots="${slots}"${pings}${takesUnasked ? ' unasked="yes"' : ''}/>\n`);
  }
  fetched(result: RobotResult): void {
    sendFetched(this.channel, result);
  }
}

/** Handlers of a Bot Manager for what a robot says. */
export interface RobotHandlers {
  /** First of all, and again whenever it changes. */
  hello(slots: number, takesUnasked: boolean): void;
  fetched(result: RobotResult): void;
  closed(reason: LccError | undefined): void;
}

/** The Bot Manager's end as it has it. */
export interface RobotEnd extends Pick<RobotPeer, 'fetch' | 'recall' | 'silentMs'> {
  readonly channel: Pick<MessageChannel, 'where' | 'violation' | 'destroy'>;
}

/** The Bot Manager's end. */
export class RobotPeer extends UpperEnd<RobotHandlers> {
  readonly #parts = new InlineParts();

  constructor(stream: Duplex, handlers: RobotHandlers, options: LinkOptions) {
    super(stream, 'bot', handlers, options);
  }

  protected greeted(attributes: Attributes): boolean {
    const takesUnasked = optionalFlag('bot', attributes, 'unasked') === true;
    this.handlers.hello(requiredSlots('bot', attributes), takesUnasked);
    return optionalFlag('bot', attributes, 'pings') === true;
  }

  protected message(name: string, attributes: Attributes, text: string): void {
    if (name === 'fetched')
      this.handlers.fetched(readRobotFetched(attributes, text, this.#parts.take(attributes)));
    else if (name === 'part') this.#parts.add(attributes, text);
    else throw this.channel.violation(`<${name}> is nothing a robot says; bot, fetched and pong are`);
  }

  /**
   * Asks for a request of the source, under the id the robot is to answer with. @param file not for `inline`
   */
  fetch(id: number, file: string | undefined, request: FetchTerms & { lane?: string }): void {
    this.#parts.asked(id, request);
    this.channel.send(formatFetch(id, request, file));
  }
  /** Asks for what has not begun of the lane. */
  recall(lane: string, begun = false): void {
    this.channel.send(formatRecall(lane, begun));
  }
}
