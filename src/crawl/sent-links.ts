/** Links that were sent a moment ago, or texts of links: a page's navigation is on every page of its site. A
 * newer one takes an older one's place. */
export class SentLinks {
  readonly #hashes: Uint32Array;
  readonly #mask: number;

  /** @param places a power of two, 8 bytes each */
  constructor(places: number) {
    this.#hashes = new Uint32Array(2 * places);
    this.#mask = places - 1;
  }

  /** True if a link was sent, as far as is remembered; from now on it was. */
  wasSent(curl: string): boolean {
    // Two hashes of 32 bits (MurmurHash3's mixing): the chance that two urls have both is 1 to 2^64.
    let one = 0xdeadbeef ^ curl.length;
    let other = 0x41c6ce57 ^ curl.length;
    for (let i = 0; i < curl.length; i++) {
      const code = curl.charCodeAt(i);
      one = Math.imul(one ^ code, 0x9e3779b1);
      other = Math.imul(other ^ code, 0x5f356495);
    }
    one = Math.imul(one ^ (one >>> 16), 0x85ebca6b) ^ Math.imul(other ^ (other >>> 13), 0xc2b2ae35);
    other = Math.imul(other ^ (other >>> 16), 0x85ebca6b) ^ Math.imul(one ^ (one >>> 13), 0xc2b2ae35);
    one >>>= 0;
    // 0 stands for an empty place.
    other = other >>> 0 || 1;
    const at = 2 * (one & this.#mask);
    if (this.#hashes[at] === one && this.#hashes[at + 1] === other) return true;
    this.#hashes[at] = one;
    this.#hashes[at + 1] = other;
    return false;
  }
}
