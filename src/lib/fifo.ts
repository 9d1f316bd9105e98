/** First in, first out, however many wait: taking the first of a long array moves all the others. */
export class Fifo<T> {
  /** From `#head` on; what is before it has been taken. */
  #items: (T | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    // An array grown from nothing has room for 17.
    if (this.#items.length === 0) this.#items = [item];
    else this.#items.push(item);
  }

  /** The first, which stays; undefined when there is none. */
  peek(): T | undefined {
    return this.#items[this.#head];
  }

  /** Takes the first; undefined when there is none. */
  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.#head === this.#items.length) this.#restart([]);
    else if (this.#head >= 1024 && this.#head * 2 >= this.#items.length) this.#restart(this.toArray());
    return item;
  }

  /** All, in order. */
  toArray(): T[] {
    return this.#items.slice(this.#head) as T[];
  }

  /** Keeps only these, in order. */
  retain(wanted: (item: T) => boolean): void {
    this.#restart(this.toArray().filter(wanted));
  }

  #restart(items: T[]): void {
    this.#items = items;
    this.#head = 0;
  }
}
