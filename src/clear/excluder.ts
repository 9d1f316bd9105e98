/** Which pages of which elementary targets are not cleared hard, because they are replaced softly. */
import type { SoftRule } from '../db/clear/soft.js';
import { compileGlob, type PathTest } from '../lib/glob.js';
import type { TargetPage } from './resolve.js';
import type { TargetMap } from './target-map.js';

export class Excluder {
  readonly #map: TargetMap;
  readonly #exact = new Map<string, Set<string>>();
  readonly #patterns = new Map<string, PathTest[]>();

  constructor(rules: readonly SoftRule[], map: TargetMap) {
    this.#map = map;
    for (const { url, target, isPattern, enabled } of rules) {
      if (enabled === 0) continue;
      if (isPattern === 0) this.#exact.set(target, (this.#exact.get(target) ?? new Set()).add(url));
      else this.#patterns.set(target, [...(this.#patterns.get(target) ?? []), compileGlob(url)]);
    }
  }

  /** Whether a rule of the page's target, or of a group above it, names the page. */
  isSoft({ target, url }: TargetPage): boolean {
    if (this.#exact.size === 0 && this.#patterns.size === 0) return false;
    return [target, ...this.#map.groupsAbove(target)].some(
      name =>
        this.#exact.get(name)?.has(url) === true ||
        this.#patterns.get(name)?.some(matches => matches(url)) === true,
    );
  }
}
