/** Targets, paths and rules as values. */
import { SoftRules } from '../../src/clear/soft-rules.js';
import { TargetMap } from '../../src/clear/target-map.js';
import type { PathRow, TargetRow } from '../../src/db/clear/targets.js';

/** @param tree group → members; all other names are elementary @param paths `type target path extension` @param ofCaches targets whose rails are all caches */
export function mapOf(
  tree: Record<string, readonly string[]>,
  paths: readonly string[] = [],
  ofCaches: readonly string[] = [],
): TargetMap {
  const names = new Set([...Object.keys(tree), ...Object.values(tree).flat()]);
  const targets = [...names].map((name): TargetRow => ({
    name,
    kind: name in tree ? 'group' : 'elementary',
    lbUrl: null,
    host: null,
  }));
  const members = Object.entries(tree).flatMap(([target, all]) => all.map(member => ({ target, member })));
  const rows = paths.map((text): PathRow => {
    const [contentType = '', target = '', path = '', extension = ''] = text.split(' ');
    return { contentType, target, path, extension };
  });
  return new TargetMap(targets, members, rows, ofCaches);
}

/** @param rules `target url`; with a star a pattern, with a dash before it not enabled */
export function softRulesOf(map: TargetMap, ...rules: string[]): SoftRules {
  return new SoftRules(
    rules.map(text => {
      const [target = '', url = ''] = text.replace(/^-/, '').split(' ');
      const [isPattern, enabled] = [text.includes('*') ? 1 : 0, text.startsWith('-') ? 0 : 1] as const;
      return { target, url, isPattern, enabled, minIntervalMs: 0 };
    }),
    map,
  );
}
