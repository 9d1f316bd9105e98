/**
 * A CP's socket, pulled: chunks one at a time when asked for, replies with a bound, an end both sides agree on. Replies go
 * out together when the peer is waited for: one that has sent all it has to say gets all of its answer at once.
 */
import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.js';
import { LccError, messageOf } from '../lib/errors.js';
import type { PeerReading } from '../lib/fair-share.js';

/**
 * If the peer stopped sending before our last reply, the line waits this long for its reset, so that the next write
 * fails.
 */
const PROBE_MS = 100;
/** Read of a socket at a time. */
const CHUNK_BYTES = 64 * 1024;

export class Line {
  readonly #socket: Socket;
  readonly #clock: Clock;
  #chunks: Buffer[] = [];
  /** What has been said and not yet sent. */
  #unsent = '';
  #ended = false;
  /** Whether the peer's end came when everything we had said was on its way. */
  #endedAfterReplies = false;
  #broken = false;
  #closed = false;
  /** Makes the error for a waiting caller: most connections have none any more. */
  #failure: (() => Error) | undefined;
  #wake: (() => void) | undefined;

  constructor(socket: Socket, peer: string, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    // A CP may say its last word and still read: its end is not ours.
    socket.allowHalfOpen = true;
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      socket.pause();
      this.#stir();
    });
    socket.on('end', () => {
      this.#ended = true;
      this.#endedAfterReplies = this.waitingBytes === 0 && socket.bytesWritten > 0;
      this.#stir();
    });
    socket.on('drain', () => this.#stir());
    socket.on('error', error => {
      this.#broken = true;
      this.#fail(() => broken(peer, messageOf(error)));
    });
    socket.on('close', () => {
      this.#closed = true;
      this.#fail(() => broken(peer, 'closed'));
    });
    socket.pause();
  }

  /**
   * The next bytes; undefined when the peer has said its last word.
   * @throws what `interrupt` was given, or LccError `peer.unavailable` when the connection is broken
   */
  async next(): Promise<Buffer | undefined> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) return chunk;
      if (this.#ended) return undefined;
      if (this.#failure !== undefined) throw this.#failure();
      this.#send();
      this.#socket.resume();
      await this.#stirred();
    }
  }

  /** Says something, at the latest when the peer is waited for; dropped when nobody can hear it any more. */
  say(text: string): void {
    this.#unsent += text;
  }

  #send(): void {
    const text = this.#unsent;
    this.#unsent = '';
    if (text !== '' && this.#socket.writable) this.#socket.write(text);
  }

  /** Bytes said that the peer has not taken. */
  get waitingBytes(): number {
    return this.#socket.writableLength + (this.#unsent === '' ? 0 : Buffer.byteLength(this.#unsent));
  }

  /** Resolves when at most `bytes` of what was said are waiting. Throws like `next`. */
  async said(bytes: number): Promise<void> {
    // A character is three bytes at most.
    if (this.#socket.writableLength + this.#unsent.length * 3 > bytes && this.waitingBytes > bytes)
      this.#send();
    while (this.#socket.writableLength > bytes) {
      if (this.#failure !== undefined) throw this.#failure();
      await this.#stirred();
    }
  }

  /** Lets the peer wait. Throws like `next` as soon as that would. */
  async rest(delayMs: number): Promise<void> {
    let cancel = () => {};
    const over = new Promise<'over'>(resolve => {
      cancel = this.#clock.after(delayMs, () => resolve('over'));
    });
    try {
      do {
        if (this.#failure !== undefined) throw this.#failure();
      } while ((await Promise.race([over, this.#stirred()])) !== 'over');
    } finally {
      cancel();
    }
  }

  /** Makes a pending `next`, `said` or `rest`, and every later one that would wait, throw `why`. */
  interrupt(why: Error): void {
    this.#fail(() => why);
  }

  /** Forgets an interruption, so that the last reply can still be said in good order. */
  calm(): void {
    if (!this.#broken && !this.#closed) this.#failure = undefined;
  }

  /**
   * Ends the conversation after our last word: waits, within what `interrupt` allows, for the peer to have read it and
   * gone, ignoring what it still says.
   * @param maxBytes read of the peer in all; then it is cut off
   * @returns whether the peer has certainly received everything we said
   */
  async finish(reading: PeerReading, maxBytes = Infinity): Promise<boolean> {
    try {
      await this.said(0);
      if (this.#ended && !this.#endedAfterReplies) await this.#probe();
      this.#socket.end();
      for (let chunk; (chunk = await this.next()) !== undefined; await reading.turn(chunk.length))
        if (this.#socket.bytesRead + CHUNK_BYTES > maxBytes) return false;
      while (!this.#closed) await this.#stirred();
      return !this.#broken;
    } catch {
      return false;
    } finally {
      this.#socket.destroy();
    }
  }

  /** Ends the conversation here and now; what was said is sent as far as that takes no waiting. */
  destroy(): void {
    this.#send();
    this.#socket.destroy();
  }

  /** A peer that is gone answers our last reply with a reset; one that only has no more to say stays silent. */
  async #probe(): Promise<void> {
    await new Promise<void>(resolve => this.#clock.after(PROBE_MS, resolve));
    await new Promise<void>((resolve, reject) =>
      this.#socket.write('\n', error => (error ? reject(error) : resolve())),
    );
  }

  #stirred(): Promise<void> {
    return new Promise(resolve => (this.#wake = resolve));
  }

  #stir(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  #fail(why: () => Error): void {
    this.#failure ??= why;
    this.#stir();
  }
}

function broken(peer: string, why: string): LccError {
  return new LccError('peer.unavailable', `${peer}: connection broken: ${why}`);
}
