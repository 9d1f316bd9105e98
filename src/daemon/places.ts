/**
 * Places for connections of one kind, whichever listeners they come to: a peer without a place learns the limit, and goes. The
 * log hears of it once, and again only after half of the places were free.
 */
import type { Config } from '../config/load.js';
import { limitText } from '../config/settings/index.js';
import type { Clock } from '../lib/clock.js';
import { LccError } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { openFilesLimit } from '../lib/open-files.js';
import { Door } from './door.js';
import type { Bound, Connection } from './types.js';

/** One kind of connections has at most 1/4 of the files that a process may have open. */
const FILES_SHARE = 4;

export class Places {
  readonly #bound: Bound;
  readonly #log: Log;
  readonly #most: number;
  readonly #door: Door;
  #taken = 0;
  #said = false;

  constructor(bound: Bound, { config, clock, log }: { config: Config; clock: Clock; log: Log }) {
    this.#bound = bound;
    this.#log = log;
    const openFiles = openFilesLimit();
    const wanted = config.get(bound.key);
    this.#most = Math.max(1, Math.min(wanted, Math.floor(openFiles / FILES_SHARE)));
    this.#door = new Door(clock, openFiles);
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
    this.#door.turnAway(socket, say(new LccError('limit', why)));
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
