import { UNPERMITTED } from '../wire/codes.js';
import type { FetchDone, FetchResult, FetchRecalled } from '../wire/fetch.js';

/** An error is one when its provider is told; until then it is tried again, and counted as `retries`. */
const COUNTED_AS = { ok: 'stored', unchanged: 'unchanged', redirect: 'redirects', error: 'errors' } as const;

/** Fetches since the start, by what came of them. */
export class FetchCounts {
  readonly #counts = {
    stored: 0,
    unchanged: 0,
    redirects: 0,
    errors: 0,
    retries: 0,
    unpermitted: 0,
    wire_bytes: 0,
  };
  #unpermittedAtMs: number | null = null;

  /** For the status. */
  get all() {
    return { ...this.#counts, unpermitted_at_ms: this.#unpermittedAtMs };
  }

  /** Something arrived, of a page or a robots.txt. @param nowMs since 1970 */
  arrived(result: Exclude<FetchResult, FetchRecalled>, nowMs: number): void {
    this.#counts.wire_bytes += result.wireBytes;
    if (result.status !== 'error' || result.code !== UNPERMITTED) return;
    this.#counts.unpermitted++;
    this.#unpermittedAtMs = nowMs;
  }

  /** A result is committed. @param isOver nothing more is done for its url */
  committed(result: FetchDone, isOver: boolean): void {
    this.#counts[result.status === 'error' && !isOver ? 'retries' : COUNTED_AS[result.status]]++;
  }
}
