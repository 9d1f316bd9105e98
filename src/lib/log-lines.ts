/**
 * Lines of a log on their way. A write costs more than a line, and a daemon at work says two lines a set:
 * what is said within some milliseconds of the last write goes out together. A lone line goes out at once, so
 * that it stands before what other processes say of its consequences. A process killed with SIGKILL takes
 * with it what waits.
 */
import type { Clock } from './clock.js';

/** Between two writes. */
const GATHER_MS = 10;
/** Characters of waiting lines at which these go out before their time. */
const MAX_WAITING_CHARS = 64 * 1024;

export class LogLines {
  readonly #clock: Clock;
  readonly #send: (text: string) => void;
  #waiting = '';
  #sentMs = -Infinity;

  /** @param send writes text, before it returns */
  constructor(clock: Clock, send: (text: string) => void) {
    this.#clock = clock;
    this.#send = send;
  }

  /** @param isUrgent it and all before it go out now: what follows may be the end */
  add(line: string, isUrgent: boolean): void {
    const restMs = this.#sentMs + GATHER_MS - this.#clock.monotonicMs();
    if (this.#waiting === '' && restMs > 0) this.#clock.after(restMs, () => this.flush());
    this.#waiting += line;
    if (isUrgent || restMs <= 0 || this.#waiting.length > MAX_WAITING_CHARS) this.flush();
  }

  /** To be called when the process ends. */
  flush(): void {
    const text = this.#waiting;
    if (text === '') return;
    this.#waiting = '';
    this.#sentMs = this.#clock.monotonicMs();
    this.#send(text);
  }
}
