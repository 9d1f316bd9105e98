/** The contract between a daemon and the skeleton. */
import type { Socket } from 'node:net';
import type { Home } from '../config/home.js';
import type { Config } from '../config/types.js';
import type { NumberKey, Settings } from '../config/settings/index.js';
import type { Clock } from '../lib/clock.js';
import type { Endpoint } from '../lib/endpoint.js';
import type { ExitStatus, LccError } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import type { Kept } from './kept.js';

/** A connection of any kind (TCP, TLS, Unix); TLS ones are handed over after the handshake. */
export interface Connection {
  socket: Socket;
  /** For messages and limits: `192.0.2.7:51234`, `unix`. */
  peer: string;
  /** The address alone, '' for Unix sockets. */
  address: string;
}

export interface Listener {
  endpoint: Endpoint;
  /** Stops listening; connections stay. */
  close(): Promise<void>;
}

/** A connection to an upper server that is made again, with back-off and jitter, whenever it is lost. */
export interface Peer {
  readonly connected: boolean;
  close(): void;
}

/** Who may come in at a listener. */
export interface Entrance {
  /** Only machines of this LCC connect here: where they come over a network, they show who they are
   * (machines.ts). */
  machines?: true;
  /** The mode of a Unix socket's file; left out: 0660. */
  mode?: number;
  /** A refusal in the words of the conversation. */
  say: (why: LccError) => string;
}

/**
 * How many connections of one kind there may be at a time, over all listeners that are given the same bound.
 */
export interface Bound extends Entrance {
  /** The setting that says so, or the number itself. */
  key: NumberKey | number;
  /** The setting that says how many of them may be of one address; `except` is for addresses that speak for
   * others. */
  ofAddress?: { key: NumberKey; except?: (address: string) => boolean };
  /** Plural name of the peers this bound counts, for log lines, e.g. `UNSes`. */
  whose: string;
  /** Strangers of this age make room, the oldest first; without it none does. */
  evict?: { fromMs: number; end: (connection: Connection, why: LccError, mayLinger: boolean) => void };
}

/** The place of a connection, until it closes or the place is another's. */
export interface Place {
  /** The peer has said who it is, or all that it wants: nobody takes its place any more. @returns true if it
   * still had it */
  known(): boolean;
}

export interface Services {
  home: Home;
  settings: Settings;
  log: Log;
  clock: Clock;
  /** @param entrance unless it is a bound, limits are for `onConnection` to keep, and it is given no place */
  listen(
    endpoint: Endpoint,
    onConnection: (connection: Connection, place?: Place) => void,
    entrance?: Entrance | Bound,
  ): Promise<Listener>;
  /**
   * `onConnect` runs for every new connection; when its socket closes the skeleton connects again.
   * @param endpoint of several the next is tried where one is away
   * @param role of the other side, for the log
   */
  connect(
    endpoint: Endpoint | readonly Endpoint[],
    onConnect: (connection: Connection) => void,
    role: string,
  ): Peer;
  /** The gate, asked before anything is told of what was committed: one of a daemon, opened when it is first
   * wanted; a daemon that has it ends when this machine owns the home no more. */
  kept(): Kept;
  /** Answers `status` under another name, too: of what has one where it is a process of its own. */
  answerAs(name: string, running: Pick<Running, 'status'>): Promise<{ close(): Promise<void> }>;
  /** Aborted when the daemon is told to stop: what takes long to start, starts no further and is stopped all
   * the same. */
  told: AbortSignal;
  /** Ends the daemon because of an error it cannot go on with (a failed fsync): logged, exit status from the
   * error. */
  fail(error: unknown): void;
}

/** A command of the control socket: operands in, anything JSON can carry out, or a promise of it. */
export type Control = (operands: string[]) => unknown;

/** A started daemon. */
export interface Running {
  /** A `StatusOf` its figures. */
  status(): { idle: boolean; [name: string]: unknown };
  /** Finishes what is begun, within a few seconds, and releases everything. */
  stop(): Promise<void>;
  /** Milliseconds that `stop` may take, where that is set and not a few seconds. */
  stopTimeoutMs?: number;
  /** Resolves when nothing is left to do: then it is stopped, and ends with this status. Left out: there is
   * always more. */
  finished?: Promise<ExitStatus>;
  /** Further fields of the log line when it has finished. */
  summary?(): Record<string, number>;
  /** Told by SIGHUP to read again what it reads from files; certificates of listeners are read again without
   * it. */
  reload?(): void;
  controls?: Record<string, Control>;
}

export interface DaemonSpec {
  name: string;
  /** Whatever ends the daemon before it was told to end: to note what its next start must know. @returns what
   * is said of it */
  failed?(error: unknown, config: Config): unknown;
  /** Tells it apart from others of its kind on this machine, unless `$LCC_INSTANCE` does. */
  instance?: string | undefined;
  start(services: Services, config: Config): Promise<Running>;
}
