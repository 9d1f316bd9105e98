/** Pieces of a body that are too small to be worth a call each, put together: a site may send chunks of one
 * byte, and each call may be a system call, or a round through a decoder's thread. */

/** Pieces from this length on go on as they are. */
const SMALL_BYTES = 1024;
/** So much is put together. */
const BLOCK_BYTES = 16 * 1024;

export class SmallPieces {
  readonly #take: (piece: Uint8Array) => void;
  /** The only small piece so far: most bodies have one at most, which is not copied. */
  #only: Uint8Array | undefined;
  #block: Buffer | undefined;
  #used = 0;

  /** @param take is given all bytes in their order, in pieces that do not change afterwards */
  constructor(take: (piece: Uint8Array) => void) {
    this.#take = take;
  }

  /** Nothing waits for `flush`. */
  get areEmpty(): boolean {
    return this.#only === undefined && this.#block === undefined;
  }

  write(piece: Uint8Array): void {
    if (piece.length >= SMALL_BYTES) {
      this.flush();
      this.#take(piece);
    } else if (this.#block === undefined && this.#only === undefined) this.#only = piece;
    else this.#gather(piece);
  }

  /** Gives on what has been put together so far. */
  flush(): void {
    const whole = this.#only ?? this.#block?.subarray(0, this.#used);
    this.#only = undefined;
    this.#block = undefined;
    this.#used = 0;
    if (whole !== undefined) this.#take(whole);
  }

  #gather(piece: Uint8Array): void {
    if (this.#used + piece.length > BLOCK_BYTES) this.flush();
    this.#block ??= Buffer.allocUnsafe(BLOCK_BYTES);
    if (this.#only !== undefined) this.#append(this.#block, this.#only);
    this.#only = undefined;
    this.#append(this.#block, piece);
  }

  #append(block: Buffer, piece: Uint8Array): void {
    block.set(piece, this.#used);
    this.#used += piece.length;
  }
}
