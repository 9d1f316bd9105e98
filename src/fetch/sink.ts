/** Where the content of an answer goes: into memory, to somebody who wants it piece by piece, or into a file
 * (file-sink.ts). */
import { createHash, type Hash } from 'node:crypto';

export interface Sink {
  /** Bytes so far. */
  readonly length: number;
  /**
   * Takes the next bytes, decoded; they do not change afterwards. @throws whatever keeps it from taking them
   */
  write(chunk: Uint8Array): void;
  /**
   * All has come. `done` is called once, maybe before this returns: with the md5 in lower-case hex, and with
   * the error when the content could not be kept. Content that has another md5 than `expected` is not to be
   * kept; that is no error.
   */
  finish(expected: string | undefined, done: (error: unknown, md5: string) => void): void;
  /** The content that came is forgotten, and begins again; false where it has been given away. Not after
   * `finish`. */
  restart(): boolean;
  /** The content does not count. At any time, also after `finish`, and more than once. */
  discard(): void;
}

/** Gives each piece on as it comes. What was given counts only if the fetch ends well. */
export class CallbackSink implements Sink {
  readonly #take: (chunk: Uint8Array) => void;
  readonly #forget: (() => void) | undefined;
  #hash: Hash | undefined;
  #length = 0;

  /**
   * @param take what it throws ends the fetch @param takesMd5 else the md5 is ''; it costs more than a small
   * answer @param forget takes back what was given
   */
  constructor(take: (chunk: Uint8Array) => void, takesMd5 = true, forget?: () => void) {
    this.#take = take;
    this.#forget = forget;
    if (takesMd5) this.#hash = createHash('md5');
  }

  get length(): number {
    return this.#length;
  }

  write(chunk: Uint8Array): void {
    this.#length += chunk.length;
    this.#hash?.update(chunk);
    this.#take(chunk);
  }

  finish(_expected: string | undefined, done: (error: unknown, md5: string) => void): void {
    done(undefined, this.#hash?.digest('hex') ?? '');
  }

  restart(): boolean {
    if (this.#length > 0 && this.#forget === undefined) return false;
    this.#forget?.();
    this.#length = 0;
    if (this.#hash !== undefined) this.#hash = createHash('md5');
    return true;
  }

  discard(): void {
    // The content has been given away; the outcome says that it does not count.
  }
}

/** Keeps the content. */
export class MemorySink extends CallbackSink {
  readonly #chunks: Uint8Array[];

  /** @param takesMd5 else the md5 is '' */
  constructor(takesMd5 = true) {
    const chunks: Uint8Array[] = [];
    super(
      chunk => void chunks.push(chunk),
      takesMd5,
      () => (chunks.length = 0),
    );
    this.#chunks = chunks;
  }

  /** The bytes that have come. */
  bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  override discard(): void {
    this.#chunks.length = 0;
  }
}
