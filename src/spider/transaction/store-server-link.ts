/**
 * The connection to one store server: records go out one after the other, in the order in which their fetches
 * ended, and are confirmed in that order.
 *
 *     away ──connected──▶ greeting ──hello──▶ confirming
 *       ▲                    │ ╰──nothing──▶ silent ──hello──▶ confirming
 *       ╰────────lost────────┴──────────────────╯
 *
 * `confirming`: it acknowledges each record, and none counts as stored before. `silent`: it does not know of
 * acknowledgements; a record is stored when the system has taken all of it. While it is `greeting`, records
 * go out, and none is stored. Whatever begins with anything but the hello is no store server, and its
 * connection is closed. A server that has once said hello, or something else, is never taken for a silent
 * one. What was not confirmed on a lost connection goes out again on the next, whole records in their order.
 */
import type { Socket } from 'node:net';
import type { Connection } from '../../daemon/types.js';
import type { SpoolSink } from '../../fetch/spool-sink.js';
import type { Clock } from '../../lib/clock.js';
import { messageOf } from '../../lib/errors.js';
import { Fifo } from '../../lib/fifo.js';
import type { Log } from '../../lib/log.js';
import { shownBytes } from '../../lib/shown-bytes.js';
import { transitions, type StateOf } from '../../lib/states.js';
import { STORE_HELLO } from '../../wire/spider-record.js';

const HELLO = Buffer.from(STORE_HELLO);
const ACK_BYTES = 4;

const enter = transitions('store server', {
  away: ['greeting'],
  greeting: ['confirming', 'silent', 'away'],
  confirming: ['away'],
  silent: ['confirming', 'away'],
});

type StoreServerState = StateOf<typeof enter>;

/** A record on its way, and what is told of it. */
export interface OutgoingRecord {
  readonly docId: number;
  readonly head: Buffer;
  readonly content: Pick<SpoolSink, 'chunks' | 'isSpooled' | 'length' | 'piece'>;
  written(): void;
  unwritten(): void;
  stored(): void;
}

export interface StoreServerOptions {
  /** For the log. */
  name: string;
  /** So long after its first record a server that has said nothing is silent. */
  helloTimeoutMs: number;
  /** With records under way, a connection on which nothing moves for this long is given up. */
  stallTimeoutMs: number;
  clock: Clock;
  log: Log;
}

/** Written, or being written, and not stored. */
interface Sent {
  record: OutgoingRecord;
  isWhole: boolean;
  /** The system has taken all of it. */
  hasLeft: boolean;
}

export class StoreServer {
  readonly #options: StoreServerOptions;
  #state: StoreServerState = 'away';
  #socket: Socket | undefined;
  #waiting = new Fifo<OutgoingRecord>();
  #sent = new Fifo<Sent>();
  /** Acknowledgements to come for records that counted as stored before the server said hello. */
  #early = 0;
  #heard: Buffer = Buffer.alloc(0);
  #knowsHello = false;
  /** Something else answered there, and no hello came since. */
  #isForeign = false;
  #isWriting = false;
  #movedMs = 0;
  #cancelHello: (() => void) | undefined;
  #cancelStall: (() => void) | undefined;
  /** Records that went out once more. */
  resentCount = 0;

  constructor(options: StoreServerOptions) {
    this.#options = options;
  }

  get state(): StoreServerState {
    return this.#state;
  }

  /** Records that are not stored. */
  get openCount(): number {
    return this.#waiting.length + this.#sent.length;
  }

  deliver(record: OutgoingRecord): void {
    this.#waiting.push(record);
    this.#pump();
  }

  /** A new connection to it; the one before is gone. */
  connected({ socket }: Connection): void {
    this.#socket = socket;
    this.#enter('greeting');
    this.#heard = Buffer.alloc(0);
    this.#early = 0;
    this.#isWriting = false;
    this.#moved();
    socket
      .on('data', (bytes: Buffer) => this.#hear(socket, bytes))
      .on('drain', () => {
        this.#moved();
        this.#pump();
      })
      .on('error', error =>
        this.#options.log.debug('store server: connection failed', { error: messageOf(error) }),
      )
      .on('close', () => this.#lost(socket));
    this.#watch(socket);
    this.#pump();
  }

  /** Ends the connection in good order. */
  close(): void {
    this.#socket?.end();
  }

  // Out

  #pump(): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    while (!this.#isWriting && !socket.writableNeedDrain && socket.writable) {
      const record = this.#waiting.shift();
      if (record === undefined) return;
      this.#write(socket, record);
    }
  }

  #write(socket: Socket, record: OutgoingRecord): void {
    const sent: Sent = { record, isWhole: false, hasLeft: false };
    if (this.#sent.length === 0) this.#moved();
    this.#cancelHello ??= this.#awaitHello();
    this.#sent.push(sent);
    const { head, content } = record;
    if (content.isSpooled) {
      this.#isWriting = true;
      void this.#writeFile(socket, sent);
      return;
    }
    const { chunks } = content;
    socket.cork();
    const last = chunks.length - 1;
    const hasLeft = (error?: Error | null) => {
      if (!error) this.#hasLeft(socket, sent);
    };
    socket.write(head, last < 0 ? hasLeft : undefined);
    chunks.forEach((chunk, at) => socket.write(chunk, at === last ? hasLeft : undefined));
    socket.uncork();
    this.#isWhole(sent);
  }

