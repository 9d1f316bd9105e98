/** lccd-cu as a whole: connections become sessions, up to limits; sessions share one database connection. */
import { SHIPPED_WAIT_MS, shippedWithin, type Kept } from '../../daemon/kept.js';
import { Places } from '../../daemon/places.js';
import type { Connection } from '../../daemon/types.js';
import type { Clock } from '../../lib/clock.js';
import { LccError } from '../../lib/errors.js';
import { FairShare } from '../../lib/fair-share.js';
import type { Log } from '../../lib/log.js';
import { LoginBackoff } from '../../lib/login-backoff.js';
import { refused } from '../../wire/cu.js';
import { Refusal } from '../../wire/refusal.js';
import { PeerContents, type PeersOptions } from '../peers/contents.js';
import { ChangesDoor } from '../http/door.js';
import { SharedCache } from './cache.js';
import { NO_COUNTS, type Counted, type CuStatus } from './figures.js';
import type { CuOptions } from './options.js';
import { CuSession, type CuSessionParts } from './session.js';

const OFF_LINE = new LccError('try.later', 'temporarily off-line, try again later');

interface CuServerParts {
  options: CuOptions;
  /** Other machines, which have content. */
  machines?: PeersOptions | undefined;
  /** Asked before anything with a cursor is told. */
  kept: Kept;
  clock: Clock;
  log: Log;
  /** Called when the process must end: a bug. */
  fail: (error: unknown) => void;
}

export class CuServer {
  readonly #options: CuOptions;
  readonly #fail: (error: unknown) => void;
  readonly #session: CuSessionParts;
  readonly #cache: SharedCache;
  /** Each with the end of its run. */
  readonly #open = new Map<CuSession, Promise<void>>();
  readonly #places: Places;
  readonly #counts = { ...NO_COUNTS };
  /** The same for clients that speak HTTP. */
  readonly changes: ChangesDoor;
  #stopping = false;

  constructor({ options, kept, machines, clock, log, fail }: CuServerParts) {
    this.#options = options;
    this.#fail = fail;
    const { limits } = options;
    this.#places = new Places({
      key: 'cu.max_connections',
      most: limits.maxConnections,
      perAddress: { key: 'cu.max_connections_per_address', most: limits.maxConnectionsPerAddress },
      whose: 'readers',
      say: ({ message }) => refused(102, message),
      clock,
      log,
    });
    this.#cache = new SharedCache(options.dbPath, options.machineId);
    const counted: Counted = (what, by) => void (this.#counts[what] += by);
    const peers = machines && new PeerContents(machines);
    const shipped = async () => {
      try {
        await shippedWithin(kept, 'lcc', clock, SHIPPED_WAIT_MS);
      } catch (error) {
        throw error instanceof LccError ? new Refusal(102, error.message) : error;
      }
    };
    const backoff = new LoginBackoff(clock);
    const common = { options, cache: this.#cache, peers, shipped, backoff, clock, log, counted };
    this.#session = { ...common, share: new FairShare() };
    this.changes = new ChangesDoor({ ...common, fail });
  }

  /** A content user has connected. @param isKnown it need not say who it is */
  accept(connection: Connection, isKnown = false): void {
    const place = this.#stopping
      ? this.#places.turnAway(connection, OFF_LINE)
      : this.#places.admit(connection);
    if (place === undefined) return void this.#counts.refused++;
    const session = new CuSession(this.#session, connection, isKnown);
    const ended = session.run().finally(() => void this.#open.delete(session));
    this.#open.set(session, ended);
    ended.catch(this.#fail);
  }

  status(): Omit<CuStatus, 'listens' | 'http_listens'> {
    return {
      // Being read keeps nothing from being up to date.
      idle: true,
      connections: this.#open.size,
      max_connections: this.#options.limits.maxConnections,
      answering: [...this.#open.keys()].filter(session => session.answering).length,
      ...this.#counts,
      streams: this.changes.count,
    };
  }

  /** Sends everybody away. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const session of this.#open.keys())
      session.refuse(new Refusal(102, 'temporarily off-line, try again later: the daemon stops'));
    await Promise.allSettled([...this.#open.values(), this.changes.stop()]);
    this.#cache.close();
  }
}
