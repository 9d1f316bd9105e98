/** Work done one after the other for each key, in the order in which it was asked for; other keys do not
 * wait. */
export class KeyedLock<K> {
  /** The promise that the next one of a key waits for. */
  readonly #last = new Map<K, Promise<void>>();

  /** Resolves when everybody before has released the key. @returns releases it; must be called */
  async take(key: K): Promise<() => void> {
    const before = this.#last.get(key) ?? Promise.resolve();
    let free = () => {};
    const mine = new Promise<void>(resolve => (free = resolve));
    const chain = before.then(() => mine);
    this.#last.set(key, chain);
    await before;
    return () => {
      free();
      if (this.#last.get(key) === chain) this.#last.delete(key);
    };
  }

  /** Keys that are taken. */
  get size(): number {
    return this.#last.size;
  }
}
