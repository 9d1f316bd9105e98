/** The time limits of one session, with one timer: login, silence, slowness, length. Only time spent waiting
 * for the CP counts as silence or slowness; what the disk takes is not its fault. */
import type { Clock } from '../lib/clock.js';
import { limitOf, type UnsOptions } from './options.js';
import { Refusal } from '../wire/refusal.js';

/** Slowness is looked at this many times within one idle timeout. */
const RATE_LOOKS = 4;

export class TimeLimits {
  readonly #options: UnsOptions;
  readonly #clock: Clock;
  readonly #onExpired: (why: Refusal) => void;
  readonly #startMs: number;
  #phase: 'login' | 'session' | 'set' = 'login';
  #waitingSinceMs: number | undefined;
  #setWaitedMs = 0;
  #setBytes = 0;
  #cancel: (() => void) | undefined;
  /** When it is looked next. */
  #lookAtMs = Infinity;

  /** @param onExpired called at most once */
  constructor(options: UnsOptions, clock: Clock, onExpired: (why: Refusal) => void) {
    this.#options = options;
    this.#clock = clock;
    this.#onExpired = onExpired;
    this.#startMs = clock.monotonicMs();
    this.#arm();
  }

  /** We have done our part and wait for the CP. */
  waits(): void {
    this.#waitingSinceMs ??= this.#clock.monotonicMs();
  }

  /** The CP has sent (or taken) something. */
  heard(bytes: number): void {
    this.#setWaitedMs += this.#waitedNowMs();
    this.#waitingSinceMs = undefined;
    this.#setBytes += bytes;
  }

  /** @throws nothing; from now on the login timeout is over */
  loggedIn(): void {
    this.#phase = 'session';
    this.#arm();
  }

  setOpened(): void {
    this.#phase = 'set';
    this.#setBytes = 0;
    this.#setWaitedMs = 0;
    this.#arm();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#lookAtMs = Infinity;
  }

  #waitedNowMs(): number {
    return this.#waitingSinceMs === undefined ? 0 : this.#clock.monotonicMs() - this.#waitingSinceMs;
  }

  #arm(): void {
    const { limits } = this.#options;
    const nowMs = this.#clock.monotonicMs();
    const ageMs = nowMs - this.#startMs;
    const idleMs = limits.idleTimeoutMs;
    const delays = [limits.sessionTimeoutMs - ageMs, idleMs - this.#waitedNowMs()];
    if (this.#phase === 'login') delays.push(limits.loginTimeoutMs - ageMs);
    if (this.#phase === 'set') delays.push(idleMs / RATE_LOOKS);
    const delayMs = Math.max(1, Math.ceil(Math.min(...delays)));
    // A look too early finds nothing and costs nothing: most sessions are over by then.
    if (nowMs + delayMs >= this.#lookAtMs) return;
    this.#cancel?.();
    this.#lookAtMs = nowMs + delayMs;
    this.#cancel = this.#clock.after(delayMs, () => this.#look());
  }

  #look(): void {
    this.#lookAtMs = Infinity;
    const why = this.#violation();
    if (why === undefined) return this.#arm();
    this.stop();
    this.#onExpired(why);
  }

  #violation(): Refusal | undefined {
    const { limits } = this.#options;
    const ageMs = this.#clock.monotonicMs() - this.#startMs;
    const idleMs = limits.idleTimeoutMs;
    const over = (what: string, key: Parameters<typeof limitOf>[1]) =>
      new Refusal(106, `${what}: the limit is ${limitOf(this.#options, key)}`);
    if (ageMs >= limits.sessionTimeoutMs) return over('the session takes too long', 'uns.session_timeout_ms');
    if (this.#phase === 'login' && ageMs >= limits.loginTimeoutMs)
      return over('no complete init in time', 'uns.login_timeout_ms');
    if (this.#waitedNowMs() >= idleMs) return over('nothing was heard for too long', 'uns.idle_timeout_ms');
    if (this.#phase !== 'set') return undefined;
    const waitedMs = this.#setWaitedMs + this.#waitedNowMs();
    if (waitedMs >= idleMs && (this.#setBytes * 1000) / waitedMs < limits.minRateBytesPerS)
      return over('the set arrives too slowly', 'uns.min_rate_bytes_per_s');
    return undefined;
  }
}
