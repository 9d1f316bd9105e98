/**
 * A channel of one-element messages over a byte stream: `<fetch id="1" …/>`, `<fetched …>text</fetched>`.
 *
 * Incoming bytes go through the XML reader with its limits; whatever is wrong with them ends this connection
 * with an answer (`<lococa:error code="103">where: what</lococa:error>`) and never the process. Outgoing
 * messages of one turn of the event loop leave in one write: a write per message costs 2.3 times as much.
 *
 *     open ──malformed, refused──▶ answered ──▶ closed
 *       │ peer does not read: reading pauses (its requests stop, ours are bounded by what it asked)
 *       ╰─ still not after stallTimeoutMs, or maxPendingBytes waiting ──▶ cut
 *
 * Up to its first message a peer is a stranger: it is read in small slices, shared with others, and so far
 * only; then as it comes, which costs less.
 */
import type { Duplex } from 'node:stream';
import { xmlLimitsOf } from '../config/limits.js';
import { formatAmount } from '../config/amounts.js';
import { limitText, type Settings } from '../config/settings/index.js';
import type { Clock } from '../lib/clock.js';
import { errnoOf, LccError, messageOf } from '../lib/errors.js';
import { FairShare, STRANGER_REST_BYTES, type PeerReading } from '../lib/fair-share.js';
import { escapeText } from '../lib/xml/escape.js';
import type { XmlReader } from '../lib/xml/reader.js';
import { XmlError, type Attributes, type XmlLimits } from '../lib/xml/types.js';
import { errorSaid, messageReader } from './message-reader.js';

/** Messages waiting for a peer to read them. */
const MAX_PENDING_BYTES = 8 << 20;
/** Time from connecting to saying who is there. */
export const HELLO_TIMEOUT_MS = 60_000;

export interface ChannelLimits {
  xml: XmlLimits;
  /** Bytes up to the end of a peer's first message. */
  maxHelloBytes: number;
  /** The time in which peers are read before that. */
  share: FairShare;
  /** Outgoing bytes waiting at which the peer is cut; at half of it reading from the peer pauses. */
  maxPendingBytes: number;
  /** How long a peer may leave that half unread before it is cut. */
  stallTimeoutMs: number;
}

/** The limits of every channel, from the settings. */
export function channelLimitsOf({ xml, wire }: Pick<Settings, 'xml' | 'wire'>): LinkLimits {
  return {
    ...wire,
    maxPendingBytes: MAX_PENDING_BYTES,
    helloTimeoutMs: HELLO_TIMEOUT_MS,
    xml: xmlLimitsOf(xml),
    share: new FairShare(),
  };
}

export interface ChannelOptions extends ChannelLimits {
  /** Name of the other end, for messages: `robot 192.0.2.7:51234`. */
  where: string;
  clock: Clock;
  /** Messages leave when the callback that sends them returns. For a process that is long at other work
   * between two turns of its event loop; elsewhere it costs a tenth more for nothing. */
  isPrompt?: boolean;
}

/** Limits of channels to a peer below: a Bot Manager, a robot. */
export interface LinkLimits extends ChannelLimits {
  /** How long a new connection may take to identify itself. */
  helloTimeoutMs: number;
  /** How often it is pinged (pinged-link.ts), where it wants that. */
  pingIntervalMs: number;
}

export type LinkOptions = ChannelOptions & LinkLimits;

export interface ChannelHandlers {
  /** One element, its prefix `lococa:` removed, and the text in it. An LccError thrown here is answered and
   * closes the connection; anything else is a bug and passes through. */
  message(name: string, attributes: Attributes, text: string): void;
  /** The peer has sent its last message; without this handler our side is closed then, too. */
  ended?(): void;
  /** The connection is gone, once. `reason` is missing when the peer closed in good order or we did. */
  closed(reason: LccError | undefined): void;
}

const LINGER_MS = 2000;
/** Share of the bytes that may wait which goes at a time of what goes in turn. */
const IN_TURN_SHARE = 8;

export class MessageChannel {
  readonly where: string;
  readonly #stream: Duplex;
  readonly #handlers: ChannelHandlers;
  readonly #options: ChannelOptions;
  readonly #reader: XmlReader;
  readonly #reading: PeerReading;
  /** A stranger's slice is being read, or waits for its turn. */
  #isReading = false;
  /** The turn in which the waiting text is written. */
  #turn: Promise<void> | undefined;
  /** Taken of a stranger. */
  #takenBytes = 0;
  #state: 'open' | 'ending' | 'closed' = 'open';
  #reason: LccError | undefined;
  #out = '';
  /** Text that goes as the peer takes it, in order. */
  #inTurn: string[] = [];
  /** Some of it was sent that the peer has not taken yet. */
  #isTurnOut = false;
  #flushing = false;
  #congested = false;
  #held = false;
  #isFlowing = false;
  #cancelStall: (() => void) | undefined;
  #cancelLinger: (() => void) | undefined;

