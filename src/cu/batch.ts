/** Puts small pieces together, so that a stream of short records is not a stream of short writes. */
import type { StreamSink } from './sink.js';

/** Enough that a write costs nothing beside what is in it; a pipe of Linux holds as much. */
const BATCH_LENGTH = 64 * 1024;

export class Batch {
  readonly #sink: () => Promise<StreamSink>;
  #pieces: Uint8Array[] = [];
  #length = 0;

  /** @param sink asked for with the first write */
  constructor(sink: () => Promise<StreamSink>) {
    this.#sink = sink;
  }

  /** Adds a piece; a promise when it was time to write. Bytes are their owner's again afterwards. */
  add(part: string | Uint8Array): void | Promise<void> {
    if (typeof part !== 'string' && part.length >= BATCH_LENGTH) return this.#writeThrough(part);
    this.#pieces.push(typeof part === 'string' ? Buffer.from(part) : Buffer.from(part));
    this.#length += part.length;
    if (this.#length >= BATCH_LENGTH) return this.flush();
  }

  async flush(): Promise<void> {
    if (this.#length === 0) return;
    const chunk = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#length = 0;
    await (await this.#sink()).write(chunk);
  }

  async #writeThrough(bytes: Uint8Array): Promise<void> {
    await this.flush();
    await (await this.#sink()).write(bytes);
  }
}
