/**
 * Keys that wait, each until its time, without looking at all of them: a table of cells, `gridMs` wide, as
 * far as `horizonMs` ahead; a key that has to wait longer stands under its hour (`horizonMs` wide) and gets
 * its cell when that begins. The cell that is due is kept in order, so the grid makes no key wait longer than
 * it has to.
 */
export interface DelayRules {
  gridMs: number;
  horizonMs: number;
}

interface Entry<K> {
  key: K;
  dueMs: number;
}

export class DelayTable<K> {
  readonly #entries = new Map<K, Entry<K>>();
  readonly #hours: Boxes<Entry<K>>;
  readonly #cells: Boxes<Entry<K>>;
  /** Entries due before the next cell begins, the last one first; replaced ones may be among them. */
  readonly #near: Entry<K>[] = [];
  #nowMs = 0;

  constructor(rules: DelayRules) {
    this.#hours = new Boxes(rules.horizonMs);
    this.#cells = new Boxes(rules.gridMs);
  }

  get size(): number {
    return this.#entries.size;
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  /** @returns undefined: it does not wait */
  dueMs(key: K): number | undefined {
    return this.#entries.get(key)?.dueMs;
  }

  /** The key waits until `dueMs` (monotonic), whatever it waited for before. */
  set(key: K, dueMs: number): void {
    this.delete(key);
    const entry = { key, dueMs };
    this.#entries.set(key, entry);
    if (!this.#hours.put(entry, this.#nowMs)) this.#place(entry);
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#hours.delete(entry);
    this.#cells.delete(entry);
  }

  /** Takes those out that have waited long enough, in the order of their times. */
  due(nowMs: number): K[] {
    this.#nowMs = Math.max(this.#nowMs, nowMs);
    for (const entry of this.#hours.begun(this.#nowMs)) this.#place(entry);
    for (const entry of this.#cells.begun(this.#nowMs)) this.#insert(entry);
    const keys: K[] = [];
    for (let next = this.#next(); next !== undefined && next.dueMs <= nowMs; next = this.#next()) {
      this.#near.pop();
      this.#entries.delete(next.key);
      keys.push(next.key);
    }
    return keys;
  }

  /** When `due` is worth asking again; undefined when nobody waits. */
  nextMs(): number | undefined {
    if (this.#entries.size === 0) return undefined;
    return Math.min(this.#next()?.dueMs ?? Infinity, this.#cells.nextMs, this.#hours.nextMs);
  }

  /** When the first one has waited long enough; undefined when nobody waits. Looks at all that wait for the
   * same cell. */
  soonestMs(): number | undefined {
    return this.#next()?.dueMs ?? this.#cells.soonestMs() ?? this.#hours.soonestMs();
  }

  /** Each key that waits, with its time. */
  *entries(): Generator<[K, number], void, undefined> {
    for (const { key, dueMs } of this.#entries.values()) yield [key, dueMs];
  }

  #place(entry: Entry<K>): void {
    if (!this.#cells.put(entry, this.#nowMs)) this.#insert(entry);
  }

  #insert(entry: Entry<K>): void {
    let from = 0;
    let to = this.#near.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#near[middle]?.dueMs ?? 0) > entry.dueMs) from = middle + 1;
      else to = middle;
    }
    this.#near.splice(from, 0, entry);
  }

  #next(): Entry<K> | undefined {
    for (;;) {
      const last = this.#near.at(-1);
      if (last === undefined || this.#entries.get(last.key) === last) return last;
      this.#near.pop();
    }
  }
}

/** Entries by the stretch of time that they are due in. */
class Boxes<E extends { dueMs: number }> {
  readonly #widthMs: number;
  readonly #boxes = new Map<number, Set<E>>();
  /** No box begins before. */
  nextMs = Infinity;

  constructor(widthMs: number) {
    this.#widthMs = widthMs;
  }

  /** @returns false when the box of its time has begun already */
  put(entry: E, nowMs: number): boolean {
    const index = Math.floor(entry.dueMs / this.#widthMs);
    const beginMs = index * this.#widthMs;
    if (beginMs <= nowMs) return false;
    const box = this.#boxes.get(index);
    if (box === undefined) this.#boxes.set(index, new Set([entry]));
    else box.add(entry);
    this.nextMs = Math.min(this.nextMs, beginMs);
    return true;
  }

  delete(entry: E): void {
    this.#boxes.get(Math.floor(entry.dueMs / this.#widthMs))?.delete(entry);
  }

  soonestMs(): number | undefined {
    let first: [number, Set<E>] | undefined;
    for (const box of this.#boxes)
      if (box[1].size > 0 && (first === undefined || box[0] < first[0])) first = box;
    if (first === undefined) return undefined;
    let soonestMs = Infinity;
    for (const { dueMs } of first[1]) soonestMs = Math.min(soonestMs, dueMs);
    return soonestMs;
  }

  /** Empties the boxes that have begun. */
  begun(nowMs: number): E[] {
    if (this.nextMs > nowMs) return [];
    const entries: E[] = [];
    this.nextMs = Infinity;
    for (const [index, box] of this.#boxes) {
      const beginMs = index * this.#widthMs;
      if (beginMs > nowMs) {
        this.nextMs = Math.min(this.nextMs, beginMs);
      } else {
        this.#boxes.delete(index);
        for (const entry of box) entries.push(entry);
      }
    }
    return entries;
  }
}
