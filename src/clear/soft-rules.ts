/**
 * Rules of soft clearing for a page: whether it is replaced softly, and so not cleared hard, and how often.
 */
import type { PageKey, SoftRule } from '../db/clear/soft.js';
import { compileGlob, type PathTest } from '../lib/glob.js';
import type { TargetMap } from './target-map.js';

interface TargetRules {
  byUrl: Map<string, SoftRule>;
  patterns: { matches: PathTest; rule: SoftRule }[];
}

export class SoftRules {
  readonly #map: TargetMap;
  readonly #rules: readonly SoftRule[];
  readonly #byTarget = new Map<string, TargetRules>();

  constructor(rules: readonly SoftRule[], map: TargetMap) {
    this.#map = map;
    this.#rules = rules;
    for (const rule of rules) {
      const { url, target, isPattern } = rule;
      const of = this.#byTarget.get(target) ?? { byUrl: new Map<string, SoftRule>(), patterns: [] };
      this.#byTarget.set(target, of);
      if (isPattern === 0) of.byUrl.set(url, rule);
      else of.patterns.push({ matches: compileGlob(url), rule });
    }
  }

  /** True if an enabled rule of the page's target, or of a group above it, names the page. */
  isSoft(page: PageKey): boolean {
    return this.#of(page).some(({ enabled }) => enabled === 1);
  }

  /**
   * The shortest time between two generations of a page, the longest that a rule of its target or a group
   * above it says; 0 for a page that no rule names: it was published by name. `disabled`: it has rules, and
   * none of them is enabled.
   */
  intervalMs(page: PageKey): number | 'disabled' {
    const found = this.#of(page);
    const enabled = found.filter(rule => rule.enabled === 1);
    if (found.length > 0 && enabled.length === 0) return 'disabled';
    return Math.max(0, ...enabled.map(rule => rule.minIntervalMs));
  }

  /** The longest time between two generations that a rule says. */
  get longestIntervalMs(): number {
    return Math.max(0, ...this.#rules.map(rule => rule.minIntervalMs));
  }

  #of({ url, target }: PageKey): SoftRule[] {
    if (this.#byTarget.size === 0) return [];
    return [target, ...this.#map.groupsAbove(target)].flatMap(name => {
      const { byUrl, patterns = [] } = this.#byTarget.get(name) ?? {};
      const named = byUrl?.get(url);
      const matching = patterns.filter(({ matches }) => matches(url)).map(({ rule }) => rule);
      return named === undefined ? matching : [named, ...matching];
    });
  }
}
