import { canonicalMtime } from '../wire/mtime.js';

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** Any form of a modification time as it is stored; undefined for what is none. */
export function mtimeOf(text: string): string | undefined {
  const canonical = canonicalMtime(text);
  return RFC3339.test(canonical) ? canonical : undefined;
}
