/** Links as a stream of urls on standard output, for who delivers them in another way. */
import type { Output } from '../lib/stdio.js';
import { STREAM_END, streamHead } from '../wire/url-stream.js';
import { linkLine } from './link-line.js';
import type { FoundLink, LinksSink } from './options.js';

export class StdoutLinks implements LinksSink {
  readonly #out: Output;

  constructor(out: Output) {
    this.#out = out;
    out.write(streamHead({ from: 'lcclinks', set: 'partial' }));
  }

  add(link: FoundLink): void {
    this.#out.write(linkLine(link, true));
  }

  /** Only the door can say so: from anywhere else it would be a deletion that nobody asked for. */
  unwanted(): void {}

  finish(): Promise<void> {
    this.#out.write(STREAM_END);
    this.#out.flush();
    return Promise.resolve();
  }
}
