/** Puts small pieces together, so that a stream of short records is not a stream of short writes. */
import type { StreamSink } from './sink.js';

/** Enough that a write costs nothing beside what is in it; a pipe of Linux holds as much. */
const BATCH_LENGTH = 64 * 1024;
/** A unit of a string becomes three bytes of UTF-8 at most. */
const UNIT_BYTES = 3;

export class Batch {
  readonly #sink: () => Promise<StreamSink>;
  /** What there is: bytes end to end, then text. Text is made bytes when bytes follow, where there is always room. */
  readonly #bytes = Buffer.allocUnsafeSlow((2 + UNIT_BYTES) * BATCH_LENGTH);
  #used = 0;
  #text = '';
  #length = 0;

  /** @param sink asked for with the first write */
  constructor(sink: () => Promise<StreamSink>) {
    this.#sink = sink;
  }

  /** Adds a piece; a promise when it was time to write. Bytes are their owner's again afterwards. */
  add(part: string | Uint8Array): void | Promise<void> {
    if (typeof part === 'string') {
      this.#text += part;
    } else {
      if (part.length >= BATCH_LENGTH) return this.#writeThrough(part);
      this.#encodeText();
      this.#bytes.set(part, this.#used);
      this.#used += part.length;
    }
    this.#length += part.length;
    if (this.#length >= BATCH_LENGTH) return this.flush();
  }

  async flush(): Promise<void> {
    if (this.#length === 0) return;
    if (this.#used > 0) this.#encodeText();
    const chunk = this.#used > 0 ? this.#bytes.subarray(0, this.#used) : this.#text;
    this.#text = '';
    this.#length = 0;
    await (await this.#sink()).write(chunk);
    this.#used = 0;
  }

  #encodeText(): void {
    if (this.#text === '') return;
    this.#used += this.#bytes.write(this.#text, this.#used);
    this.#text = '';
  }

  async #writeThrough(bytes: Uint8Array): Promise<void> {
    await this.flush();
    await (await this.#sink()).write(bytes);
  }
}
