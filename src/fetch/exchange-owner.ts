/** Duties of an exchange to its owner, whatever the protocol below. */
import { messageOf } from '../lib/errors.js';
import { fail, type FetchFailure } from './failure.js';
import type { ResponseHead } from './head.js';
import type { ReceivingEnd } from './receiving-end.js';

/** Response headers of sites and rails. */
export const HEADER_LIMITS = { maxHeaderBytes: 256 * 1024, headerLimitText: '256 KB' };

export interface ExchangeLimits {
  maxHeaderBytes: number;
  /** The header limit, for the message that refuses. */
  headerLimitText: string;
}

export interface ExchangeOwner {
  /** Bytes that the answer may have, with all that surrounds its content. */
  readonly allowance: number;
  /** The failure of one that has more. */
  tooMuch(): FetchFailure;
  /** Connected, the request is on its way. */
  onSent(): void;
  /** A piece of what is sent with it has gone. */
  onProgress(): void;
  /** A status before the real one: 1xx. */
  onInterim(status: number): void;
  onHead(head: ResponseHead): void;
  onBody(chunk: Buffer): void;
  onEnd(): void;
  /** `stale`: a kept-alive connection turned out closed before any answer; the request can be made again. */
  onFailure(failure: FetchFailure, stale: boolean): void;
}

interface Cancellable {
  cancel(): void;
}

/** Counts what is received for the exchange from now on, and ends it when that is more than it may be. */
export function watchIntake(
  intake: ReceivingEnd | undefined,
  exchange: Cancellable,
  owner: ExchangeOwner,
): void {
  intake?.allow(owner.allowance, () =>
    guarded(exchange, owner, () => endWith(exchange, owner, owner.tooMuch())),
  );
}

/** 1xx answers accepted before the real one. */
const MAX_INTERIM_ANSWERS = 20;

/** Ends the exchange with a failure found here. */
export function endWith(exchange: Cancellable, owner: ExchangeOwner, reason: FetchFailure): void {
  exchange.cancel();
  owner.onFailure(reason, false);
}

/** @param interim 1xx answers so far, with the one that has just come */
export function checkInterim(
  exchange: Cancellable,
  owner: ExchangeOwner,
  interim: number,
  status: number,
): void {
  owner.onInterim(status);
  if (interim > MAX_INTERIM_ANSWERS)
    endWith(exchange, owner, fail('interim', `more than ${MAX_INTERIM_ANSWERS} interim answers`));
}

/** An exception in what the owner does would end up in a parser or in an event of a socket, and the fetch
 * without a result. */
export function guarded(exchange: Cancellable, owner: ExchangeOwner, action: () => void): void {
  try {
    action();
  } catch (error) {
    endByBug(exchange, owner, error);
  }
}

/** The same for those that are called so often that a function for each call shows. */
export function endByBug(exchange: Cancellable, owner: ExchangeOwner, error: unknown): void {
  endWith(exchange, owner, fail('bug', messageOf(error)));
}
