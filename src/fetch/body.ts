/** The body of an answer on its way to where it is wanted: decoded, counted, bounded. */
import { messageOf } from '../lib/errors.js';
import { decodeInOneGo, Decoder, ONE_GO_BYTES, type Coded, type Coding } from './decode.js';
import { fail, type FetchFailure } from './failure.js';
import type { Sink } from './sink.js';
import { SmallPieces } from './small-pieces.js';

interface BodyEvents {
  /** The decoder has enough for now; write nothing more until `onReady` if that can be helped. */
  onFull(): void;
  onReady(): void;
  /** All of it has been taken. */
  onWhole(): void;
  /** As much of it as may be has been taken, there is more: nothing comes after this. */
  onCut(): void;
  onFailure(failure: FetchFailure): void;
}

interface BodyOptions {
  coding: Coding;
  sink: Sink;
  /** Limit on the content, decoded. */
  maxBytes: number;
  /** The limit for the message that refuses. */
  limitText: string;
  /** True if the beginning of content beyond the limit is taken; otherwise such content is a failure. */
  isCut: boolean;
  /** Nothing but the end of the connection says where the body ends. */
  endsByClose: boolean;
}

export class Body {
  readonly #options: BodyOptions;
  readonly #events: BodyEvents;
  readonly #pieces = new SmallPieces(piece => this.#take(piece));
  #flushesSoon = false;
  #coded: Uint8Array[] = [];
  #codedBytes = 0;
  #decoder: Decoder | undefined;
  #ended = false;
  #decoded = false;
  #over = false;

  constructor(options: BodyOptions, events: BodyEvents) {
    this.#options = options;
    this.#events = events;
  }

  write(chunk: Uint8Array): void {
    if (this.#over) return;
    this.#pieces.write(chunk);
    if (this.#pieces.areEmpty || this.#flushesSoon) return;
    this.#flushesSoon = true;
    // Pieces of one read of the socket are put together, and nothing waits for the next one.
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    this.#flushesSoon = false;
    try {
      this.#pieces.flush();
    } catch (error) {
      // No caller is there to catch it.
      this.#fail(fail('bug', messageOf(error)));
    }
  }

  #take(chunk: Uint8Array): void {
    if (this.#over) return;
    if (this.#options.coding === 'identity') {
      this.#store(chunk);
      return;
    }
    if (this.#decoder !== undefined) {
      if (!this.#decoded) this.#decode(this.#decoder, chunk);
    } else {
      this.#codedBytes += chunk.length;
      this.#coded.push(chunk);
      if (this.#codedBytes > ONE_GO_BYTES) this.#stream();
    }
  }

  /** The answer is complete. */
  end(): void {
    const { coding } = this.#options;
    this.#pieces.flush();
    if (this.#over) return;
    this.#ended = true;
    if (coding === 'identity' || this.#decoded) this.#whole();
    else if (this.#decoder !== undefined) this.#decoder.end();
    else this.#decodeSmall(coding);
  }

  destroy(): void {
    this.#over = true;
    this.#coded = [];
    this.#decoder?.destroy();
  }

  #decodeSmall(coding: Coded): void {
    const [only] = this.#coded;
    const all = this.#coded.length === 1 && only !== undefined ? only : Buffer.concat(this.#coded);
    if (all.length === 0) {
      // A coding of nothing is not valid, but servers send it for empty pages; they say that nothing comes.
      if (this.#options.endsByClose) this.#fail(fail('cut', 'the connection ended before the body'));
      else this.#whole();
      return;
    }
    let content: Buffer | undefined;
    try {
      content = decodeInOneGo(coding, all);
    } catch (error) {
      this.#malformed(error);
      return;
    }
    if (content === undefined) {
      this.#stream()?.end();
      return;
    }
    this.#store(content);
    if (!this.#over) this.#whole();
  }

  #stream(): Decoder | undefined {
    const { coding } = this.#options;
    if (coding === 'identity') return undefined;
    const decoder = new Decoder(coding, {
      data: chunk => this.#store(chunk),
      end: () => this.#whole(),
      drain: () => this.#events.onReady(),
      error: error => this.#malformed(error),
    });
    this.#decoder = decoder;
    const coded = this.#coded;
    this.#coded = [];
    for (const chunk of coded) this.#decode(decoder, chunk);
    return decoder;
  }

  #decode(decoder: Decoder, chunk: Uint8Array): void {
    if (!decoder.write(chunk)) this.#events.onFull();
  }

  #store(chunk: Uint8Array): void {
    const { sink, maxBytes, isCut } = this.#options;
    if (this.#over || chunk.length === 0) return;
    const room = maxBytes - sink.length;
    const isTooLarge = chunk.length > room;
    if (isTooLarge && !isCut) {
      this.#tooLarge();
      return;
    }
    try {
      if (!isTooLarge) sink.write(chunk);
      else if (room > 0) sink.write(chunk.subarray(0, room));
    } catch (error) {
      this.#fail({ kind: 'sink', error });
      return;
    }
    if (!isTooLarge) return;
    this.destroy();
    this.#events.onCut();
  }

  #whole(): void {
    this.#decoded = true;
    // A decoder is through at the end of its format, bytes may follow that belong to nothing: they are waited
    // for.
    if (this.#over) return;
    if (!this.#ended) {
      this.#events.onReady();
      return;
    }
    this.#over = true;
    this.#events.onWhole();
  }

  #tooLarge(): void {
    this.#fail(fail('too-large', `more than ${this.#options.limitText}`));
  }

  #malformed(error: unknown): void {
    this.#fail(fail('coding', `content coding ${this.#options.coding}: ${messageOf(error)}`));
  }

  #fail(reason: FetchFailure): void {
    this.destroy();
    this.#events.onFailure(reason);
  }
}
