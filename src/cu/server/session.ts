/**
 * One content user's conversation.
 *
 *     connected ──reader──▶ known ──query──▶ answering ──▶ known …
 *         │                   │  client leaves: over
 *         ╰── refused ◀───────┴── anything wrong, anything that takes too long
 */
import type { Socket } from 'node:net';
import { passOver } from '../../daemon/door.js';
import type { Connection } from '../../daemon/types.js';
import { storageError } from '../../db/sqlite/open.js';
import type { Clock } from '../../lib/clock.js';
import { LccError, messageOf } from '../../lib/errors.js';
import type { FairShare, PeerReading } from '../../lib/fair-share.js';
import type { Log } from '../../lib/log.js';
import type { LoginBackoff } from '../../lib/login-backoff.js';
import { passwordMatches } from '../../lib/password.js';
import type { LccCode } from '../../wire/codes.js';
import { CuReader, refused, type CuEvent, type CuQuery } from '../../wire/cu.js';
import type { StreamSink } from '../sink.js';
import { answer } from './answer.js';
import type { SharedCache } from './cache.js';
import { limitOf, type CuLimit, type CuOptions } from './options.js';
import type { Readers } from './readers.js';

export interface SessionParts {
  options: CuOptions;
  clock: Clock;
  log: Log;
  cache: SharedCache;
  readers: Readers;
  backoff: LoginBackoff;
  /** Of connections: what each may read in a turn of the event loop. */
  share: FairShare;
  counted: (what: 'queries' | 'urls' | 'omitted' | 'refused' | 'bytes', by: number) => void;
}

/** What a client is sent away with. */
export class Refused extends Error {
  readonly code: LccCode;
  constructor(code: LccCode, text: string) {
    super(text);
    this.code = code;
  }
}

export class CuSession {
  readonly #parts: SessionParts;
  readonly #socket: Socket;
  readonly #peer: string;
  readonly #address: string;
  readonly #reading: PeerReading;
  #known: boolean;
  #cancel: (() => void) | undefined;
  #failure: Refused | undefined;
  answering = false;

  constructor(parts: SessionParts, { socket, peer, address }: Connection) {
    this.#parts = parts;
    this.#socket = socket;
    this.#peer = peer;
    this.#address = address;
    this.#reading = parts.share.join();
    // The mode of a Unix socket decides which users may open it.
    this.#known = address === '' || parts.options.anonymous;
    // A client may say its last word and still read.
    socket.allowHalfOpen = true;
  }

