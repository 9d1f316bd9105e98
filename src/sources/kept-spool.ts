/** The content of an answer, also of one that was cut: what has come of it may count. */
import { SpoolSink } from '../fetch/spool-sink.js';

export class KeptSpool extends SpoolSink {
  /** A fetch that fails gives up its content; here that is for the reader to say. */
  override discard(): void {
    // See `release`.
  }

  /** The bytes that have come, in pieces. */
  async *pieces(): AsyncGenerator<Uint8Array, void, undefined> {
    if (!this.isSpooled) return yield* this.chunks;
    for (let at = 0; at < this.length;) {
      const piece = await this.piece(at);
      if (piece.length === 0) return;
      at += piece.length;
      yield piece;
    }
  }

  /** The content goes, with its file. */
  release(): void {
    super.discard();
  }
}
