/** Contents of pages, made once for as long as the answers of the Queue Manager that they show are the same ones. */
import { filled, textOf, type Markup } from './layout.js';

interface Body {
  from: readonly object[];
  key: string;
  /** As they are sent: encoding many rows costs more than all the rest of an answer. */
  bytes: Buffer;
  /** The whole page for the one who looked last. */
  page?: { reader: string; bytes: Uint8Array<ArrayBuffer> };
}

/** What a page shows, and whom. */
export interface SharedPage {
  /** Answers that it shows, as they came; the first one belongs to this page alone. */
  from: readonly [object, ...object[]];
  /** All else that the content depends on, but the time. */
  key: string;
  make: () => Markup;
  /** All that the frame depends on, as text: two readers of one provider have a form token each. */
  reader: string;
  /** The frame, with a place for the content. */
  around: () => string;
}

export class SharedBodies {
  /** Goes with its first answer: what is kept of those bounds what is kept of these. */
  readonly #bodies = new WeakMap<object, Body>();

  /** The whole page, which nobody may change. */
  pageOf({ from, key, make, reader, around }: SharedPage): Uint8Array<ArrayBuffer> {
    const body = this.#bodyOf(from, key, make);
    if (body.page?.reader !== reader) body.page = { reader, bytes: filled(around(), body.bytes) };
    return body.page.bytes;
  }

  #bodyOf(from: SharedPage['from'], key: string, make: () => Markup): Body {
    const known = this.#bodies.get(from[0]);
    if (known?.key === key && known.from.every((part, i) => part === from[i])) return known;
    const body = { from, key, bytes: Buffer.from(textOf(make())) };
    this.#bodies.set(from[0], body);
    return body;
  }
}
