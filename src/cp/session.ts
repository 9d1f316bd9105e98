/** A CP's connection to a UNS: connect, init, send with backpressure while errors come back, part in good
 * order. */
import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.js';
import { connectFailure } from '../lib/connect-failure.js';
import { Conversation } from '../lib/conversation.js';
import { dial } from '../lib/dial.js';
import { formatEndpoint, type Endpoint } from '../lib/endpoint.js';
import { LccError, messageOf, type ErrorCode } from '../lib/errors.js';
import type { XmlLimits } from '../lib/xml/types.js';
import {
  initMessage,
  SET_END,
  setStart,
  UnsReader,
  type UnsEvent,
  type ProviderReport,
} from '../wire/cp-uns/client.js';
import { isDelete, type UrlRecord } from '../wire/url.js';

export interface SessionOptions {
  uns: Endpoint;
  /** PEM certificates trusted instead of the system's, for `tls:`. */
  ca?: Buffer | undefined;
  /** Longest wait for the connection, for an answer, and for the UNS to take what is sent. */
  timeoutMs: number;
  limits: XmlLimits;
  clock: Clock;
  /** A url in error: of an earlier fetch, or of the set being sent. */
  onError: (record: UrlRecord) => void;
  /**
   * Called before anything is acknowledged or ended. @throws when what `onError` was told could not be kept
   */
  errorsKept: () => void;
}

/** Bytes of what a UNS says that tell what it is. */
const HEARD_BYTES = 64;
/**
 * A server of HTTP answers our first line with a status line, or, taking it for HTTP/0.9, with a page alone.
 */
const OF_WEB_SERVER = /^\s*(?:HTTP\/|<!doctype|<html)/i;

/** Text for a set whose answer has not come. */
const UNKNOWN = 'whether the set was accepted is not known: send it again';

/** State of the set: from `doubtful` on all of it is on its way, and the UNS may accept it without our
 * hearing of it. */
type SetFate = 'unsent' | 'doubtful' | 'rejected' | 'accepted';

type Rejection = Extract<UnsEvent, { kind: 'rejected' }>;

export class UnsSession {
  readonly #options: SessionOptions;
  readonly #where: string;
  readonly #socket: Socket;
  readonly #talk: Conversation;
  readonly #reader: UnsReader;
  #isConnected = false;
  #status: ProviderReport | undefined;
  #received: number | undefined;
  /** Removals that were rejected so far. */
  refusedDeletes = 0;
  #fate: SetFate = 'unsent';
  /** Rejects as soon as the UNS has rejected something or is gone; for a caller that waits for something
   * else. */
  readonly failed: Promise<never>;

  /** The beginning of what it has said. */
  #heard = '';

