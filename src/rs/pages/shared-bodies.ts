/** Contents of pages, made once for as long as the answers of the Queue Manager that they show are the same ones. */
import { textOf, type Markup } from './layout.js';

interface Body {
  from: readonly object[];
  key: string;
  /** As they are sent: encoding many rows costs more than all the rest of an answer. */
  bytes: Buffer;
}

export class SharedBodies {
  /** Goes with its first answer: what is kept of those bounds what is kept of these. */
  readonly #bodies = new WeakMap<object, Body>();

  /**
   * @param from answers that it shows, as they came; the first one belongs to this page alone
   * @param key all else that it depends on, but the time
   */
  of(from: readonly [object, ...object[]], key: string, make: () => Markup): Buffer {
    const known = this.#bodies.get(from[0]);
    if (known?.key === key && known.from.every((part, i) => part === from[i])) return known.bytes;
    const bytes = Buffer.from(textOf(make()));
    this.#bodies.set(from[0], { from, key, bytes });
    return bytes;
  }
}
