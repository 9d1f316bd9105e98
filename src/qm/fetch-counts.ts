import type { FetchDone } from '../wire/fetch.js';

/** An error is one when its provider is told; until then it is tried again, and counted as `retries`. */
const COUNTED_AS = { ok: 'stored', unchanged: 'unchanged', redirect: 'redirects', error: 'errors' } as const;

/** Fetches since the start, by what came of them. */
export class FetchCounts {
  readonly #counts = { stored: 0, unchanged: 0, redirects: 0, errors: 0, retries: 0, wire_bytes: 0 };

  /** For the status. */
  get all(): Readonly<
    Record<'stored' | 'unchanged' | 'redirects' | 'errors' | 'retries' | 'wire_bytes', number>
  > {
    return this.#counts;
  }

  /** Something arrived. */
  arrived(wireBytes: number): void {
    this.#counts.wire_bytes += wireBytes;
  }

  /** A result is committed. @param isOver nothing more is done for its url */
  committed(result: FetchDone, isOver: boolean): void {
    this.#counts[result.status === 'error' && !isOver ? 'retries' : COUNTED_AS[result.status]]++;
  }
}
