/** Mimetypes against patterns: `type/subtype`, `type/*` or `*` + `/*`, letters equal whatever their case. */

type Matcher = (mimetype: string) => boolean;

/** The last one made: consecutive urls are mostly compared with the same patterns. */
let last: { text: string; matches: Matcher } | undefined;

export function mimeMatcher(patterns: readonly string[]): Matcher {
  const text = patterns.join(' ');
  if (last?.text !== text) last = { text, matches: newMatcher(patterns) };
  return last.matches;
}

function newMatcher(patterns: readonly string[]): Matcher {
  const exact = new Set<string>();
  const types = new Set<string>();
  for (const pattern of patterns.map(each => each.toLowerCase())) {
    if (pattern.endsWith('/*')) types.add(pattern.slice(0, -2));
    else exact.add(pattern);
  }
  return mimetype => {
    const name = mimetype.toLowerCase();
    return types.has('*') || types.has(name.slice(0, name.indexOf('/'))) || exact.has(name);
  };
}
