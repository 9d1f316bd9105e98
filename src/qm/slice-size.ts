/** Time a slice may take before its commit while anything else is there that waits … */
const SHARED_SLICE_MS = 5;
const FIRST_SLICE_URLS = 1000;
/** A slice of this length is long enough where its urls share pages … */
export const FEW_URLS = 10_000;
/** … this many urls each. */
const URLS_PER_PAGE = 4;

export interface SliceRules {
  /** Urls. */
  most: number;
  /** … and while nothing is: what comes meanwhile waits for that, once. */
  aloneMs: number;
  /** True if others wait for the process meanwhile. */
  isShared: () => boolean;
}

/**
 * How many urls a slice has. Every commit costs a sync and writes each page the slice touched. Keys in order
 * touch few: some thousand are enough. Scattered keys touch a page each, until slices are so long that they
 * meet on them.
 */
export class SliceSize {
  readonly #rules: SliceRules;
  readonly #urls = { alone: FIRST_SLICE_URLS, shared: FIRST_SLICE_URLS };

  constructor(rules: SliceRules) {
    this.#rules = rules;
  }

  get urls(): number {
    return Math.min(this.#rules.most, this.#urls[this.#kind]);
  }

  /** A slice of `urls` took `ms`. @param pages that its commit wrote */
  took(urls: number, ms: number, pages: number): void {
    const kind = this.#kind;
    const size = this.urls;
    if (urls < size) return;
    const wanted = (urls * (kind === 'shared' ? SHARED_SLICE_MS : this.#rules.aloneMs)) / Math.max(ms, 0.001);
    const enough = pages * URLS_PER_PAGE > urls ? Infinity : FEW_URLS;
    const most = Math.min(this.#rules.most, size * 2, enough);
    this.#urls[kind] = Math.max(1, Math.floor(Math.min(most, Math.max(size / 2, wanted))));
  }

  get #kind(): 'alone' | 'shared' {
    return this.#rules.isShared() ? 'shared' : 'alone';
  }
}
