/**
 * One request and its answer on one link. Whatever undici does, the owner hears exactly one of `onEnd` and
 * `onFailure`, or nothing more after `cancel`.
 *
 * The parser is never paused (by returning false from onData): when a peer resets the connection meanwhile,
 * undici 7.30.2 throws an AssertionError out of the socket's error event, which ends the process. `hold`
 * stops the reading of the socket instead.
 */
import type { Dispatcher } from 'undici';
import { errnoOf } from '../lib/errors.js';
import {
  checkInterim,
  endByBug,
  endWith,
  guarded,
  watchIntake,
  type ExchangeLimits,
  type ExchangeOwner,
} from './exchange-owner.js';
import { fail, FetchError, responseFailure, type FetchFailure } from './failure.js';
import { readHead } from './head.js';
import type { Link, Links } from './kept-connections.js';
import { mendParser } from './undici-mends.js';
import { readable, type Question } from './question.js';

const SWITCHED = 101;

export class Exchange implements Dispatcher.DispatchHandler {
  readonly #links: Links;
  readonly #link: Link;
  readonly #owner: ExchangeOwner;
  readonly #limits: ExchangeLimits;
  #abort: ((error?: Error) => void) | undefined;
  #interim = 0;
  #sent = false;
  #answered = false;
  #inBody = false;
  #over = false;
  #bytesBefore = 0;
  #sourceError: unknown;
  #received = 0;

  constructor(links: Links, link: Link, owner: ExchangeOwner, limits: ExchangeLimits) {
    this.#links = links;
    this.#link = link;
    this.#owner = owner;
    this.#limits = limits;
  }

  start({ method, path, headers, body }: Question): void {
    const sent = body === undefined ? undefined : readable(body, error => (this.#sourceError = error));
    this.#link.client.dispatch({ path, method, headers, ...(sent && { body: sent }) }, this);
  }

  onBodySent(): void {
    if (!this.#over) this.#owner.onProgress();
  }

  /** Bytes received for this exchange so far. */
  get wireBytes(): number {
    return this.#over ? this.#received : this.#count();
  }

  /** The connection did not come to an end, but was reset. */
  get wasReset(): boolean {
    return this.#link.intake?.wasReset === true;
  }

  /** Ends it now, wherever it stands; the connection is closed. */
  cancel(): void {
    if (this.#over) return;
    this.#finish();
    this.#abort?.(new FetchError(fail('cancelled', 'given up')));
    this.#links.discard(this.#link);
  }

  /** Reads nothing more from the connection until `release`; what is read already still arrives. */
  hold(): void {
    if (!this.#over) this.#link.intake?.hold();
  }

  release(): void {
    if (!this.#over) this.#link.intake?.release();
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#abort = abort;
    this.#bytesBefore = this.#link.intake?.bytes ?? 0;
    this.#sent = true;
    const { intake } = this.#link;
    if (intake !== undefined) this.#link.notes = mendParser(intake.socket) ?? this.#link.notes;
    watchIntake(intake, this, this.#owner);
    if (!this.#over) this.#owner.onSent();
  }

  onResponseStarted(): void {
    this.#answered = true;
  }

  onHeaders(status: number, raw: Buffer[]): boolean {
    if (this.#over) return true;
    if (status < 200) {
      checkInterim(this, this.#owner, ++this.#interim, this.#link.notes?.interim ?? status);
      return true;
    }
    this.#inBody = true;
    try {
      this.#owner.onHead(readHead(status, raw));
    } catch (error) {
      endByBug(this, this.#owner, error);
    }
    return true;
  }

  onData(chunk: Buffer): boolean {
    if (this.#over) return true;
    try {
      this.#owner.onBody(chunk);
    } catch (error) {
      endByBug(this, this.#owner, error);
    }
    return true;
  }

  onComplete(): void {
    if (this.#over) return;
    this.#finish();
    // The end may have been among the bytes read before the hold; the next exchange must be able to read.
    this.#link.intake?.letRead();
    this.#links.release(this.#link);
    try {
      this.#owner.onEnd();
    } catch (error) {
      endByBug(this, this.#owner, error);
    }
  }

  onError(error: Error): void {
    if (this.#over) return;
    this.#finish();
    this.#links.discard(this.#link);
    if (this.#link.notes?.interim === SWITCHED) this.#owner.onInterim(SWITCHED);
    const broken = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(errnoOf(error) ?? '');
    const stale = this.#link.reused && this.#sent && !this.#answered && broken;
    const failure: FetchFailure =
      this.#sourceError === undefined
        ? responseFailure(error, this.#inBody, this.#limits.headerLimitText)
        : { kind: 'source', error: this.#sourceError };
    guarded(this, this.#owner, () => this.#owner.onFailure(failure, stale));
  }

  onUpgrade(_status: number, _raw: Buffer[] | string[] | null, socket: { destroy(): unknown }): void {
    socket.destroy();
    endWith(this, this.#owner, fail('unexpected-status', 'the server switched protocols'));
  }

  #finish(): void {
    this.#received = this.#count();
    this.#over = true;
  }

  #count(): number {
    return this.#sent ? (this.#link.intake?.bytes ?? 0) - this.#bytesBefore : 0;
  }
}
