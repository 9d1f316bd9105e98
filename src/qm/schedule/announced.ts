/**
 * How much of what a provider announces of its lengths comes: with errors, unchanged content and lies it is less. Announced
 * bytes keep others waiting, so those who announce too much are believed less each time.
 */

/** How slowly earlier fetches are forgotten. */
const FORGET = 0.8;

export class Announced {
  #announcedBytes = 0;
  #receivedBytes = 0;

  /** Bytes to expect of an announced length. */
  believed(len: number): number {
    return this.#announcedBytes === 0 ? len : len * (this.#receivedBytes / this.#announcedBytes);
  }

  /** `bytes` came of `len` announced ones. */
  heard(len: number, bytes: number): void {
    this.#announcedBytes = this.#announcedBytes * FORGET + len;
    this.#receivedBytes = this.#receivedBytes * FORGET + Math.min(bytes, len);
  }
}