  /** Piece after piece, each when the one before has left. */
  async #writeFile(socket: Socket, sent: Sent): Promise<void> {
    const { head, content } = sent.record;
    const put = (bytes: Uint8Array) =>
      new Promise<void>((resolve, reject) =>
        socket.write(bytes, error => {
          this.#moved();
          if (error) reject(error);
          else resolve();
        }),
      );
    try {
      await put(head);
      for (let at = 0; at < content.length;) {
        const piece = await content.piece(at);
        if (piece.length === 0) throw new Error('its file has become shorter');
        await put(piece);
        at += piece.length;
      }
    } catch (error) {
      // Half a record is on this connection: nothing more can follow it.
      if (!socket.destroyed)
        this.#options.log.error('store server: document not read, connecting again', {
          error: messageOf(error),
        });
      socket.destroy();
      return;
    }
    if (this.#socket !== socket) return;
    this.#isWriting = false;
    this.#isWhole(sent);
    this.#hasLeft(socket, sent);
    this.#pump();
  }

  #isWhole(sent: Sent): void {
    sent.isWhole = true;
    sent.record.written();
  }

  #hasLeft(socket: Socket, sent: Sent): void {
    if (this.#socket !== socket || socket.destroyed) return;
    sent.hasLeft = true;
    this.#moved();
    if (this.#state === 'silent') this.#settleLeft();
  }

  // In

  #hear(socket: Socket, bytes: Buffer): void {
    if (this.#socket !== socket) return;
    this.#moved();
    this.#heard = this.#heard.length === 0 ? bytes : Buffer.concat([this.#heard, bytes]);
    if (this.#state !== 'confirming' && !this.#isGreeted()) return;
    let at = 0;
    for (; at + ACK_BYTES <= this.#heard.length; at += ACK_BYTES)
      if (!this.#isConfirmed(this.#heard.readUInt32BE(at))) {
        this.#options.log.error('store server: acknowledges another record than it got, connecting again', {
          to: this.#options.name,
        });
        socket.destroy();
        return;
      }
    this.#heard = this.#heard.subarray(at);
  }

  /** Not before it has a record: what speaks another language may say nothing until then. */
  #awaitHello(): () => void {
    const { clock, helloTimeoutMs } = this.#options;
    return clock.after(helloTimeoutMs, () => {
      if (this.#state !== 'greeting' || this.#knowsHello || this.#isForeign) return;
      if (this.#heard.length > 0) this.#turnAway();
      else this.#isSilent();
    });
  }

  /** True if the hello has come. */
  #isGreeted(): boolean {
    const begun = this.#heard.subarray(0, HELLO.length);
    if (!HELLO.subarray(0, begun.length).equals(begun)) {
      this.#turnAway();
      return false;
    }
    if (begun.length < HELLO.length) return false;
    this.#heard = this.#heard.subarray(HELLO.length);
    this.#knowsHello = true;
    this.#isForeign = false;
    this.#enter('confirming');
    return true;
  }

  /** The peer is no store server: nobody knows what it does with records. Logged once, for it is asked again
   * and again. */
  #turnAway(): void {
    const { log, name } = this.#options;
    const event = `${name} is no store server, and gets no records: correct --store, or start lccstored there`;
    log[this.#isForeign ? 'debug' : 'error'](event, { sent: shownBytes(this.#heard.toString('latin1')) });
    this.#isForeign = true;
    this.#socket?.destroy();
  }

  #isConfirmed(docId: number): boolean {
    if (this.#early > 0) {
      this.#early--;
      return true;
    }
    const first = this.#sent.peek();
    if (first === undefined || !first.isWhole || first.record.docId !== docId) return false;
    this.#sent.shift();
    first.record.stored();
    return true;
  }

  #isSilent(): void {
    this.#enter('silent');
    this.#options.log.warn(
      'store server does not acknowledge; what it has not written when it ends is lost',
      {
        to: this.#options.name,
      },
    );
    this.#settleLeft();
  }

  #settleLeft(): void {
    while (this.#sent.peek()?.hasLeft === true) {
      const sent = this.#sent.shift();
      this.#early++;
      sent?.record.stored();
    }
  }

  // The end of a connection

  #lost(socket: Socket): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    this.#cancelHello?.();
    this.#cancelHello = undefined;
    this.#cancelStall?.();
    this.#enter('away');
    const again = new Fifo<OutgoingRecord>();
    for (const { record, isWhole } of this.#sent.toArray()) {
      this.resentCount++;
      if (isWhole) record.unwritten();
      again.push(record);
    }
    for (const record of this.#waiting.toArray()) again.push(record);
    this.#waiting = again;
    this.#sent = new Fifo();
  }

  #watch(socket: Socket): void {
    const { clock, stallTimeoutMs, log, name } = this.#options;
    this.#cancelStall = clock.after(stallTimeoutMs / 4, () => {
      if (this.#socket !== socket) return;
      const isOwed = this.#sent.length > 0;
      if (isOwed && clock.monotonicMs() - this.#movedMs >= stallTimeoutMs) {
        log.warn('store server: nothing moves, connecting again', { to: name, records: this.#sent.length });
        socket.destroy();
      } else this.#watch(socket);
    });
  }

  #moved(): void {
    this.#movedMs = this.#options.clock.monotonicMs();
  }

  #enter(to: StoreServerState): void {
    this.#state = enter(this.#state, to, this.#options.name);
  }
}

export class StoreServers {
  readonly #servers: readonly StoreServer[];

  /** @param servers one at least */
  constructor(servers: readonly StoreServer[]) {
    this.#servers = servers;
  }

  deliver(record: OutgoingRecord): void {
    this.#servers[record.docId % this.#servers.length]?.deliver(record);
  }

  get awayCount(): number {
    return this.#servers.filter(({ state }) => state === 'away').length;
  }

  /** Records that went out once more. */
  get resentCount(): number {
    return this.#servers.reduce((sum, { resentCount }) => sum + resentCount, 0);
  }

  close(): void {
    for (const server of this.#servers) server.close();
  }
}
