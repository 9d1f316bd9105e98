/**
 * One side of a conversation over a stream, for edges on which one side speaks and the other answers: what
 * the peer says is pulled when it is asked for (or passed on at once, `listen`), what we say has a bound,
 * every wait can be interrupted, and the end is one that both sides agree on. What the bytes mean is for a
 * reader to say: XML of the edge, or lines (lines.ts).
 *
 *     open ──the peer's last word──▶ half-closed ──finish──▶ over
 *       ├──interrupt──▶ interrupted ──calm, part──▶ open: for a last word of ours
 *       ╰──broken, closed, destroy──▶ over: whatever waits, now or later, throws
 *
 * What is said goes out together when the peer is waited for: one that has sent all it has to say gets all of
 * its answer at once. docs/design/conversations.md compares all edges, and says how a new one is made.
 */
import type { Duplex } from 'node:stream';
import type { Clock } from './clock.js';
import { LccError, messageOf } from './errors.js';
import type { PeerReading } from './fair-share.js';

/** If the peer stopped sending before our last reply, its reset is waited for so long, so that the next write
 * fails. */
const PROBE_MS = 100;

interface Parting {
  /** The time in which what the peer still says is read; left out: as it comes. */
  reading?: PeerReading;
  /** Most bytes of an unfinished message, before the peer is cut off. */
  maxBytes?: number;
  /** True if it must be known that the peer has received everything: costs a tenth of a second where it has
   * ended before. */
  isCertain?: boolean;
}

export class Conversation {
  readonly #stream: Duplex;
  readonly #peer: string;
  readonly #clock: Clock;
  #heardBytes = 0;
  /** Text that has been said and not yet sent. */
  #unsent = '';
  #hasSpoken = false;
  /** The peer has said its last word; it may not have been heard. */
  #ends = false;
  /** All that the peer has said has been heard. */
  #ended = false;
  /** True if the peer's end came when everything we had said was on its way. */
  #endedAfterReplies = false;
  #broken = false;
  #closed = false;
  /** Makes the error for a waiting caller: most connections have none any more. */
  #failure: (() => Error) | undefined;
  #hear: ((chunk: Buffer) => void) | undefined;
  #lost: ((error: Error | undefined) => Error) | undefined;
  #cancelLimit: (() => void) | undefined;
  #wakes: (() => void)[] = [];

  /** @param peer its name, for messages */
  constructor(stream: Duplex, peer: string, clock: Clock) {
    this.#stream = stream;
    this.#peer = peer;
    this.#clock = clock;
    // A peer may say its last word and still read: its end is not ours.
    stream.allowHalfOpen = true;
    stream.on('readable', this.#stirs);
    stream.on('end', () => {
      this.#ends = true;
      if (this.#hear !== undefined) {
        this.#end();
        this.#onLost(undefined);
      }
      this.stir();
    });
    stream.on('error', (error: Error) => {
      this.#broken = true;
      this.#onLost(error);
    });
    stream.on('close', () => {
      this.#closed = true;
      this.unlimited();
      this.#onLost(undefined);
    });
  }

  /** Taken of what the peer has said. */
  get heardBytes(): number {
    return this.#heardBytes;
  }

  /** Bytes said that the peer has not taken. */
  get waitingBytes(): number {
    return this.#stream.writableLength + (this.#unsent === '' ? 0 : Buffer.byteLength(this.#unsent));
  }

  /** The peer has said its last word. */
  get hasEnded(): boolean {
    return this.#ended || this.#closed;
  }

  /** Nobody is there any more. */
  get isOver(): boolean {
    return this.#broken || this.#closed;
  }

  // Hearing

  /**
   * The next bytes; undefined when the peer has said its last word.
   * @param reading whose: of a stranger a slice is taken, and the rest stays with the system, which holds the
   * peer back
   * @throws what `interrupt` was given, or LccError `peer.unavailable` when the connection is broken
   */
  async next(reading?: PeerReading): Promise<Buffer | undefined> {
    for (;;) {
      if (this.#ended) return undefined;
      this.check();
      const chunk =
        reading === undefined ? (this.#stream.read() as Buffer | null) : reading.take(this.#stream);
      if (chunk !== null) {
        this.#heardBytes += chunk.length;
        return chunk;
      }
      this.#send();
      if (this.#ends) this.#end();
      else await this.#stirred();
    }
  }

  #end(): void {
    this.#ended = true;
    this.#endedAfterReplies = this.waitingBytes === 0 && this.#hasSpoken;
  }

  /** All that the peer says, in pieces that leave others their share. Throws like `next`. */
  async *slices(reading: PeerReading): AsyncGenerator<Buffer> {
    for (let slice; (slice = await this.next(reading)) !== undefined;) {
      await reading.turn(slice.length);
      yield slice;
    }
  }

  /**
   * For one who asks: passes on at once what comes from now on; an error that `hear` throws interrupts. The
   * peer's end is one more way to lose it.
   * @param lost what a wait throws then; `error` where the connection broke
   */
  listen(hear: (chunk: Buffer) => void, lost: (error: Error | undefined) => Error): void {
    this.#hear = hear;
    this.#lost = lost;
    this.#stream.off('readable', this.#stirs);
    this.#stream.on('data', (chunk: Buffer) => this.#onData(chunk));
    this.#stream.resume();
  }

  #onData(chunk: Buffer): void {
    this.#heardBytes += chunk.length;
    if (this.#failure === undefined) {
      try {
        this.#hear?.(chunk);
      } catch (error) {
        this.interrupt(error instanceof Error ? error : new LccError('bug', messageOf(error)));
      }
    }
    this.stir();
  }

  // Speaking

  /** Says something, at the latest when the peer is waited for or others have their turn; dropped when nobody
   * can hear it. */
  say(text: string): void {
    this.#unsent += text;
  }

  /** Resolves when at most `bytes` of what was said are waiting. Throws like `next`. */
  async said(bytes: number): Promise<void> {
    // A character is three bytes at most.
    if (this.#stream.writableLength + this.#unsent.length * 3 > bytes && this.waitingBytes > bytes)
      this.#send();
    if (this.#stream.writableLength > bytes) await this.until(() => this.#stream.writableLength <= bytes);
  }

  /**
   * Says something at once; resolves when it has left, so that its memory may be used again.
   * @throws like `next`; `late` after `limitMs`
   */
  async write(words: string | Uint8Array, limitMs?: number, late?: () => Error): Promise<void> {
    this.check();
    this.#send();
    let hasLeft = false;
    this.#hasSpoken = true;
    this.#stream.write(words, error => {
      hasLeft = error === null || error === undefined;
      this.stir();
    });
    await this.until(() => hasLeft, limitMs, late);
  }

  #send(): void {
    const text = this.#unsent;
    this.#unsent = '';
    if (text === '' || !this.#stream.writable) return;
    this.#hasSpoken = true;
    this.#stream.write(text, this.#stirs);
  }

  // Waiting

  /**
   * Waits until `isTrue`, which is asked again whenever something has come or left, and after `stir`.
   * @throws like `next`, unless it is true all the same; `late`, which ends the conversation, after `limitMs`
   */
  async until(isTrue: () => boolean, limitMs?: number, late?: () => Error): Promise<void> {
    const cancel =
      limitMs === undefined || late === undefined
        ? undefined
        : this.#clock.after(limitMs, () => this.interrupt(late()));
    try {
      while (!isTrue()) {
        this.check();
        await this.#stirred();
      }
    } finally {
      cancel?.();
    }
  }

  /** Lets the peer wait. Throws like `next` as soon as that would. */
  async rest(delayMs: number): Promise<void> {
    let isOver = false;
    const cancel = this.#clock.after(delayMs, () => {
      isOver = true;
      this.stir();
    });
    try {
      await this.until(() => isOver);
    } finally {
      cancel();
    }
  }