  private constructor(options: SessionOptions) {
    this.#options = options;
    this.#where = formatEndpoint(options.uns);
    this.#reader = new UnsReader(event => this.#on(event), options.limits, this.#where);
    this.#socket = dial(options.uns, { ca: options.ca }, () => {
      this.#isConnected = true;
      this.#talk.stir();
    });
    this.#talk = new Conversation(this.#socket, this.#where, options.clock);
    this.#talk.listen(
      chunk => this.#read(chunk),
      error => (this.#isConnected ? this.#lost(error) : this.#unreachable(connectFailure(error), error)),
    );
    this.failed = this.#talk.until(() => false) as Promise<never>;
    this.failed.catch(() => undefined);
  }

  /** @throws LccError `peer.unavailable` */
  static async open(options: SessionOptions): Promise<UnsSession> {
    const session = new UnsSession(options);
    const { timeoutMs } = options;
    try {
      await session.#talk.until(
        () => session.#isConnected,
        timeoutMs,
        () => session.#unreachable(`no connection after ${timeoutMs / 1000} s`),
      );
    } catch (error) {
      session.#talk.destroy();
      throw error;
    }
    return session;
  }

  /** @throws LccError `auth.refused`, `peer.busy`, `peer.rejected`, `peer.protocol`, `peer.unavailable` */
  async init(pid: string, password: string): Promise<ProviderReport> {
    await this.send(initMessage(pid, password));
    await this.#until(() => this.#status !== undefined, 'an answer to init');
    try {
      this.#options.errorsKept();
    } catch (error) {
      // In the middle of a set, which does not count either: the errors shown do not count as received.
      this.#talk.say(setStart('partial', ''));
      await this.close();
      throw error;
    }
    return this.#status!;
  }

  /**
   * Sends a part of the set; resolves when it has left, and more may be sent.
   * @throws LccError as soon as the UNS rejected the set or is gone
   */
  send(data: string | Uint8Array): Promise<void> {
    const { timeoutMs } = this.#options;
    return this.#talk.write(data, timeoutMs, () => this.#silence('room for more of the set'));
  }

  get fate(): SetFate {
    return this.#fate;
  }

  /** Sends the end of the set: it counts from there on. @throws as `send` */
  async endSet(): Promise<void> {
    this.#talk.check();
    const sending = this.send(SET_END);
    this.#fate = 'doubtful';
    await sending;
  }

  /** Waits for the answer to the set, whose end has been sent; gives the number of urls accepted. */
  async accepted(): Promise<number> {
    await this.#until(() => this.#received !== undefined, 'the answer to the set');
    return this.#received!;
  }

  /** Parts in good order: the UNS may take what it told us for received. All that matters has been said; a
   * UNS that does not hang up, or does so rudely, changes nothing. */
  async close(): Promise<void> {
    this.#talk.limit(this.#options.timeoutMs, () => this.#silence('the end of the connection'));
    await this.#talk.finish();
  }

  /** Drops the connection: whatever was begun counts as nothing sent, and of what is in doubt no more
   * travels. */
  drop(): void {
    // A connection that the UNS has closed cannot be reset, nor can one with TLS by Node.
    const canReset = this.#options.uns.kind === 'tcp' && !this.#talk.hasEnded;
    if (this.#fate === 'doubtful' && canReset) this.#socket.resetAndDestroy();
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    if (this.#heard.length < HEARD_BYTES) this.#heard += chunk.subarray(0, HEARD_BYTES).toString('latin1');
    try {
      this.#reader.write(chunk);
    } catch (error) {
      const text = OF_WEB_SERVER.test(this.#heard)
        ? `${this.#where} is no UNS, it speaks HTTP: name where lccd-uns listens`
        : `the UNS at ${this.#where}: ${messageOf(error)}`;
      throw error instanceof LccError ? new LccError('peer.protocol', text, { cause: error }) : error;
    }
  }

  #on(event: UnsEvent): void {
    switch (event.kind) {
      case 'error':
        // Errors of earlier fetches are never of removals.
        if (isDelete(event.record)) this.refusedDeletes += 1;
        this.#options.onError(event.record);
        return;
      case 'initAccepted':
        this.#status = event.status;
        return;
      case 'setAccepted':
        this.#received = event.received;
        this.#fate = 'accepted';
        return;
      case 'rejected':
        if (event.what === 'set') this.#fate = 'rejected';
        this.#talk.interrupt(rejectionError(event));
    }
  }

  #unreachable(why: string, cause?: unknown): LccError {
    return new LccError('peer.unavailable', `cannot reach the UNS at ${this.#where}: ${why}`, { cause });
  }

  #lost(error: Error | undefined): LccError {
    const how = error === undefined ? 'closed the connection' : `is gone: ${messageOf(error)}`;
    // A server of TLS hangs up on everything else without a word.
    const isMute = this.#heard === '' && this.#options.uns.kind === 'tcp';
    const advice = isMute ? `; if it speaks TLS, say --uns=tls:${this.#where}` : '';
    const text = `the UNS at ${this.#where} ${how}; ${this.#fate === 'doubtful' ? UNKNOWN : 'nothing was accepted'}${advice}`;
    return new LccError('peer.unavailable', text, { cause: error });
  }

  #silence(what: string): LccError {
    const silence = `${this.#options.timeoutMs / 1000} s without ${what}; see --timeout`;
    const fate = this.#fate === 'doubtful' ? `; ${UNKNOWN}` : '';
    return new LccError('peer.unavailable', `the UNS at ${this.#where}: ${silence}${fate}`);
  }

  /** Waits for a condition; silence ends the wait. */
  #until(isTrue: () => boolean, what: string): Promise<void> {
    return this.#talk.until(isTrue, this.#options.timeoutMs, () => this.#silence(what));
  }
}

function rejectionError({ what, code, text }: Rejection): LccError {
  const todo = code === 101 ? '; compare --pid and the password with those of your registration' : '';
  const why = `${text === '' ? 'no reason given' : text} (code ${code})${todo}`;
  return new LccError(
    rejectionCode(code),
    what === 'init' ? `the UNS refused us: ${why}` : `the UNS rejected the set: ${why}; nothing was accepted`,
  );
}

const FAILURES: Readonly<Record<number, ErrorCode>> = {
  101: 'auth.refused',
  102: 'peer.busy',
  103: 'peer.protocol',
  104: 'peer.protocol',
  105: 'auth.refused',
  106: 'data.refused',
  202: 'data.refused',
  203: 'data.refused',
  204: 'peer.protocol',
};

/** Which failure a code of a connection or a set is; lcc-codes(7) says the exit status, a test compares the
 * two. */
export function rejectionCode(code: number): ErrorCode {
  return FAILURES[code] ?? 'peer.rejected';
}
