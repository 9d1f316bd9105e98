/** One connection to a node of the engine, with the settings that docs/design/keeping.md needs. */
import type { Connection, SqlError } from 'mariadb';
import type * as Driver from 'mariadb';
import { createRequire } from 'node:module';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.js';
import { LccError, messageOf } from '../../lib/errors.js';
import type { EngineAccount, EngineNode } from './nodes.js';

/** A node that answers nothing for this time while it is waited for is given up. */
export const SILENCE_MS = 1500;
const MIN_PACKET_BYTES = 16 * 1024 * 1024;

const SETTINGS = [
  'autocommit = 0',
  "sql_mode = 'STRICT_ALL_TABLES'",
  'idle_write_transaction_timeout = 2',
  'innodb_lock_wait_timeout = 3',
  // MariaDB 10.11 has no variable of this.
  'TRANSACTION ISOLATION LEVEL READ COMMITTED',
];
/** Where there is Galera. Retried by the node, what was committed and told would be lost. */
const GALERA_SETTINGS = ['wsrep_retry_autocommit = 0', 'wsrep_sync_wait = 0'];

/** The answer to a statement that changes rows. */
interface Changed {
  affectedRows: number;
}

export type SqlValue = string | number | Buffer;

/** Loaded here, and nowhere else: an LCC without an engine has nothing of it. */
function driver(): typeof Driver {
  try {
    return createRequire(join(import.meta.dirname, 'session.js'))('mariadb') as typeof Driver;
  } catch (error) {
    throw new LccError('config', `mariadb cannot be loaded (${messageOf(error)}); npm ci installs it`, {
      cause: error,
    });
  }
}

/** Also of a node that has yet to join the others. */
const ER_NO_MAJORITY = 1047;

/** True for what the engine, or the way to it, answered; false for a bug of ours. */
export function isOfEngine(error: unknown): error is SqlError {
  return error instanceof Error && ('errno' in error || 'sqlState' in error);
}

/** Without the statement, which the driver adds. */
export function engineReason(error: unknown): string {
  const reason = messageOf((isOfEngine(error) && error.sqlMessage) || error).slice(0, 200);
  return isOfEngine(error) && error.errno === ER_NO_MAJORITY
    ? `${reason}: its nodes have no majority; lcc-cluster(7), Nodes of Galera`
    : reason;
}

/**
 * With TLS the driver listens for errors to the socket and to its TLS: at the first of one it lets go of the
 * other, whose error nobody hears then, and that ends the process. So it lets go of the socket before TLS
 * begins, with the greeting of the engine.
 * @param handOver has it listen to the socket
 */
function hearOfTlsAlone(socket: Socket, handOver: () => void): void {
  const events = ['error', 'end'] as const;
  const ours = events.map(event => socket.listeners(event));
  socket.once('data', () => {
    for (const [event, listener] of drivers) socket.off(event, listener);
  });
  handOver();
  const drivers = events.flatMap((event, i) =>
    socket
      .listeners(event)
      .filter(listener => ours[i]?.includes(listener) === false)
      .map(listener => [event, listener as () => void] as const),
  );
}

export class EngineSession {
  readonly #connection: Connection;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #silenceMs: number;
  #hasGalera = false;
  #cancelSilence: () => void = () => undefined;
  isOver = false;

  private constructor(connection: Connection, socket: Socket, clock: Clock, silenceMs: number) {
    this.#connection = connection;
    this.#socket = socket;
    this.#clock = clock;
    this.#silenceMs = silenceMs;
    socket.once('close', () => (this.isOver = true));
    connection.on('error', () => this.cut());
  }

  /** @throws LccError `config` for a node that would lose what it has acknowledged; as the driver */
  static async open(
    { host, port }: EngineNode,
    { user, password, database, ca }: EngineAccount,
    clock: Clock,
    silenceMs: number,
  ): Promise<EngineSession> {
    const socket = connect({ host, port, noDelay: true });
    // The driver has its own way to hear of it.
    socket.on('error', () => undefined);
    let session: EngineSession | undefined;
    // The name that its certificate has: the driver tells TLS of a socket alone.
    const ssl = ca === undefined ? {} : { ssl: { ca, host } };
    try {
      const connection = await driver().createConnection({
        host,
        port,
        user,
        password,
        database,
        ...ssl,
        // Cut here, for a driver that ends a connection connects once more to have its query killed.
        stream: (called: (error?: Error, stream?: Socket) => void) => {
          const handOver = () => called(undefined, socket);
          if (ca === undefined) handOver();
          else hearOfTlsAlone(socket, handOver);
        },
        connectTimeout: silenceMs,
        // None is sent before the one before is answered.
        pipelining: false,
        // Parameters would be pages, in messages.
        logParam: false,
        bigIntAsNumber: true,
        checkNumberRange: true,
      });
      session = new EngineSession(connection, socket, clock, silenceMs);
      await session.#prepare(`${host}:${port}`);
      return session;
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  async #prepare(where: string): Promise<void> {
    const found = await this.all<{ Value: string }>("SHOW VARIABLES LIKE 'wsrep_retry_autocommit'");
    this.#hasGalera = found.length > 0;
    for (const setting of [...SETTINGS, ...(this.#hasGalera ? GALERA_SETTINGS : [])])
      await this.change(`SET SESSION ${setting}`);
    const [server] = await this.all<{ flush: number; packet: number }>(
      'SELECT @@innodb_flush_log_at_trx_commit AS flush, @@max_allowed_packet AS packet',
    );
    if (server?.flush !== 1)
      throw new LccError('config', `${where}: set innodb_flush_log_at_trx_commit = 1 in the engine`);
    if (server.packet < MIN_PACKET_BYTES)
      throw new LccError('config', `${where}: set max_allowed_packet = 16M, or more, in the engine`);
    await this.change('ROLLBACK');
  }

  /** Rows, as this node has them. */
  all<T>(sql: string, ...values: SqlValue[]): Promise<T[]> {
    return this.#answer<T[]>(sql, values);
  }

  /** Rows, after this node has all that any node has committed by now. First in its transaction. */
  allSynced<T>(sql: string, ...values: SqlValue[]): Promise<T[]> {
    return this.all(this.#hasGalera ? `SET STATEMENT wsrep_sync_wait = 1 FOR ${sql}` : sql, ...values);
  }

  /** @returns how many rows it has found to change */
  async change(sql: string, ...values: SqlValue[]): Promise<number> {
    return (await this.#answer<Changed>(sql, values)).affectedRows;
  }

  /** Ends it at once; what it was asked fails. */
  cut(why = 'cut'): void {
    this.isOver = true;
    this.#cancelSilence();
    // The driver notices an error, and no end that is made here.
    this.#socket.destroy(new Error(why));
  }

  async #answer<T>(sql: string, values: readonly SqlValue[]): Promise<T> {
    this.#cancelSilence = this.#clock.after(this.#silenceMs, () =>
      this.cut(`no answer for ${this.#silenceMs} ms`),
    );
    try {
      // As text: asked to prepare a statement, MariaDB forgets that another node has undone the transaction,
      // and what follows would be committed alone.
      return await this.#connection.query<T>(sql, values);
    } finally {
      this.#cancelSilence();
    }
  }
}
