/** As a Fifo, but any of them is first. */
export class Bag<T> {
  readonly #items: T[] = [];
  readonly #random: () => number;

  /** @param random from 0 to 1, as Math.random */
  constructor(random: () => number) {
    this.#random = random;
  }

  get length(): number {
    return this.#items.length;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Takes one of them, each as likely as any other; undefined when there is none. */
  shift(): T | undefined {
    const items = this.#items;
    const at = Math.floor(this.#random() * items.length);
    const last = items.pop();
    if (last === undefined || at >= items.length) return last;
    const taken = items[at];
    items[at] = last;
    return taken;
  }
}
