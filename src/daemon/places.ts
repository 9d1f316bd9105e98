/**
 * Places for connections of one kind, whichever listeners they come to: who finds none is told of the limit, and goes. The
 * log hears of it once, and again only after half of the places were free.
 */
import type { Config } from '../config/load.js';
import { limitText } from '../config/settings.js';
import type { Clock } from '../lib/clock.js';
import { LccError } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { openFilesLimit, placesAtDoor } from '../lib/open-files.js';
import type { Bound, Connection } from './types.js';

/** Time in which somebody for whom there is no place reads why. */
const DOOR_MS = 1000;
/** Of the files a process may have open, one kind of connections has one in so many at most. */
const FILES_SHARE = 4;

export class Places {
  readonly #bound: Bound;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #most: number;
  readonly #mostAtDoor: number;
  #taken = 0;
  #atDoor = 0;
  #said = false;

  constructor(bound: Bound, { config, clock, log }: { config: Config; clock: Clock; log: Log }) {
    this.#bound = bound;
    this.#clock = clock;
    this.#log = log;
    const openFiles = openFilesLimit();
    const wanted = config.get(bound.key);
    this.#most = Math.max(1, Math.min(wanted, Math.floor(openFiles / FILES_SHARE)));
    this.#mostAtDoor = placesAtDoor(openFiles);
    if (this.#most < wanted)
      log.warn('fewer connections than configured: ulimit -n', { connections: this.#most, of: bound.whose });
  }

  /** Whether the connection has a place, until it closes; one that has none is being closed. */
  admit(connection: Connection): boolean {
    if (this.#taken >= this.#most) {
      this.#turnAway(connection);
      return false;
    }
    this.#taken++;
    connection.socket.once('close', () => {
      this.#taken--;
      if (this.#taken <= this.#most / 2) this.#said = false;
    });
    return true;
  }

  #turnAway({ socket, peer }: Connection): void {
    const { key, whose, say } = this.#bound;
    const why = `there are ${limitText(key, this.#most)} connections of ${whose} already`;
    if (!this.#said) this.#log.warn('connections are refused', { peer, reason: why });
    this.#said = true;
    // What it says is nobody's business; unread, it would turn the end into a reset.
    socket.resume();
    socket.end(say(new LccError('limit', why)));
    if (this.#atDoor >= this.#mostAtDoor) return void socket.destroy();
    this.#atDoor++;
    const cancel = this.#clock.after(DOOR_MS, () => void socket.destroy());
    socket.once('close', () => {
      this.#atDoor--;
      cancel();
    });
  }
}

/** Hands on connections that have a place. */
export function bounded(
  onConnection: (connection: Connection) => void,
  places: Places | undefined,
): (connection: Connection) => void {
  if (places === undefined) return onConnection;
  return connection => {
    if (places.admit(connection)) onConnection(connection);
  };
}
