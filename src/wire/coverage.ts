/**
 * How much of a site a list names: all of it; a part, because something of the list could not be read; or a
 * window, as lists of what is new are. A url that a list does not name is gone only where the list names all.
 */
export type Coverage = 'all' | 'part' | 'window';

/** Coverage of two lists that are read as one. */
export function together(one: Coverage, other: Coverage): Coverage {
  if (one === 'part' || other === 'part') return 'part';
  return one === 'window' ? one : other;
}

/** True if urls that it does not name may be deleted. */
export function mayDelete(coverage: Coverage): boolean {
  return coverage === 'all';
}
