/**
 * One content user's conversation.
 *
 *     connected ──reader──▶ known ──query──▶ answering ──▶ known …
 *         │                   │  client leaves: over
 *         ╰── refused ◀───────┴── anything wrong, anything that takes too long
 */
import { limitIn } from '../../config/settings/index.js';
import type { Connection } from '../../daemon/types.js';
import { storageError } from '../../db/sqlite/open.js';
import type { Clock } from '../../lib/clock.js';
import { Conversation } from '../../lib/conversation.js';
import { LccError, messageOf } from '../../lib/errors.js';
import type { FairShare, PeerReading } from '../../lib/fair-share.js';
import type { Log } from '../../lib/log.js';
import type { LoginBackoff } from '../../lib/login-backoff.js';
import { passwordMatches } from '../../lib/password.js';
import { CuReader, refused, type CuEvent, type CuQuery } from '../../wire/cu.js';
import { Refusal } from '../../wire/refusal.js';
import type { WhenShipped } from '../../daemon/when-shipped.js';
import type { StreamSink } from '../sink.js';
import { answer } from './answer.js';
import type { PeerContents } from '../peers/contents.js';
import type { SharedCache } from './cache.js';
import type { Counted } from './figures.js';
import type { CuOptions } from './options.js';

/** Time for a complete query, from the connection or the last answer. */
const QUERY_TIMEOUT_MS = 60_000;
/** Length of a query, and of what surrounds it. */
const MAX_QUERY_BYTES = 16 * 1024;

/** Parts that all content users share, however they ask. */
export interface CuParts {
  options: CuOptions;
  clock: Clock;
  log: Log;
  cache: SharedCache;
  /** Where content of other machines is had. */
  peers?: PeerContents | undefined;
  /** Resolves when what was looked at is in the engine. */
  shipped: WhenShipped;
  backoff: LoginBackoff;
  counted: Counted;
}

export interface CuSessionParts extends CuParts {
  /** Bytes that connections may read in a turn of the event loop. */
  share: FairShare;
}

/** Bytes that a client may still send after our last word. */
const PARTING_BYTES = 128 * 1024;

export class CuSession {
  readonly #parts: CuSessionParts;
  readonly #talk: Conversation;
  readonly #peer: string;
  readonly #address: string;
  readonly #reading: PeerReading;
  #known: boolean;
  #isParting = false;
  answering = false;

  constructor(parts: CuSessionParts, { socket, peer, address }: Connection, isKnown: boolean) {
    this.#parts = parts;
    this.#talk = new Conversation(socket, peer, parts.clock);
    this.#peer = peer;
    this.#address = address;
    this.#reading = parts.share.join();
    // The mode of a Unix socket decides which users may open it.
    this.#known = isKnown || address === '' || parts.options.anonymous;
  }

  /** Holds the conversation; never rejects but for a bug. */
  async run(): Promise<void> {
    try {
      await this.#converse();
    } catch (error) {
      const why = this.#refusalOf(error);
      if (why === undefined) return this.#talk.destroy();
      this.#parts.counted('refused', 1);
      this.#parts.log.info('reader refused', { peer: this.#peer, code: why.code, reason: why.message });
      this.#talk.say(refused(why.code, why.message));
    }
    this.#isParting = true;
    const lingerMs = this.#parts.options.limits.stallTimeoutMs;
    await this.#talk.part(lingerMs, { reading: this.#reading, maxBytes: PARTING_BYTES });
  }