  /** Takes the stream over: all its events are handled here from now on. */
  constructor(stream: Duplex, handlers: ChannelHandlers, options: ChannelOptions) {
    this.where = options.where;
    this.#stream = stream;
    this.#handlers = handlers;
    this.#options = options;
    this.#reader = messageReader(options.where, options.xml, (name, attributes, text) =>
      this.#deliver(name, attributes, text),
    );
    this.#reader.allow(options.maxHelloBytes, limitText('wire.max_hello_bytes', options.maxHelloBytes));
    this.#reading = options.share.join();
    // Who closes his sending side may still want the answers.
    if (handlers.ended !== undefined) stream.allowHalfOpen = true;
    stream.on('error', (error: Error) => this.#inOrder(() => this.#fail(streamError(this.where, error))));
    stream.on('close', () => this.#inOrder(() => this.#onStreamClosed()));
    stream.on('drain', () => this.#relieve());
    stream.on('end', () => this.#inOrder(() => this.#onEnd()));
    stream.on('readable', this.#readOn);
  }

  get open(): boolean {
    return this.#state === 'open';
  }

  /** Why it ends, where we or the link ended it. */
  get reason(): LccError | undefined {
    return this.#reason;
  }

  /** Bytes (counted as characters before they are written) that the peer has not taken yet. */
  get pendingBytes(): number {
    return this.#out.length + this.#stream.writableLength;
  }

  /** Queues one whole element as text. Dropped silently once the connection is ending. */
  send(element: string): void {
    if (this.#state !== 'open') return;
    this.#out += element;
    const pending = this.pendingBytes;
    if (pending > this.#options.maxPendingBytes) {
      const limit = formatAmount(this.#options.maxPendingBytes, 'bytes');
      this.destroy(new LccError('limit', `${this.where}: does not read its messages: over ${limit} waiting`));
      return;
    }
    if (pending > this.#options.maxPendingBytes / 2) this.#congest();
    if (this.#flushing) return;
    this.#flushing = true;
    if (this.#options.isPrompt === true) process.nextTick(() => this.#flush());
    else setImmediate(() => this.#flush());
  }

  /** Characters of text that a message may have at every peer with half of our limit. */
  get partChars(): number {
    return Math.floor(this.#options.xml.maxTokenBytes / 2);
  }

  /** Queues whole elements that go one after the other as the peer takes them, others in between: however
   * many there are, they do not count as unread. Who asked for them bounds how many there are. */
  sendInTurn(elements: readonly string[]): void {
    if (this.#state !== 'open') return;
    this.#inTurn.push(...elements);
    if (!this.#isTurnOut) this.#sendNext();
  }

  /** The next of what goes in turn, once the peer has taken the last of it. */
  readonly #sendNext = (): void => {
    this.#isTurnOut = this.#inTurn.length > 0;
    const room = this.#options.maxPendingBytes / IN_TURN_SHARE;
    for (let sent = 0; sent < room && this.#inTurn.length > 0;) {
      const element = this.#inTurn.shift() ?? '';
      sent += element.length;
      this.send(element);
    }
  };

  /** Stops (true) or goes on (false) taking messages; those of the bytes already read still come. */
  hold(held: boolean): void {
    if (held === this.#held) return;
    this.#held = held;
    this.#applyPause();
  }

  /** Sends what is waiting, says good-bye, and closes; a peer that does not close too is cut after two
   * seconds. */
  end(lastElement = ''): void {
    if (this.#state !== 'open') return;
    this.#state = 'ending';
    this.#stopStall();
    const rest = this.#out + this.#inTurn.join('') + lastElement;
    this.#out = '';
    this.#inTurn = [];
    this.#stream.end(rest === '' ? undefined : rest);
    // Keep reading, and ignoring, what comes: closing over unread bytes would reset the connection before the
    // peer has seen the last answer.
    this.#readOn();
    this.#cancelLinger = this.#options.clock.after(LINGER_MS, () => this.#stream.destroy());
  }

  /** Closes at once; what was not yet written is lost. */
  destroy(reason?: LccError): void {
    if (this.#state === 'closed') return;
    this.#reason ??= reason;
    this.#state = 'ending';
    this.#out = '';
    this.#inTurn = [];
    this.#stopStall();
    this.#stream.destroy();
  }

  /** Answers with an error element and closes: the peer broke the rules. */
  refuse(error: LccError): void {
    this.#reason ??= error;
    this.end(errorElement(error));
  }

  /** Goes on reading, a stranger slice by slice. */
  readonly #readOn = (): void => {
    if (this.#isFlowing) this.#stream.resume();
    else if (!this.#isReading && !this.#reading.isKnown) void this.#readStranger();
  };

  async #readStranger(): Promise<void> {
    this.#isReading = true;
    while (!this.#reading.isKnown && !this.#isPaused) {
      const slice = this.#reading.take(this.#stream);
      if (slice === null) break;
      this.#takenBytes += slice.length;
      this.#turn = this.#reading.turn(slice.length);
      await this.#turn;
      this.#turn = undefined;
      if (this.#state === 'open') this.#read(slice);
      else this.#cutNoise();
    }
    this.#isReading = false;
    if (this.#reading.isKnown) this.#flow();
  }

  /** Messages before the end of a link are read before the end is handled: mostly they say why the other side
   * refuses it. */
  #inOrder(next: () => void): void {
    if (this.#turn === undefined) next();
    else void this.#turn.then(() => this.#inOrder(next));
  }

  /** A stranger that was refused may go on for a while, to read why, but not for ever. */
  #cutNoise(): void {
    if (this.#takenBytes > this.#options.maxHelloBytes + STRANGER_REST_BYTES) this.#stream.destroy();
  }

  /** Takes what comes, as it comes. */
  #flow(): void {
    this.#stream.off('readable', this.#readOn);
    // In the next tick the stream learns that nobody waits for `readable`, and flows, paused or not.
    process.nextTick(() => {
      this.#isFlowing = true;
      this.#stream.on('data', (chunk: Buffer) => {
        if (this.#state === 'open') this.#read(chunk);
      });
      if (this.#isPaused) this.#stream.pause();
    });
  }

  #read(bytes: Uint8Array): void {
    try {
      this.#reader.write(bytes);
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      this.refuse(this.#located(error));
    }
  }

  #deliver(name: string, attributes: Attributes, text: string): void {
    if (this.#state !== 'open') return;
    if (name === 'error') return this.destroy(errorSaid(this.where, attributes, text));
    this.#handlers.message(name, attributes, text);
    if (this.#reading.isKnown) return;
    this.#reading.known();
    this.#reader.allow(Infinity);
  }

  /** A breach of the conversation's rules, ready to be thrown. */
  violation(what: string): LccError {
    return new LccError('peer.protocol', `${this.where}: ${what}`);
  }

  #located(error: LccError): LccError {
    if (error.message.startsWith(this.where)) return error;
    return new LccError(error.code, `${this.where}: ${error.message}`, { cause: error });
  }

  #onEnd(): void {
    if (this.#state !== 'open') return;
    try {
      this.#reader.end();
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      return this.refuse(error);
    }
    if (this.#handlers.ended === undefined) this.end();
    else this.#handlers.ended();
  }

  #flush(): void {
    this.#flushing = false;
    if (this.#state !== 'open' || this.#out === '') return;
    const text = this.#out;
    this.#out = '';
    if (this.#stream.write(text, this.#isTurnOut ? this.#sendNext : undefined)) this.#relieve();
  }

  #congest(): void {
    if (this.#congested) return;
    this.#congested = true;
    this.#applyPause();
    this.#cancelStall = this.#options.clock.after(this.#options.stallTimeoutMs, () => {
      const limit = limitText('wire.stall_timeout_ms', this.#options.stallTimeoutMs);
      this.destroy(new LccError('limit', `${this.where}: has not read its messages for ${limit}`));
    });
  }

  #relieve(): void {
    if (!this.#congested) return;
    this.#congested = false;
    this.#stopStall();
    this.#applyPause();
  }

  #applyPause(): void {
    if (this.#state !== 'open') return;
    if (!this.#isPaused) this.#readOn();
    else if (this.#isFlowing) this.#stream.pause();
  }

  get #isPaused(): boolean {
    return this.#state === 'open' && (this.#congested || this.#held);
  }

  #stopStall(): void {
    this.#cancelStall?.();
    this.#cancelStall = undefined;
  }

  #fail(error: LccError): void {
    if (this.#state === 'open') this.destroy(error);
  }

  #onStreamClosed(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#out = '';
    this.#stopStall();
    this.#cancelLinger?.();
    this.#handlers.closed(this.#reason);
  }
}

/** The last word to a peer that broke the rules, before its connection is closed: code 103, 104, 106 or 107,
 * where and what. */
export function errorElement(error: LccError): string {
  return `<lococa:error code="${codeOf(error)}">${escapeText(error.message)}</lococa:error>\n`;
}

function codeOf(error: LccError): number {
  if (error.code === 'limit') return 106;
  if (error.code === 'config') return 107;
  return error instanceof XmlError || error.code === 'data.cut' ? 103 : 104;
}

function streamError(where: string, error: Error): LccError {
  const what = errnoOf(error) ?? messageOf(error);
  return new LccError('peer.unavailable', `${where}: connection broken: ${what}`, { cause: error });
}
