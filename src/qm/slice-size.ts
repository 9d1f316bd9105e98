/** Time a slice may take before its commit: what everything else in the process waits for … */
const SLICE_MS = 25;
/** … and while anything else is there that waits. */
const SHARED_SLICE_MS = 5;
const FIRST_SLICE_URLS = 1000;

/**
 * How many urls a slice has. Every commit costs a sync and writes each page the slice touched, so slices grow as long as
 * applying one takes less than that: keys in order make large ones, scattered keys small ones.
 */
export class SliceSize {
  readonly #most: number;
  readonly #isShared: () => boolean;
  #urls: number;

  /** @param isShared whether others wait for the process meanwhile */
  constructor(most: number, isShared: () => boolean) {
    this.#most = most;
    this.#isShared = isShared;
    this.#urls = Math.min(most, FIRST_SLICE_URLS);
  }

  get urls(): number {
    return this.#urls;
  }

  /** A slice of so many urls took so long. */
  took(urls: number, ms: number): void {
    if (urls < this.#urls) return;
    const wanted = (urls * (this.#isShared() ? SHARED_SLICE_MS : SLICE_MS)) / Math.max(ms, 0.001);
    this.#urls = Math.max(1, Math.floor(Math.min(this.#most, urls * 2, Math.max(urls / 2, wanted))));
  }
}
