/** Progress of long work for a person who watches: one line on a terminal, rewritten in place, gone at the
 * end. Nobody watches a pipe or a log; there it must not be used. */
interface ProgressOptions {
  /** In front of the line. */
  name: string;
  /** Name of the counted things, in the plural: `urls`. */
  unit: string;
  write: (text: string) => void;
  /** Monotonic milliseconds. */
  nowMs: () => number;
}

/** Counts some more; `total`, where it is known, is how many there will be: then the time left is told. */
export type Advance = (count: number, total?: number) => void;

/** Work that is done sooner than this never shows a line. */
const FIRST_AFTER_MS = 1000;
const EVERY_MS = 500;
const ERASE_LINE = '\r\u001b[K';

export class Progress {
  readonly #options: ProgressOptions;
  readonly #startedAtMs: number;
  #nextAtMs: number;
  #done = 0;
  #total: number | undefined;
  #shown = false;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#startedAtMs = options.nowMs();
    this.#nextAtMs = this.#startedAtMs + FIRST_AFTER_MS;
  }

  /** Counts; shows the line when it is time. To be called for batches: it looks at the clock every time. */
  readonly add: Advance = (count, total) => {
    this.#done += count;
    this.#total = total ?? this.#total;
    const nowMs = this.#options.nowMs();
    if (nowMs < this.#nextAtMs) return;
    this.#nextAtMs = nowMs + EVERY_MS;
    this.#shown = true;
    this.#options.write(`${ERASE_LINE}${this.#line((nowMs - this.#startedAtMs) / 1000)}`);
  };

  /** Removes the line, so that what is said next stands alone; it comes back with what is counted then. */
  hide(): void {
    if (this.#shown) this.#options.write(ERASE_LINE);
    this.#shown = false;
  }

  #line(seconds: number): string {
    const { name, unit } = this.#options;
    const total = this.#total;
    const perSecond = this.#done / seconds;
    const of = total === undefined ? '' : ` of ${grouped(total)}`;
    const left =
      total === undefined || total < this.#done ? '' : `, ${clock((total - this.#done) / perSecond)} left`;
    return `${name}: ${grouped(this.#done)}${of} ${unit}, ${grouped(Math.round(perSecond))}/s${left}`;
  }
}

function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `1:05`, `2:00:00`. */
function clock(seconds: number): string {
  if (!Number.isFinite(seconds)) return '?';
  const whole = Math.ceil(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  if (parts[0] === 0) parts.shift();
  return parts.map((part, i) => (i === 0 ? String(part) : String(part).padStart(2, '0'))).join(':');
}
