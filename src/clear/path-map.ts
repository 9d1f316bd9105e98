/** The map of paths: where contents of a type lie on an elementary target, and which paths it has at all. */
import type { PathRow } from '../db/clear/targets.js';
import { isBelow, spellingsOf } from './page-url.js';
import { INDEX_TYPE, type TargetMap } from './target-map.js';

/** The content type's own paths, else those of the target that was asked for, else those of the nearest group
 * above that has any. */
export function pathsFor(
  map: TargetMap,
  contentType: string,
  { elementary, asked }: { elementary: string; asked: string },
): readonly PathRow[] {
  for (const target of [elementary, asked, ...map.groupsAbove(elementary)]) {
    const rows = map.pathsOf(contentType, target);
    if (rows !== undefined) return rows;
  }
  return [];
}

/** True if a page is below a path of an elementary target, or of a group above it, of any type. */
export function isOnPath(map: TargetMap, elementary: string, url: string): boolean {
  return [elementary, ...map.groupsAbove(elementary)].some(name =>
    map.allPathsOf(name).some(path => isBelow(url, path)),
  );
}

/** The files that the page of a folder is on an elementary target; none where that is not set up. */
export function indexesOf(
  map: TargetMap,
  folder: string,
  scope: { elementary: string; asked: string },
): string[] {
  const rows = pathsFor(map, INDEX_TYPE, scope).filter(({ path }) => isBelow(folder, path));
  return [...new Set(rows.map(({ extension }) => folder + extension))];
}

/** Other paths under which caches have a page, too: its folder, and other ways to write either. */
export function alsoOnCaches(map: TargetMap, elementary: string, url: string): string[] {
  const folder = folderOf(map, elementary, url);
  const folders = folder === undefined ? [] : [folder];
  return [...folders, ...[url, ...folders].flatMap(spellingsOf)];
}

/** The folder whose page a file is on an elementary target. */
function folderOf(map: TargetMap, elementary: string, url: string): string | undefined {
  if (!map.hasIndexes) return undefined;
  const folder = url.replace(/[^/]*$/, '');
  return indexesOf(map, folder, { elementary, asked: elementary }).includes(url) ? folder : undefined;
}
