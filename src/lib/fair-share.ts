/**
 * The time it takes to read what peers send, shared between them: each reads one slice in a turn of the event
 * loop. Strangers, who have not said who they are, read a few bytes a turn, all of them together, and fewer
 * beside others; among them newcomers are first, so that a login waits for no flood.
 */
import type { Readable } from 'node:stream';
import { Fifo } from './fifo.js';

const KB = 1024;
/** Read at a time of a stranger: more than a login has. */
export const STRANGER_SLICE_BYTES = 4 * KB;
/** Read of a stranger beyond its hello when it was refused, so that it may read why; then it is cut off. */
export const STRANGER_REST_BYTES = 40 * KB;
/** Bytes that a stream holds before it reads no further, on every Node (daemon/listeners.ts); Node 22 has
 * four times that. */
export const READ_AHEAD_BYTES = 16 * KB;
/** Read in a turn, of all strangers: when nobody else reads, and beside others. */
const STRANGERS_ALONE_BYTES = 64 * KB;
const STRANGERS_BESIDE_BYTES = 8 * KB;
/** Read in a turn, of all others. */
const KNOWN_BYTES = 1024 * KB;

type Rank = 'known' | 'newcomer' | 'stranger';

interface Waiting {
  bytes: number;
  go: () => void;
}

export class FairShare {
  readonly #waiting = {
    known: new Fifo<Waiting>(),
    newcomer: new Fifo<Waiting>(),
    stranger: new Fifo<Waiting>(),
  } satisfies Record<Rank, Fifo<Waiting>>;
  #turnComes = false;

  /** One more peer: a newcomer. */
  join(): PeerReading {
    return new PeerReading((rank, bytes) => this.#turn(rank, bytes));
  }

  /** Resolves when `bytes` bytes may be read, in a later turn of the event loop. */
  #turn(rank: Rank, bytes: number): Promise<void> {
    return new Promise(resolve => {
      this.#waiting[rank].push({ bytes, go: resolve });
      this.#awaitTurn();
    });
  }

  #awaitTurn(): void {
    if (this.#turnComes) return;
    this.#turnComes = true;
    setImmediate(() => this.#takeTurn());
  }

  #takeTurn(): void {
    this.#turnComes = false;
    const { known, newcomer, stranger } = this.#waiting;
    const forStrangers = known.length > 0 ? STRANGERS_BESIDE_BYTES : STRANGERS_ALONE_BYTES;
    release(known, KNOWN_BYTES);
    release(stranger, release(newcomer, forStrangers));
    if (known.length + newcomer.length + stranger.length > 0) this.#awaitTurn();
  }
}

/** The part of one peer: `newcomer ──slice──▶ stranger`, and `known` once it has said who it is. */
export class PeerReading {
  readonly #turn: (rank: Rank, bytes: number) => Promise<void>;
  #rank: Rank = 'newcomer';

  constructor(turn: (rank: Rank, bytes: number) => Promise<void>) {
    this.#turn = turn;
  }

  get isKnown(): boolean {
    return this.#rank === 'known';
  }

  known(): void {
    this.#rank = 'known';
  }

  /** Takes of what a stream has: of a stranger's a slice, of another's all. What a stranger's stream holds
   * besides is less than READ_AHEAD_BYTES and one read of 64 KB. Null: nothing now, or nothing more. */
  take(stream: Readable): Buffer | null {
    if (stream.destroyed) return null;
    if (this.isKnown) return stream.read() as Buffer | null;
    if (stream.readableLength === 0) stream.read(0);
    return stream.read(Math.min(stream.readableLength, STRANGER_SLICE_BYTES)) as Buffer | null;
  }

  /** Resolves when `bytes` bytes may be read, or passed over. */
  async turn(bytes: number): Promise<void> {
    const rank = this.#rank;
    if (rank === 'newcomer') this.#rank = 'stranger';
    await this.#turn(rank, bytes);
  }
}

/** Lets the first ones go, for `bytes` bytes. @returns how many are left */
function release(waiting: Fifo<Waiting>, bytes: number): number {
  let left = bytes;
  while (left > 0) {
    const next = waiting.shift();
    if (next === undefined) break;
    left -= next.bytes;
    next.go();
  }
  return left;
}
