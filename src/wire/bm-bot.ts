/**
 * BM ↔ BOT (lcc-protocol(5)); public, and made to be typed by hand.
 *
 *     up:   <lococa:bot slots="64"/>                          first, and again whenever it changes
 *           <lococa:bot slots="64" pings="yes"/>              the same of one that wants to be pinged
 *           <fetched id="17" status="ok" http="200" md5="…" len="5123" mtime="…" mimetype="text/html" time="0.012"/>
 *           <fetched id="18" status="error" code="404" reach="real" time="0.010">Not Found</fetched>
 *           <fetched id="19" status="recalled"/>          not begun when its lane was recalled
 *           <pong/>                                           answers a ping
 *     down: <fetch id="17" lane="7" url="http://…" file="/…/ab/cd/1f.0"/>
 *           <recall lane="7"/>                            whatever of the lane has not begun is to come back
 *           <recall lane="7" begun="yes"/>                and what has begun is to be given up
 *           <ping intervalms="15000"/>                    the next comes after that time
 *
 * A robot that is pinged gives up a Bot Manager that is silent for two intervals, and with it what it fetches; it is given
 * up, and its lanes go to others, when it has not answered three pings (pings.ts).
 *
 * A result with `retryafter` stops all lanes of its provider: what has not begun of them comes back as `recalled`, also what
 * still arrives, until one of them is recalled (stops.ts).
 *
 * Requests of one lane are carried out one after the other, in the order in which they come; one without a lane stands
 * alone. Times are seconds with decimals; `mtime` is the validator as the server sent it (any date form when typed). Of a
 * `fetch` only `id`, `url` and `file` must be there.
 */
import type { Duplex } from 'node:stream';
import { limitText } from '../config/settings/index.js';
import type { Clock } from '../lib/clock.js';
import type { LccError } from '../lib/errors.js';
import { escapeText, formatAttribute } from '../lib/xml/escape.js';
import type { Attributes } from '../lib/xml/types.js';
import {
  optionalCharset,
  optionalFlag,
  optionalInteger,
  optionalSeconds,
  requiredInteger,
  requiredPath,
  requiredSlots,
  requiredText,
  requiredWord,
} from './fields.js';
import type { ErrorReach, FetchOk, FetchRequest, FetchResult } from './fetch.js';
import { awaitHello, MessageChannel, type ChannelOptions, type LinkOptions } from './messages.js';
import { Patience, Pinger } from './pings.js';
import { formatRecall, formatRecalled, formatRoots, readRecall, readRoots } from './qm-bm.js';

/** What a robot is told: also where to write. Without roots redirects may lead anywhere. */
export interface RobotRequest extends Omit<FetchRequest, 'lane'> {
  /** Missing: a request that waits for no other. */
  lane?: string;
  /** Absolute path. The robot writes to a name of its own attempt beside it and renames when complete. */
  file: string;
}

const REACHES: readonly ErrorReach[] = ['provider', 'url', 'real'];
const STATUSES: readonly FetchResult['status'][] = ['ok', 'unchanged', 'error', 'recalled'];

export function formatRobotFetch(
  id: number,
  file: string,
  request: Omit<RobotRequest, 'id' | 'file'>,
): string {
  return (
    `<fetch id="${id}"` +
    formatAttribute('lane', request.lane) +
    formatAttribute('url', request.url) +
    formatAttribute('file', file) +
    formatAttribute('mtime', request.lastModified) +
    formatAttribute('etag', request.etag) +
    formatAttribute('mimetype', request.mimetype) +
    formatAttribute('md5', request.md5) +
    formatAttribute('len', request.len) +
    formatAttribute('maxlen', request.maxBytes) +
    formatAttribute('timeout', request.timeoutMs === undefined ? undefined : request.timeoutMs / 1000) +
    (request.roots.length === 0 ? '' : formatAttribute('roots', formatRoots(request.roots))) +
    (request.enforce === true ? ' enforce="yes"' : '') +
    formatAttribute('useragent', request.userAgent) +
    formatAttribute('login', request.login) +
    '/>\n'
  );
}

/** @throws LccError `peer.protocol` */
export function readRobotFetch(attributes: Attributes): RobotRequest {
  const element = 'fetch';
  const request: RobotRequest = {
    id: requiredInteger(element, attributes, 'id'),
    url: requiredText(element, attributes, 'url'),
    file: requiredPath(element, attributes, 'file'),
    roots: readRoots(attributes['roots']),
  };
  const { lane, mtime, etag, mimetype, md5, len, maxlen, timeout, enforce, useragent, login } = attributes;
  if (lane !== undefined && lane !== '') request.lane = lane;
  if (mtime !== undefined && mtime !== '') request.lastModified = mtime;
  if (etag !== undefined && etag !== '') request.etag = etag;
  if (mimetype !== undefined && mimetype !== '') request.mimetype = mimetype;
  if (md5 !== undefined && md5 !== '') request.md5 = md5.toLowerCase();
  // Calls that never happen are not compiled either, which takes V8 long here.
  if (len !== undefined && len !== '') request.len = requiredInteger(element, attributes, 'len');
  if (maxlen !== undefined && maxlen !== '')
    request.maxBytes = requiredInteger(element, attributes, 'maxlen');
  const timeoutMs = timeout === undefined ? undefined : optionalSeconds(element, attributes, 'timeout');
  if (timeoutMs !== undefined) request.timeoutMs = timeoutMs;
  if (useragent !== undefined && useragent !== '') request.userAgent = useragent;
  if (login !== undefined && login !== '') request.login = login;
  if (enforce !== undefined && optionalFlag(element, attributes, 'enforce') === true) request.enforce = true;
  return request;
}

