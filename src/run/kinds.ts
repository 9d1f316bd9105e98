/** Which daemon a name is of: there may be several of a kind, `lccd-uns` and `lccd-uns-west`. */

export function isOfKind(name: string, kind: string): boolean {
  // There is one lccd itself; the other daemons have names that begin like it.
  return name === kind || (kind !== 'lccd' && name.startsWith(`${kind}-`));
}

/** The place of a name in an order of kinds; after all of them when it is of none. */
export function rankOf(name: string, kinds: readonly string[]): number {
  const at = kinds.findIndex(kind => isOfKind(name, kind));
  return at < 0 ? kinds.length : at;
}

/** Whether it is the name of a UNS. */
export function isUns(name: string): boolean {
  return isOfKind(name, 'lccd-uns');
}