  /** Sends the client away, in the middle of an answer if need be; not one that has its last word. */
  refuse(why: Refusal): void {
    if (!this.#isParting) this.#talk.interrupt(why);
  }

  async #converse(): Promise<void> {
    const reader = new CuReader(this.#parts.options.xml, this.#peer);
    let bytes = 0;
    this.#awaitQuery();
    for await (const slice of this.#talk.slices(this.#reading)) {
      bytes += slice.length;
      const events = reader.read(slice);
      if (events.length > 0) bytes = 0;
      else if (bytes > MAX_QUERY_BYTES) throw new Refusal(106, 'the query is too long: the limit is 16 KB');
      for (const event of events) if (await this.#meet(event)) return;
    }
    for (const event of reader.end()) await this.#meet(event);
  }

  /** @returns whether it was the last one, as the client says */
  async #meet(event: CuEvent): Promise<boolean> {
    switch (event.kind) {
      case 'problem':
        throw new Refusal(event.code, event.text);
      case 'reader':
        await this.#logIn(event.name, event.password);
        return false;
      case 'query':
        if (!this.#known) throw new Refusal(101, 'say <reader name="…" passwd="…"/> first');
        this.#reading.known();
        await this.#answer(event.query);
        this.#awaitQuery();
        return event.query.last === true;
    }
  }

  async #logIn(name: string, password: string): Promise<void> {
    const { backoff, log, options } = this.#parts;
    const delayMs = backoff.delayMs(name, this.#address);
    if (delayMs > QUERY_TIMEOUT_MS) throw new Refusal(102, 'too many failed logins, try again later');
    if (delayMs > 0) await this.#talk.rest(delayMs);
    if (!passwordMatches(password, options.readers.password(name))) {
      backoff.failed(name, this.#address);
      throw new Refusal(101, 'unknown reader or wrong password');
    }
    backoff.succeeded(name, this.#address);
    this.#known = true;
    this.#reading.known();
    log.debug('reader logged in', { peer: this.#peer, reader: name });
  }

  async #answer(query: CuQuery): Promise<void> {
    const { cache, options, peers, clock, counted, shipped } = this.#parts;
    const { answerTimeoutMs } = options.limits;
    this.#talk.limit(answerTimeoutMs, () =>
      tooLong(
        'the answer takes too long; go on from the last url',
        limitIn({ cu: options.limits }, 'cu.answer_timeout_ms'),
      ),
    );
    const reader = cache.reader();
    this.answering = true;
    counted('queries', 1);
    try {
      const answered = await answer(query, {
        reader,
        storeDir: options.storeDir,
        nowMs: clock.nowMs(),
        sink: this.#sink(),
        peers,
        shipped,
        pause: () => this.#talk.turn(),
      });
      counted('urls_sent', answered.urls);
      counted('urls_omitted', answered.omitted);
    } catch (error) {
      throw cache.errorOf(reader, error);
    } finally {
      this.answering = false;
    }
  }

  /** Waits for a client that does not read, but not for ever. */
  #sink(): StreamSink {
    const { counted, options } = this.#parts;
    return {
      write: chunk => {
        counted('bytes_sent', Buffer.byteLength(chunk));
        return this.#talk.write(chunk, options.limits.stallTimeoutMs, gone);
      },
    };
  }

  #awaitQuery(): void {
    this.#talk.limit(QUERY_TIMEOUT_MS, () => tooLong('no complete query in time', '1 min'));
  }

  /** The refusal that the client is told; undefined when there is nobody to tell. */
  #refusalOf(error: unknown): Refusal | undefined {
    if (error instanceof Refusal) return error;
    if (error instanceof LccError && error.code === 'peer.unavailable') return undefined;
    if (error instanceof LccError && error.code === 'usage') return new Refusal(104, error.message);
    if (error instanceof LccError && error.code === 'data.refused') return new Refusal(108, error.message);
    if (error instanceof LccError && error.code === 'try.later') {
      this.#parts.log.warn('cannot answer now', { peer: this.#peer, error: error.message });
      return new Refusal(102, 'some of it cannot be read now, try again later');
    }
    const named = storageError(this.#parts.options.dbPath, error);
    this.#parts.log.error('cannot answer', { peer: this.#peer, error: messageOf(named) });
    return new Refusal(102, 'the LCC cannot be read, try again later');
  }
}

function gone(): LccError {
  return new LccError('peer.unavailable', 'the client has gone');
}

function tooLong(what: string, limit: string): Refusal {
  return new Refusal(106, `${what}: the limit is ${limit}`);
}