  /** Lets others have their turn of the event loop. Throws like `check`. */
  async turn(): Promise<void> {
    this.#send();
    await new Promise(resolve => void setImmediate(resolve));
    this.check();
  }

  /** @throws what a wait would throw now */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure();
  }

  /** Something that a wait is for may have come. */
  stir(): void {
    if (this.#wakes.length === 0) return;
    const wakes = this.#wakes;
    this.#wakes = [];
    for (const wake of wakes) wake();
  }

  readonly #stirs = (): void => this.stir();

  #stirred(): Promise<void> {
    return new Promise(resolve => void this.#wakes.push(resolve));
  }

  // Ending

  /** Makes every pending wait, and every later one that would wait, throw `why`. */
  interrupt(why: Error): void {
    this.#fail(() => why);
  }

  /** Interrupts after a time; of several limits the one set last counts. */
  limit(delayMs: number, why: () => Error): void {
    this.unlimited();
    if (!this.#closed) this.#cancelLimit = this.#clock.after(delayMs, () => this.interrupt(why()));
  }

  unlimited(): void {
    this.#cancelLimit?.();
    this.#cancelLimit = undefined;
  }

  /** Forgets an interruption, so that the last reply can still be said in good order. */
  calm(): void {
    if (!this.isOver) this.#failure = undefined;
  }

  /**
   * Ends the conversation after our last word: waits, within what `interrupt` allows, for the peer to have
   * read it and gone, ignoring what it still says: unread, that would turn the end into a reset.
   * @returns whether the peer has received everything we said, for all that is known
   */
  async finish({ reading, maxBytes = Infinity, isCertain = false }: Parting = {}): Promise<boolean> {
    const mostBytes = this.heardBytes + maxBytes;
    try {
      await this.said(0);
      if (isCertain && this.#ended && !this.#endedAfterReplies) await this.#probe();
      this.#stream.end();
      for (let chunk; (chunk = await this.next(reading)) !== undefined; await reading?.turn(chunk.length))
        if (this.heardBytes > mostBytes) return false;
      await this.until(() => this.#closed);
      return !this.#broken;
    } catch {
      return false;
    } finally {
      this.destroy();
    }
  }

  /** As `finish`, within `lingerMs`, and whatever has interrupted the conversation before. */
  part(lingerMs: number, parting?: Parting): Promise<boolean> {
    this.calm();
    this.limit(lingerMs, () => broken(this.#peer, 'does not part'));
    return this.finish(parting);
  }

  /** Ends the conversation here and now; what was said is sent as far as that takes no waiting. */
  destroy(): void {
    this.#send();
    this.#stream.destroy();
  }

  /**
   * A peer that is gone answers our last reply with a reset; one that only has no more to say stays silent.
   */
  async #probe(): Promise<void> {
    await new Promise<void>(resolve => this.#clock.after(PROBE_MS, resolve));
    await new Promise<void>((resolve, reject) =>
      this.#stream.write('\n', error => (error ? reject(error) : resolve())),
    );
  }

  #onLost(error: Error | undefined): void {
    if (this.#failure !== undefined) return this.stir();
    const why = this.#lost?.(error);
    this.#fail(() => why ?? broken(this.#peer, error === undefined ? 'closed' : messageOf(error)));
  }

  #fail(why: () => Error): void {
    this.#failure ??= why;
    this.stir();
  }
}

function broken(peer: string, why: string): LccError {
  return new LccError('peer.unavailable', `${peer}: connection broken: ${why}`);
}
