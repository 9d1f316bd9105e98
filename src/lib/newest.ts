/** Maps that keep the newest entries: a key that is set again is the newest. */

/** Sets `key` as the newest; the oldest goes if there are more than `most` then. */
export function setNewest<K, V>(map: Map<K, V>, key: K, value: V, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
