/** Connections without a place: they are told why, and go; their number and the time of each are limited. */
import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.js';
import { openFilesLimit, placesAtDoor } from '../lib/open-files.js';

/** Time in which a peer without a place may read the reason. */
const DOOR_MS = 1000;
/** Bytes that the peer may send meanwhile. */
const DOOR_BYTES = 128 * 1024;

export class Door {
  readonly #clock: Clock;
  readonly #most: number;
  #count = 0;

  constructor(clock: Clock, openFiles = openFilesLimit()) {
    this.#clock = clock;
    this.#most = placesAtDoor(openFiles);
  }

  /** Says `why` and closes. */
  turnAway(socket: Socket, why: string): void {
    passOver(socket);
    socket.end(why);
    if (this.#count >= this.#most) return void socket.destroy();
    this.#count++;
    const cancel = this.#clock.after(DOOR_MS, () => void socket.destroy());
    socket.once('close', () => {
      this.#count--;
      cancel();
    });
  }
}

/**
 * Reads and drops what the peer still says; unread, it would turn the end into a reset. A peer that does not stop is cut
 * off.
 */
export function passOver(socket: Socket): void {
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > DOOR_BYTES) socket.destroy();
  });
}
