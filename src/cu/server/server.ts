/** lccd-cu as a whole: connections become sessions, up to limits; sessions share one database connection. */
import type { Connection } from '../../daemon/types.js';
import type { Clock } from '../../lib/clock.js';
import { Counts } from '../../lib/counts.js';
import type { Log } from '../../lib/log.js';
import { LoginBackoff } from '../../lib/login-backoff.js';
import { refused } from '../../wire/cu.js';
import { SharedCache } from './cache.js';
import { limitOf, type CuOptions } from './options.js';
import { Readers } from './readers.js';
import { CuSession, Refused, type SessionParts } from './session.js';

/** Time in which somebody refused at the door reads why. */
const DOOR_MS = 1000;

export interface CuServerParts {
  options: CuOptions;
  clock: Clock;
  log: Log;
  /** Called when the process must end: a bug. */
  fail: (error: unknown) => void;
}

export class CuServer {
  readonly #options: CuOptions;
  readonly #fail: (error: unknown) => void;
  readonly #session: SessionParts;
  readonly #cache: SharedCache;
  /** Each with the end of its run. */
  readonly #open = new Map<CuSession, Promise<void>>();
  readonly #perAddress = new Counts<string>();
  readonly #counts = { queries: 0, urls: 0, omitted: 0, refused: 0, bytes: 0 };
  #stopping = false;

  constructor({ options, clock, log, fail }: CuServerParts) {
    this.#options = options;
    this.#fail = fail;
    this.#cache = new SharedCache(options.dbPath, options.machineId);
    this.#session = {
      options,
      clock,
      log,
      cache: this.#cache,
      readers: new Readers(options.readersFile),
      backoff: new LoginBackoff(clock),
      counted: (what, by) => void (this.#counts[what] += by),
    };
  }

  /** A content user has connected. */
  accept(connection: Connection): void {
    const { address } = connection;
    const why = this.#noRoomFor(address);
    if (why !== undefined) {
      this.#counts.refused++;
      connection.socket.resume();
      connection.socket.end(refused(why.code, why.message));
      this.#session.clock.after(DOOR_MS, () => void connection.socket.destroy());
      return;
    }
    const session = new CuSession(this.#session, connection);
    const ended = session.run().finally(() => {
      this.#open.delete(session);
      this.#perAddress.change(address, -1);
    });
    this.#open.set(session, ended);
    this.#perAddress.change(address, 1);
    ended.catch(this.#fail);
  }

  status() {
    return {
      // Being read keeps nothing from being up to date.
      idle: true,
      connections: this.#open.size,
      max_connections: this.#options.limits['cu.max_connections'],
      answering: [...this.#open.keys()].filter(session => session.answering).length,
      queries: this.#counts.queries,
      urls_sent: this.#counts.urls,
      urls_omitted: this.#counts.omitted,
      bytes_sent: this.#counts.bytes,
      refused: this.#counts.refused,
    };
  }

  /** Sends everybody away. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const session of this.#open.keys())
      session.refuse(new Refused(102, 'temporarily off-line, try again later: the daemon stops'));
    await Promise.allSettled(this.#open.values());
    this.#cache.close();
  }

  #noRoomFor(address: string): Refused | undefined {
    if (this.#stopping) return new Refused(102, 'temporarily off-line, try again later');
    const { limits } = this.#options;
    const full = (key: 'cu.max_connections' | 'cu.max_connections_per_address') =>
      new Refused(102, `too many connections, try again later: the limit is ${limitOf(this.#options, key)}`);
    if (this.#open.size >= limits['cu.max_connections']) return full('cu.max_connections');
    return address !== '' && this.#perAddress.of(address) >= limits['cu.max_connections_per_address']
      ? full('cu.max_connections_per_address')
      : undefined;
  }
}
