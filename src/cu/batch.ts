/** Puts small pieces together, so that a stream of short records is not a stream of short writes. */
import type { Sink } from './sink.js';

/** Enough that a write costs nothing beside what is in it; a pipe of Linux holds as much. */
const BATCH_LENGTH = 64 * 1024;

export class Batch {
  readonly #sink: () => Promise<Sink>;
  #parts: (string | Uint8Array)[] = [];
  #length = 0;
  /** What bytes are copied to, end to end: those that follow each other are one part. */
  readonly #bytes = Buffer.allocUnsafeSlow(2 * BATCH_LENGTH);
  #used = 0;

  /** @param sink asked for with the first write */
  constructor(sink: () => Promise<Sink>) {
    this.#sink = sink;
  }

  /** Adds a piece; a promise when it was time to write. Bytes are their owner's again afterwards. */
  add(part: string | Uint8Array): void | Promise<void> {
    if (typeof part === 'string') {
      const last = this.#parts.length - 1;
      const before = this.#parts[last];
      if (typeof before === 'string') this.#parts[last] = before + part;
      else if (part !== '') this.#parts.push(part);
    } else if (part.length >= BATCH_LENGTH) {
      return this.#writeThrough(part);
    } else if (part.length > 0) {
      this.#addCopy(part);
    }
    this.#length += part.length;
    if (this.#length >= BATCH_LENGTH) return this.flush();
  }

  async flush(): Promise<void> {
    const [first, ...more] = this.#parts;
    if (first === undefined) return;
    const chunk = more.length === 0 ? first : Buffer.concat(this.#parts.map(bytesOf));
    this.#parts = [];
    this.#length = 0;
    await (await this.#sink()).write(chunk);
    this.#used = 0;
  }

  #addCopy(part: Uint8Array): void {
    const last = this.#parts.length - 1;
    const before = this.#parts[last];
    const follows = before instanceof Uint8Array;
    const from = this.#used - (follows ? before.length : 0);
    this.#bytes.set(part, this.#used);
    this.#used += part.length;
    this.#parts[follows ? last : last + 1] = this.#bytes.subarray(from, this.#used);
  }

  async #writeThrough(bytes: Uint8Array): Promise<void> {
    await this.flush();
    await (await this.#sink()).write(bytes);
  }
}

function bytesOf(part: string | Uint8Array): Uint8Array {
  return typeof part === 'string' ? Buffer.from(part) : part;
}