  /** Holds the conversation; never rejects but for a bug. */
  async run(): Promise<void> {
    try {
      await this.#converse();
      this.#socket.end();
    } catch (error) {
      this.#sendAway(this.#failure ?? this.#refusalOf(error));
    } finally {
      this.#limit('cu.stall_timeout_ms', () => this.#socket.destroy());
      await closed(this.#socket);
      this.#cancel?.();
    }
  }

  /** Sends the client away, in the middle of an answer if need be. */
  refuse(why: Refused): void {
    this.#failure ??= why;
    this.#sendAway(why);
  }

  async #converse(): Promise<void> {
    const reader = new CuReader(this.#parts.options.xml, this.#peer);
    let bytes = 0;
    this.#awaitQuery();
    for await (const chunk of this.#socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      for await (const slice of this.#reading.slices(chunk)) {
        bytes += slice.length;
        const events = reader.read(slice);
        if (events.length > 0) bytes = 0;
        else if (bytes > this.#parts.options.limits['cu.max_query_bytes'])
          throw this.#over('the query is too long', 'cu.max_query_bytes');
        for (const event of events) {
          if (!(await this.#meet(event))) continue;
          // As where a client is sent away: what is unread would turn the end into a reset.
          passOver(this.#socket);
          return;
        }
      }
    }
    for (const event of reader.end()) await this.#meet(event);
  }

  /** @returns whether it was the last one, as the client says */
  async #meet(event: CuEvent): Promise<boolean> {
    if (this.#failure !== undefined) throw this.#failure;
    switch (event.kind) {
      case 'problem':
        throw new Refused(event.code, event.text);
      case 'reader':
        await this.#logIn(event.name, event.password);
        return false;
      case 'query':
        if (!this.#known) throw new Refused(101, 'say <reader name="…" passwd="…"/> first');
        this.#reading.known();
        await this.#answer(event.query);
        this.#awaitQuery();
        return event.query.last === true;
    }
  }

  async #logIn(name: string, password: string): Promise<void> {
    const { backoff, readers, clock, options, log } = this.#parts;
    const delayMs = backoff.delayMs(name, this.#address);
    if (delayMs > options.limits['cu.query_timeout_ms'])
      throw new Refused(102, 'too many failed logins, try again later');
    if (delayMs > 0) {
      const over = new Promise<void>(resolve => void clock.after(delayMs, resolve));
      await Promise.race([over, closed(this.#socket)]);
      if (this.#failure !== undefined) throw this.#failure;
    }
    if (!passwordMatches(password, readers.password(name))) {
      backoff.failed(name, this.#address);
      throw new Refused(101, 'unknown reader or wrong password');
    }
    backoff.succeeded(name, this.#address);
    this.#known = true;
    this.#reading.known();
    log.debug('reader known', { peer: this.#peer, reader: name });
  }

  async #answer(query: CuQuery): Promise<void> {
    const { cache, options, clock, counted } = this.#parts;
    this.#limit('cu.answer_timeout_ms', () =>
      this.refuse(this.#over('the answer takes too long; go on from the last url', 'cu.answer_timeout_ms')),
    );
    const reader = cache.reader();
    this.answering = true;
    const before = this.#socket.bytesWritten;
    counted('queries', 1);
    try {
      const answered = await answer(query, {
        reader,
        storeDir: options.storeDir,
        nowMs: clock.nowMs(),
        sink: this.#sink(),
        pause: () => new Promise(resolve => void setImmediate(resolve)),
      });
      counted('urls', answered.urls);
      counted('omitted', answered.omitted);
    } catch (error) {
      // Whether its cursor is worth anything there is found out by asking.
      if (!cache.isOpen(reader)) throw new Refused(102, 'the database was replaced, try again');
      throw error;
    } finally {
      this.answering = false;
      counted('bytes', this.#socket.bytesWritten - before);
    }
  }

  /** Waits for a client that does not read, but not for ever. */
  #sink(): StreamSink {
    const { clock, options } = this.#parts;
    return {
      write: async chunk => {
        if (this.#failure !== undefined) throw this.#failure;
        if (this.#socket.destroyed) throw gone();
        if (this.#socket.write(chunk)) return;
        const cancel = clock.after(options.limits['cu.stall_timeout_ms'], () => this.#socket.destroy());
        await drained(this.#socket);
        cancel();
        if (this.#failure !== undefined) throw this.#failure;
        if (this.#socket.destroyed) throw gone();
      },
    };
  }

  #awaitQuery(): void {
    this.#limit('cu.query_timeout_ms', () =>
      this.refuse(this.#over('no complete query in time', 'cu.query_timeout_ms')),
    );
  }

  #limit(
    key: 'cu.query_timeout_ms' | 'cu.answer_timeout_ms' | 'cu.stall_timeout_ms',
    expired: () => void,
  ): void {
    this.#cancel?.();
    this.#cancel = this.#parts.clock.after(this.#parts.options.limits[key], expired);
  }

  #over(what: string, key: CuLimit): Refused {
    return new Refused(106, `${what}: the limit is ${limitOf(this.#parts.options, key)}`);
  }

  #sendAway(why: Refused | undefined): void {
    if (why === undefined) return void this.#socket.destroy();
    if (this.#socket.writableEnded || this.#socket.destroyed) return;
    this.#parts.counted('refused', 1);
    this.#parts.log.info('reader refused', { peer: this.#peer, code: why.code, reason: why.message });
    this.#socket.end(refused(why.code, why.message));
    passOver(this.#socket);
    this.#limit('cu.stall_timeout_ms', () => this.#socket.destroy());
  }

  /** What the client is told of an error; undefined when there is nobody to tell. */
  #refusalOf(error: unknown): Refused | undefined {
    if (error instanceof Refused) return error;
    if (this.#socket.destroyed) return undefined;
    if (error instanceof LccError && error.code === 'usage') return new Refused(104, error.message);
    if (error instanceof LccError && error.code === 'data.refused') return new Refused(108, error.message);
    const named = storageError(this.#parts.options.dbPath, error);
    this.#parts.log.error('cannot answer', { peer: this.#peer, error: messageOf(named) });
    return new Refused(102, 'the LCC cannot be read, try again later');
  }
}

function gone(): LccError {
  return new LccError('peer.unavailable', 'the client has gone');
}

function drained(socket: Socket): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      socket.off('drain', done);
      socket.off('close', done);
      resolve();
    };
    socket.on('drain', done);
    socket.on('close', done);
  });
}

function closed(socket: Socket): Promise<void> {
  return new Promise(resolve => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
}
