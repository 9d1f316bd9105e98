/** Patterns of paths and urls: `*` stands for characters of one segment, `**` for any. */

const STAR = 1;
const GLOBSTAR = 2;

export type PathTest = (path: string) => boolean;

/** Compiles a pattern. A path of n characters is tested in about n steps for each `**` of the pattern. */
export function compileGlob(pattern: string): PathTest {
  const parts = (pattern.match(/\*+|[^*]/gs) ?? []).map(part =>
    part === '*' ? STAR : part.startsWith('*') ? GLOBSTAR : part,
  );
  return path => matches(parts, path);
}

/** Goes on greedily, and back to the last star that can take one more character; what an earlier one took
 * never has to be looked at again: the later one can take whatever the earlier one would. */
function matches(parts: readonly (string | number)[], path: string): boolean {
  let at = 0;
  let part = 0;
  let star = { part: -1, at: 0 };
  let globstar = { part: -1, at: 0 };
  while (at < path.length) {
    if (parts[part] === GLOBSTAR) {
      globstar = { part: part++, at };
      star = { part: -1, at: 0 };
    } else if (parts[part] === STAR) {
      star = { part: part++, at };
    } else if (parts[part] === path[at]) {
      part++;
      at++;
    } else if (star.part >= 0 && path[star.at] !== '/') {
      at = ++star.at;
      part = star.part + 1;
    } else if (globstar.part >= 0) {
      at = ++globstar.at;
      part = globstar.part + 1;
      star = { part: -1, at: 0 };
    } else return false;
  }
  while (typeof parts[part] === 'number') part++;
  return part === parts.length;
}
