/** Requests to ask again as a stream of urls on standard output, to be looked at. */
import { formatAttributes } from '../lib/xml/escape.js';
import type { Output } from '../lib/stdio.js';
import { STREAM_END, streamHead } from '../wire/url-stream.js';
import type { ScanRequest, ScanSink } from './types.js';

export class StdoutRequests implements ScanSink {
  readonly #out: Output;

  constructor(out: Output) {
    this.#out = out;
    out.write(streamHead({ from: 'lccscan', set: 'partial' }));
  }

  add(request: ScanRequest): void {
    this.#out.write(requestLine(request, true));
  }

  finish(): Promise<void> {
    this.#out.write(STREAM_END);
    this.#out.flush();
    return Promise.resolve();
  }
}

/** @param withPid whether the line says whose it is; a set says so itself */
export function requestLine({ pid, curl, mimetype, furl, hops }: ScanRequest, withPid: boolean): string {
  const attributes = { curl, mimetype, furl, hops };
  return `<url${formatAttributes(withPid ? { ...attributes, pid } : attributes)}/>\n`;
}
