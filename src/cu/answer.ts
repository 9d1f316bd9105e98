/** Writing of one format into one sink: head, records, tail; the sink is asked for when the first of it is
 * there. */
import type { ColumnValue } from '../db/cache/fields.js';
import { Batch } from './batch.js';
import type { Format, FormatContext, Made, Writer } from './formats/types.js';
import type { EncodedSink, StreamSink } from './sink.js';

/** Records in the making at a time, in other threads: WARC is compressed 1.75 × as fast on two processors as
 * one after the other. */
const MAKING_MAX = 4;

export class Answer {
  readonly writer: Writer;
  readonly #format: Format;
  readonly #outer: () => StreamSink;
  readonly #batch: Pick<Batch, 'add' | 'flush'>;
  /** In their order; none of them is written before those ahead of it. */
  readonly #making: Promise<Made>[] = [];
  #sink: StreamSink | undefined;
  #encoded: EncodedSink | undefined;

  /** @param batch takes the records; default: one that writes them into the sink */
  constructor(
    format: Format,
    context: FormatContext,
    outer: () => StreamSink,
    batch?: Pick<Batch, 'add' | 'flush'>,
  ) {
    this.#format = format;
    this.#outer = outer;
    this.#batch = batch ?? new Batch(() => this.open());
    this.writer = format.open(context);
  }

  /** Begins the stream, were it without a record. */
  async open(): Promise<StreamSink> {
    if (this.#sink !== undefined) return this.#sink;
    this.#sink = this.#outer();
    if (this.#format.encode !== undefined) this.#sink = this.#encoded = this.#format.encode(this.#sink);
    if (this.writer.head !== undefined) await this.#sink.write(this.writer.head);
    return this.#sink;
  }

  /** Lines as they are. */
  addLines(bytes: Uint8Array): void | Promise<void> {
    return this.#batch.add(bytes);
  }

  /** @throws TypeError for a writer of lines */
  addRow(values: readonly ColumnValue[]): void | Promise<void> {
    if ('template' in this.writer) throw new TypeError('a format of lines makes no records of rows');
    const record = this.writer.record(values);
    if (record instanceof Promise) return this.#addLater(record);
    if (this.#making.length > 0) return this.#addAfter(record);
    return this.#addMade(record);
  }

  #addMade(record: Made): void | Promise<void> {
    // Records in one piece need no waiting unless it is time to write.
    if (typeof record === 'string' || record instanceof Uint8Array) return this.#batch.add(record);
    return this.#addParts(record);
  }

  async #addLater(record: Promise<Made>): Promise<void> {
    // Should it fail, that is met when it is its turn.
    record.catch(() => undefined);
    this.#making.push(record);
    await this.#writeMade(MAKING_MAX - 1);
  }

  async #addAfter(record: Made): Promise<void> {
    await this.#writeMade(0);
    await this.#addMade(record);
  }

  /** Until no more than `left` are in the making. */
  async #writeMade(left: number): Promise<void> {
    while (this.#making.length > left) await this.#addMade((await this.#making.shift()) ?? '');
  }

  async #addParts(parts: Exclude<Made, string | Uint8Array>): Promise<void> {
    if (Symbol.asyncIterator in parts) {
      for await (const part of parts) await this.#batch.add(part);
      return;
    }
    for (const part of parts) {
      const written = this.#batch.add(part);
      if (written !== undefined) await written;
    }
  }

  async flush(): Promise<void> {
    await this.#writeMade(0);
    await this.#batch.flush();
  }

  /** Ends a whole stream, where one was begun. @param reachedSeq all changes up to this number have been
   * written */
  async finish(reachedSeq: number): Promise<void> {
    await this.#writeMade(0);
    const tail = this.writer.tail?.(reachedSeq);
    if (this.#sink === undefined) return;
    if (tail !== undefined) await this.#batch.add(tail);
    await this.#batch.flush();
    await this.#encoded?.end();
  }

  /** Gives a stream up: it is left without an end. */
  destroy(): void {
    this.#encoded?.destroy();
  }
}
