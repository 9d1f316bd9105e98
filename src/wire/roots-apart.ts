/** The roots of a provider, by the lists that name their pages: one for each host, from the directory around
 * its roots. */

interface RootsPart {
  host: string;
  urlprefix: string;
  /** Directories below the prefix, by their names on the disk; none: all of it. */
  dirs: string[];
}

/**
 * The latter of two roots that differ by http and https alone; the outer one of two that lie in each other.
 * @param roots directories, as parsers write them
 */
export function rootsApart(roots: readonly string[]): RootsPart[] {
  const secured = (root: string) => root.replace(/^http:/, 'https:');
  const latter = roots.filter(root => secured(root) === root || !roots.includes(secured(root)));
  const outer = latter.filter(root => !latter.some(other => other !== root && root.startsWith(other)));
  const byHost = new Map<string, string[]>();
  for (const root of outer.toSorted()) {
    const { origin } = new URL(root);
    byHost.set(origin, [...(byHost.get(origin) ?? []), root]);
  }
  return [...byHost].map(([origin, own]) => partOf(new URL(origin).host, own));
}

function partOf(host: string, roots: readonly string[]): RootsPart {
  const [first = ''] = roots;
  if (roots.length === 1) return { host, urlprefix: first, dirs: [] };
  let urlprefix = first;
  while (!roots.every(root => root.startsWith(urlprefix))) urlprefix = urlprefix.replace(/[^/]*\/$/, '');
  return { host, urlprefix, dirs: roots.map(root => decoded(root.slice(urlprefix.length, -1))) };
}

/** Bytes that are no UTF-8 stay as they are. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
