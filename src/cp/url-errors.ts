/** Urls in error on the standard output. The UNS forgets what it has told: a delivery fails when they cannot
 * be written. */
import { errnoOf, LccError } from '../lib/errors.js';
import type { Output } from '../lib/stdio.js';
import { formatUrl, type UrlRecord } from '../wire/url.js';

export class UrlErrors {
  readonly #out: Output;
  #failure: unknown;
  count = 0;
  #earlier: number | undefined;

  constructor(out: Output) {
    this.#out = out;
  }

  /** Those of earlier fetches: they come before all others. */
  get earlier(): number {
    return this.#earlier ?? this.count;
  }

  print(record: UrlRecord): void {
    this.count += 1;
    this.#try(() => this.#out.write(formatUrl(record)));
  }

  /** Has all of them written. @throws LccError `io` or `io.full` when one could not be, now or before */
  keep(): void {
    this.#earlier ??= this.count;
    this.#try(() => this.#out.flush());
    if (this.#failure !== undefined) throw this.#failure;
  }

  #try(action: () => void): void {
    if (this.#failure !== undefined) return;
    try {
      action();
    } catch (error) {
      this.#failure =
        errnoOf(error) === 'EPIPE'
          ? new LccError('io', 'cannot write standard output: nobody reads the urls in error', {
              cause: error,
            })
          : error;
    }
  }
}
