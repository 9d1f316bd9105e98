/**
 * The log of a kept database begins again only when all of it is in the engine and in the database, and the
 * keeper has its guard out of it (docs/design/keeping.md). A busy one never came to that by itself: at a
 * length nothing is committed until it has. Once the engine has taken what was committed by then, that lasts
 * for a short time at most, because a reader may hold the log as well.
 *
 *     off ──the log is long──▶ on ──taken by the engine──▶ moving ──moved, or two seconds over──▶ off
 */
import type { Kept } from '../daemon/kept.js';
import type { Checkpoints } from '../db/sqlite/checkpoints.js';
import type { Clock } from '../lib/clock.js';

/** 256 MB. */
const MOST_PAGES = 65_536;
const LONGEST_MS = 2000;
const LOOK_MS = 20;
/** After it was on in vain: 64 MB. */
const FURTHER_PAGES = 16_384;

interface LogBrakeParts {
  kept: Kept;
  checkpoints: Pick<Checkpoints, 'logPages' | 'isMoved'>;
  clock: Clock;
  /** Left out: 256 MB. */
  mostPages?: number;
}

export class LogBrake {
  readonly #parts: LogBrakeParts;
  readonly #mostPages: number;
  #fromPages: number;
  #off: Promise<void> | undefined;

  constructor(parts: LogBrakeParts) {
    this.#parts = parts;
    this.#mostPages = this.#fromPages = parts.mostPages ?? MOST_PAGES;
  }

  /** Nothing may be committed. */
  get isOn(): boolean {
    return this.#off !== undefined;
  }

  /** Resolves when there may be commits. */
  async off(): Promise<void> {
    await this.#off;
  }

  /** To be called after every commit. */
  committed(): void {
    const { kept, checkpoints } = this.#parts;
    if (!kept.isKept || this.isOn) return;
    if (checkpoints.logPages < this.#mostPages) this.#fromPages = this.#mostPages;
    else if (checkpoints.logPages >= this.#fromPages) this.#off = this.#hold();
  }

  async #hold(): Promise<void> {
    const { kept, checkpoints, clock } = this.#parts;
    // The daemon ends where that fails.
    await kept.shipped('lcc').catch(() => undefined);
    const endMs = clock.monotonicMs() + LONGEST_MS;
    while (!checkpoints.isMoved && clock.monotonicMs() < endMs)
      await new Promise<void>(resolve => void clock.after(LOOK_MS, resolve));
    this.#fromPages = checkpoints.logPages + FURTHER_PAGES;
    this.#off = undefined;
  }
}
