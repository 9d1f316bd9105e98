/**
 * The right to send anything to Bot Managers: without an engine always, in a kept home as long as the lease
 * is surely held. What was told last has a time; a process that was stopped finds it over when it wakes.
 *
 *     held ──its time is over──▶ lapsed: all that is on its way is called back ──hears a later time──▶ held
 *
 * Lapsed for `graceMs` it may be another machine's: Bot Managers are let go, for they look for no other
 * while they are connected.
 */
import type { Kept } from '../daemon/kept.js';
import type { Clock } from '../lib/clock.js';
import type { Log } from '../lib/log.js';

interface SendingRightParts {
  kept: Kept;
  clock: Clock;
  log: Log;
  /** Calls back all that is on its way, begun or not. */
  lapsed: () => void;
  /** Something may be sent again. */
  regained: () => void;
  graceMs: number;
  /** Has Bot Managers look for who has it now. */
  letGo: () => void;
}

export class SendingRight {
  readonly #parts: SendingRightParts;
  #hasLapsed = true;
  #cancel: (() => void) | undefined;
  #unwatch: (() => void) | undefined;

  constructor(parts: SendingRightParts) {
    this.#parts = parts;
  }

  /** To be asked before anything is sent. */
  get isHeld(): boolean {
    return this.#leftMs > 0;
  }

  start(): void {
    this.#unwatch = this.#parts.kept.watch(() => this.#told());
  }

  stop(): void {
    this.#unwatch?.();
    this.#cancel?.();
  }

  get #leftMs(): number {
    const { kept, clock } = this.#parts;
    if (!kept.isKept) return Infinity;
    const { lease } = kept;
    // safeguard: the lease before each send
    return lease?.state === 'owner' ? lease.untilMs - clock.monotonicMs() : 0;
  }

  #told(): void {
    const { clock, log, lapsed, regained, graceMs, letGo } = this.#parts;
    if (!this.isHeld && this.#hasLapsed) return;
    this.#cancel?.();
    if (this.isHeld) {
      this.#cancel = clock.after(Math.ceil(this.#leftMs), () => this.#told());
      if (!this.#hasLapsed) return;
      this.#hasLapsed = false;
      regained();
    } else {
      this.#hasLapsed = true;
      log.warn('lease not certain: nothing is sent until it is');
      lapsed();
      this.#cancel = clock.after(graceMs, letGo);
    }
  }
}
