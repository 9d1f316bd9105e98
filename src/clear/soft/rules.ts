/** What the rules of soft clearing say of a page that was published. */
import type { PageKey, SoftRule } from '../../db/clear/soft.js';
import { compileGlob, type PathTest } from '../../lib/glob.js';
import type { TargetMap } from '../target-map.js';

export class SoftRules {
  readonly #map: TargetMap;
  readonly #byTarget = new Map<string, { matches: PathTest; rule: SoftRule }[]>();

  constructor(rules: readonly SoftRule[], map: TargetMap) {
    this.#map = map;
    for (const rule of rules) {
      const matches = rule.isPattern === 1 ? compileGlob(rule.url) : (url: string) => url === rule.url;
      const others = this.#byTarget.get(rule.target) ?? [];
      this.#byTarget.set(rule.target, [...others, { matches, rule }]);
    }
  }

  /**
   * The shortest time between two generations of a page, the longest that a rule of its target or a group above it says; 0 for a
   * page that no rule names: it was published by name. `disabled`: it has rules, and none of them is enabled.
   */
  intervalMs({ url, target }: PageKey): number | 'disabled' {
    const found = [target, ...this.#map.groupsAbove(target)].flatMap(name =>
      (this.#byTarget.get(name) ?? []).filter(({ matches }) => matches(url)).map(({ rule }) => rule),
    );
    const enabled = found.filter(rule => rule.enabled === 1);
    if (found.length > 0 && enabled.length === 0) return 'disabled';
    return Math.max(0, ...enabled.map(rule => rule.minIntervalMs));
  }
}
