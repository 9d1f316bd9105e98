/** Connections without a place: they are told why, and go; their number and the time of each are limited. */
import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.js';
import { Conversation } from '../lib/conversation.js';
import { FairShare } from '../lib/fair-share.js';
import { openFilesLimit, placesAtDoor } from '../lib/open-files.js';
import type { Connection } from './types.js';

export interface TurnedAwayOptions {
  clock: Clock;
  /** Connections at a time; beyond, they are cut off. */
  most?: number;
  /** Time in which a peer without a place may read the reason. */
  lingerMs?: number;
  /** Bytes that the peer may send meanwhile. */
  maxBytes?: number;
  /** In which what they send is read. */
  share?: FairShare;
}

const LINGER_MS = 1000;
const MAX_BYTES = 128 * 1024;

export class TurnedAway {
  readonly #options: Required<TurnedAwayOptions>;
  #count = 0;

  constructor(options: TurnedAwayOptions) {
    this.#options = {
      most: placesAtDoor(openFilesLimit()),
      lingerMs: LINGER_MS,
      maxBytes: MAX_BYTES,
      share: new FairShare(),
      ...options,
    };
  }

  /** True if nobody may linger any more. */
  get isFull(): boolean {
    return this.#count >= this.#options.most;
  }

  /** One more lingers, until its connection closes. */
  enter(socket: Socket): void {
    this.#count++;
    socket.once('close', () => void this.#count--);
  }

  /** Says why and closes. */
  turnAway({ socket, peer }: Connection, words: string): void {
    const { clock, lingerMs, maxBytes, share } = this.#options;
    const conversation = new Conversation(socket, peer, clock);
    conversation.say(words);
    if (this.isFull) return conversation.destroy();
    this.enter(socket);
    socket.once(
      'close',
      clock.after(lingerMs, () => void socket.destroy()),
    );
    void conversation.finish({ reading: share.join(), maxBytes });
  }
}
