/** The rest of an answer whose outcome is known already (an error status, a redirect): a short one is read,
 * to keep the connection. A cut or a deadline there changes nothing about the outcome. */
import type { Method } from './job.js';
import type { ResponseHead } from './head.js';

const DRAINED_BYTES = 64 * 1024;

export class Drain {
  /** Called once it is over. */
  readonly next: () => void;
  #bytes = 0;

  constructor(next: () => void) {
    this.next = next;
  }

  /** Counts what has come. @returns whether it is more than is read */
  isTooMuch(bytes: number): boolean {
    this.#bytes += bytes;
    return this.#bytes > DRAINED_BYTES;
  }
}

/** True if the rest is read at all: it has an end, and a near one. */
export function isWorthReading(head: ResponseHead, method: Method): boolean {
  const bodiless = head.status === 204 || head.status === 304 || method === 'HEAD';
  return bodiless || (!head.endsByClose && (head.contentLength ?? 0) <= DRAINED_BYTES);
}