export function formatRobotFetched(result: FetchResult): string {
  const { id, status } = result;
  if (status === 'recalled') return formatRecalled(id);
  const cost = ` wirebytes="${result.wireBytes}" time="${secondsText(result.elapsedMs)}"`;
  switch (status) {
    case 'ok':
      return (
        `<fetched id="${id}" status="ok" http="${result.http}"` +
        ` md5="${result.md5}" len="${result.len}"` +
        formatAttribute('mtime', result.lastModified) +
        formatAttribute('mimetype', result.mimetype) +
        formatAttribute('charset', result.charset) +
        formatAttribute('furl', result.finalUrl) +
        formatAttribute('etag', result.etag) +
        (result.verified ? '' : ' verified="no"') +
        `${cost}/>\n`
      );
    case 'unchanged':
      return (
        `<fetched id="${id}" status="unchanged" http="304"` +
        formatAttribute('mtime', result.lastModified) +
        formatAttribute('etag', result.etag) +
        `${cost}/>\n`
      );
    case 'error':
      return (
        `<fetched id="${id}" status="error" code="${result.code}" reach="${result.reach}"` +
        formatAttribute(
          'retryafter',
          result.retryAfterMs === undefined ? undefined : result.retryAfterMs / 1000,
        ) +
        `${cost}>${escapeText(result.message)}</fetched>\n`
      );
  }
}

/** Seconds with three decimals: `toFixed` takes 0.2 µs. */
function secondsText(ms: number): string {
  const whole = Math.round(ms);
  const rest = whole % 1000;
  return `${(whole - rest) / 1000}.${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}`;
}

/** A robot written by others may leave out all but `id`, `status`, and what its status means. @throws LccError `peer.protocol` */
export function readRobotFetched(attributes: Attributes, text: string): FetchResult {
  const element = 'fetched';
  const id = requiredInteger(element, attributes, 'id');
  const status = requiredWord(element, attributes, 'status', STATUSES);
  if (status === 'recalled') return { id, status };
  const wireBytes = optionalInteger(element, attributes, 'wirebytes');
  const elapsedMs = optionalSeconds(element, attributes, 'time') ?? 0;
  const { mtime, etag } = attributes;
  switch (status) {
    case 'ok': {
      const len = requiredInteger(element, attributes, 'len');
      const { mimetype, furl } = attributes;
      const charset = optionalCharset(attributes);
      const result: FetchOk = {
        id,
        status,
        http: optionalInteger(element, attributes, 'http') ?? 200,
        md5: requiredText(element, attributes, 'md5').toLowerCase(),
        len,
        wireBytes: wireBytes ?? len,
        elapsedMs,
        verified: optionalFlag(element, attributes, 'verified') ?? true,
      };
      if (mimetype !== undefined) result.mimetype = mimetype;
      if (charset !== undefined) result.charset = charset;
      if (mtime !== undefined) result.lastModified = mtime;
      if (etag !== undefined) result.etag = etag;
      if (furl !== undefined) result.finalUrl = furl;
      return result;
    }
    case 'unchanged':
      return {
        id,
        status,
        http: 304,
        wireBytes: wireBytes ?? 0,
        elapsedMs,
        ...(mtime === undefined ? undefined : { lastModified: mtime }),
        ...(etag === undefined ? undefined : { etag }),
      };
    case 'error': {
      const code = requiredInteger(element, attributes, 'code');
      const retryAfterMs = optionalSeconds(element, attributes, 'retryafter');
      const reach =
        attributes['reach'] === undefined ? 'url' : requiredWord(element, attributes, 'reach', REACHES);
      return {
        id,
        status,
        code,
        message: text,
        reach,
        wireBytes: wireBytes ?? 0,
        elapsedMs,
        ...(retryAfterMs === undefined ? undefined : { retryAfterMs }),
      };
    }
  }
}

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
  fetched(result: FetchResult): void {
    this.channel.send(formatRobotFetched(result));
  }
}

/** What a Bot Manager asks of the code that serves a robot. */
export interface RobotHandlers {
  /** First of all, and again whenever it changes. */
  hello(slots: number): void;
  fetched(result: FetchResult): void;
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
  fetch(id: number, file: string, request: Omit<FetchRequest, 'id'>): void {
    this.channel.send(formatRobotFetch(id, file, request));
  }
  /** Asks for what has not begun of the lane. */
  recall(lane: string, begun = false): void {
    this.channel.send(formatRecall(lane, begun));
  }
}
