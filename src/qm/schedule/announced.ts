/**
 * How much of what a provider announces of its lengths comes: with errors, unchanged content and lies it is
 * less. Announced bytes keep others waiting, so those who announce too much are believed less each time, and
 * nobody more than has come of it lately.
 */
import { setNewest } from '../../lib/newest.js';

/** How slowly earlier fetches are forgotten. */
const FORGET = 0.8;
/** Providers that are remembered, whether or not they have urls waiting: those of which something waited
 * last. */
const MOST_REMEMBERED = 10_000;

export class Announced {
  #announcedBytes = 0;
  #receivedBytes = 0;
  /** Bytes of the last fetches, whatever was announced of them; undefined: there were none. */
  #latelyBytes: number | undefined;

  /** Bytes to expect of an announced length. */
  believed(len: number): number {
    return this.#announcedBytes === 0 ? len : len * (this.#receivedBytes / this.#announcedBytes);
  }

  /** Bytes that others wait for at most while one of its urls is fetched. @param meanBytes what a fetch of
   * anybody brings */
  mostAhead(meanBytes: number): number {
    return this.#latelyBytes ?? meanBytes;
  }

  /** `bytes` came of `len` announced ones; null: nothing was announced. */
  heard(len: number | null, bytes: number): void {
    this.#latelyBytes = (this.#latelyBytes ?? 0) * FORGET + bytes;
    if (len === null) return;
    this.#announcedBytes = this.#announcedBytes * FORGET + len;
    this.#receivedBytes = this.#receivedBytes * FORGET + Math.min(bytes, len);
  }
}

/** The same of all providers: what is known of one outlives its queue. */
export class AllAnnounced {
  readonly #of = new Map<number, Announced>();

  get size(): number {
    return this.#of.size;
  }

  of(pid: number): Announced {
    const known = this.#of.get(pid) ?? new Announced();
    setNewest(this.#of, pid, known, MOST_REMEMBERED);
    return known;
  }
}
