/** lccd-cu as a whole: connections become sessions, up to limits; sessions share one database connection. */
import { Door } from '../../daemon/door.js';
import type { Connection } from '../../daemon/types.js';
import type { Clock } from '../../lib/clock.js';
import { Counts } from '../../lib/counts.js';
import { FairShare } from '../../lib/fair-share.js';
import type { Log } from '../../lib/log.js';
import { LoginBackoff } from '../../lib/login-backoff.js';
import { refused } from '../../wire/cu.js';
import { SharedCache } from './cache.js';
import type { CuStatus } from './figures.js';
import { limitOf, type CuOptions } from './options.js';
import { Readers } from './readers.js';
import { CuSession, Refused, type SessionParts } from './session.js';

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
  readonly #door: Door;
  /** Addresses whose places are taken, as the log has heard; '' of all places. */
  readonly #said = new Set<string>();
  readonly #counts = { queries: 0, urls: 0, omitted: 0, refused: 0, bytes: 0 };
  #stopping = false;

  constructor({ options, clock, log, fail }: CuServerParts) {
    this.#options = options;
    this.#fail = fail;
    this.#door = new Door(clock);
    this.#cache = new SharedCache(options.dbPath, options.machineId);
    this.#session = {
      options,
      clock,
      log,
      cache: this.#cache,
      readers: new Readers(options.readersFile),
      backoff: new LoginBackoff(clock),
      share: new FairShare(),
      counted: (what, by) => void (this.#counts[what] += by),
    };
  }

  /** A content user has connected. */
  accept(connection: Connection): void {
    const { address } = connection;
    const why = this.#noRoomFor(connection);
    if (why !== undefined) {
      this.#counts.refused++;
      this.#door.turnAway(connection.socket, refused(why.code, why.message));
      return;
    }
    const session = new CuSession(this.#session, connection);
    const ended = session.run().finally(() => {
      this.#open.delete(session);
      this.#perAddress.change(address, -1);
      this.#forgetSaid(address);
    });
    this.#open.set(session, ended);
    this.#perAddress.change(address, 1);
    ended.catch(this.#fail);
  }

  status(): Omit<CuStatus, 'listens'> {
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

  #noRoomFor({ address, peer }: Connection): Refused | undefined {
    if (this.#stopping) return new Refused(102, 'temporarily off-line, try again later');
    const { limits } = this.#options;
    const full = (key: 'cu.max_connections' | 'cu.max_connections_per_address', whose: string) => {
      const limit = limitOf(this.#options, key);
      if (!this.#said.has(whose))
        this.#session.log.warn('connections are refused', { peer, reason: `the limit is ${limit}` });
      this.#said.add(whose);
      return new Refused(102, `too many connections, try again later: the limit is ${limit}`);
    };
    if (this.#open.size >= limits['cu.max_connections']) return full('cu.max_connections', '');
    return address !== '' && this.#perAddress.of(address) >= limits['cu.max_connections_per_address']
      ? full('cu.max_connections_per_address', address)
      : undefined;
  }

  /** The log hears of it again only after half of the places were free. */
  #forgetSaid(address: string): void {
    const { limits } = this.#options;
    if (this.#open.size <= limits['cu.max_connections'] / 2) this.#said.delete('');
    if (this.#perAddress.of(address) <= limits['cu.max_connections_per_address'] / 2)
      this.#said.delete(address);
  }
}
