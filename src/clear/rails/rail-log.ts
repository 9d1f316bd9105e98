/** The log of a rail: each thing once, and what goes on, once a minute. */
import type { RailRow } from '../../db/clear/rails.js';
import type { Clock } from '../../lib/clock.js';
import type { Log, LogFields } from '../../lib/log.js';
import type { MarkChange } from '../slow-or-delayed.js';

const ALARM_MS = 60_000;

export class RailLog {
  readonly #rail: string;
  readonly #log: Log;
  readonly #clock: Clock;
  #alarmedMs = -Infinity;
  #failedMs = -Infinity;

  constructor(rail: string, log: Log, clock: Clock) {
    this.#rail = rail;
    this.#log = log;
    this.#clock = clock;
  }

  /** Somebody else has said so. */
  became(change: 'up' | 'down', { changedBy, reason }: RailRow): void {
    this.#log.info(`rail is ${change.toUpperCase()}`, { rail: this.#rail, by: changedBy, reason });
  }

  foundDown(reason: string): void {
    this.#log.error('rail is DOWN: mend it, then lccrail up', { rail: this.#rail, reason });
  }

  mark(name: 'SLOW' | 'DELAYED', change: MarkChange, fields: LogFields): void {
    if (change === 'begins') this.#log.warn(`rail is ${name}`, { rail: this.#rail, ...fields });
    if (change === 'ends') this.#log.info(`rail is not ${name} any more`, { rail: this.#rail, ...fields });
  }

  failed(url: string | undefined, kind: string, error: string): void {
    this.#log.debug('request failed', { rail: this.#rail, url, kind, error });
    const nowMs = this.#clock.monotonicMs();
    if (kind !== 'retry' || nowMs - this.#failedMs < ALARM_MS) return;
    this.#failedMs = nowMs;
    this.#log.warn('rail fails: its pages are tried again', { rail: this.#rail, error });
  }

  /** Somebody has to set it up. */
  refuses(error: string): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#alarmedMs < ALARM_MS) return;
    this.#alarmedMs = nowMs;
    this.#log.error('rail refuses requests: see lccrail check', { rail: this.#rail, error });
  }
}
