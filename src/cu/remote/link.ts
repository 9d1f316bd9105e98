/** A connection to an lccd-cu elsewhere: queries that name columns, and the events of their answers. */
import type { Socket } from 'node:net';
import { SECOND } from '../../config/amounts.js';
import type { Clock } from '../../lib/clock.js';
import { connectFailure } from '../../lib/connect-failure.js';
import { dial, type Trust } from '../../lib/dial.js';
import { formatEndpoint, type Endpoint } from '../../lib/endpoint.js';
import { LccError, messageOf } from '../../lib/errors.js';
import { CuAnswerReader, formatQuery, formatReader, type CuAnswerEvent } from '../../wire/cu-rows.js';

/** Until it can be spoken on, and between two pieces of an answer. */
const SILENCE_MS = 60 * SECOND;

const IS_IT = 'is it what cu.listen of an lccd-cu names?';

export interface RemoteOptions {
  /** The next is asked where one is away. */
  endpoints: readonly Endpoint[];
  /** Undefined: it need not be said who asks. */
  login?: { name: string; password: string } | undefined;
  /** Certificates that are believed, and shown; instead of those Node comes with. */
  trust: () => Trust;
  /** Rows with content on a machine that does not answer are left out; otherwise they end the stream. */
  skipsAway?: boolean | undefined;
  /** For which it may be away before others get their turn; undefined: an hour. */
  patienceMs?: number | undefined;
  clock: Clock;
  /** Called after a connection broke. */
  note: (message: string) => void;
}

/** A query, as far as it is not the same each time. */
export type RowsQuery = Parameters<typeof formatQuery>[0];

export class CuLink {
  readonly #options: RemoteOptions;
  #socket: Socket | undefined;
  #chunks: AsyncIterator<Buffer> | undefined;
  #reader: CuAnswerReader;
  /** Number of those that were away. */
  #turn = 0;
  /** True once the server has answered as an lccd-cu does. */
  #isKnown = false;

  constructor(options: RemoteOptions) {
    this.#options = options;
    this.#reader = new CuAnswerReader('');
  }

  /** The one that is asked. */
  get where(): string {
    return formatEndpoint(this.#endpoint);
  }

  get #endpoint(): Endpoint {
    const { endpoints } = this.#options;
    const endpoint = endpoints[this.#turn % endpoints.length];
    if (endpoint === undefined) throw new LccError('bug', 'no lccd-cu to ask');
    return endpoint;
  }

  /**
   * Asks, over the connection there is, or a new one; each event must be taken before the next comes.
   * @throws LccError `peer.unavailable` where the connection broke or is refused for now, which passes;
   *   `auth.refused`, `data.refused` (the cursor), `peer.rejected`, `peer.protocol`
   */
  async *ask(query: RowsQuery): AsyncGenerator<CuAnswerEvent, void> {
    let isWhole = false;
    try {
      const chunks = (this.#chunks ??= await this.#connect());
      this.#socket?.write(formatQuery(query));
      while (!isWhole) {
        const { value, done } = await this.#within(chunks.next());
        if (done === true) throw broken(this.where, this.#isKnown ? 'closed' : `hangs up; ${IS_IT}`);
        for (const event of this.#read(value)) {
          if (event.kind === 'refused') throw this.#refusalOf(event);
          if (event.kind === 'end') isWhole = true;
          yield event;
        }
      }
    } catch (error) {
      const known = error instanceof LccError ? error : broken(this.where, messageOf(error));
      if (known.code === 'peer.unavailable') this.#turn++;
      throw known;
    } finally {
      // The rest of an answer would be taken for that of the next query.
      if (!isWhole) this.close();
    }
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#chunks = undefined;
  }

  async #connect(): Promise<AsyncIterator<Buffer>> {
    const { login, trust } = this.#options;
    this.#isKnown = false;
    this.#reader = new CuAnswerReader(this.where);
    let ready: () => void = () => undefined;
    const isReady = new Promise<void>(resolve => (ready = resolve));
    const socket = (this.#socket = dial(this.#endpoint, trust(), () => ready()));
    const failed = new Promise<never>((_, reject) => socket.once('error', reject));
    failed.catch(() => undefined);
    try {
      await this.#within(Promise.race([isReady, failed]));
    } catch (error) {
      throw error instanceof LccError ? error : broken(this.where, connectFailure(error));
    }
    if (login !== undefined) socket.write(formatReader(login.name, login.password));
    return socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  async #within<T>(event: Promise<T>): Promise<T> {
    const { clock, patienceMs = SILENCE_MS } = this.#options;
    // Once it has answered, a selection of little may take its time.
    const silenceMs = this.#isKnown ? SILENCE_MS : Math.min(SILENCE_MS, patienceMs);
    const cancel = clock.after(silenceMs, () =>
      this.#socket?.destroy(broken(this.where, `silent for ${silenceMs / SECOND} s`)),
    );
    try {
      return await event;
    } finally {
      cancel();
    }
  }

  /** @throws LccError `peer.protocol` */
  #read(bytes: Buffer): CuAnswerEvent[] {
    try {
      const events = this.#reader.read(bytes);
      this.#isKnown ||= events.length > 0;
      return events;
    } catch (error) {
      if (this.#isKnown || !(error instanceof LccError)) throw error;
      throw new LccError(error.code, `${error.message}; ${IS_IT}`, { cause: error });
    }
  }

  #refusalOf({ code, text }: { code: number; text: string }): LccError {
    switch (code) {
      case 101:
        return new LccError('auth.refused', `${this.where}: ${text}; give --reader and --pwdfile`);
      case 108:
        return new LccError('data.refused', text);
      case 104:
        return new LccError(
          'peer.rejected',
          / fields/.test(text)
            ? `${this.where}: an lccd-cu that is too old for --from (${text}); upgrade it`
            : `${this.where}: ${text}`,
        );
      case 102:
      case 106:
        return broken(this.where, text);
      default:
        return new LccError('peer.rejected', `${this.where}: ${code}: ${text}`);
    }
  }
}

function broken(where: string, why: string): LccError {
  return new LccError('peer.unavailable', `${where}: ${why}`);
}
