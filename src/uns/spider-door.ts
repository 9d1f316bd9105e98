/** Where what its owner did not announce comes in: pushes, links, scans and audits (docs/design/spidering.md,
 * docs/design/push.md), by a Unix socket whose permission is the login; a second one takes pushes alone.
 * Many sets on one connection, each of one provider and for itself: it is answered in its turn when it is on
 * disk, or when it is refused, and the next goes on all the same. While MAX_UNANSWERED are not answered
 * nothing more is read. */
import { MAX_REPLY_BYTES } from './options.js';
import type { Connection } from '../daemon/types.js';
import type { Provider } from '../db/providers/pidb.js';
import { limitText } from '../config/settings/index.js';
import { Conversation } from '../lib/conversation.js';
import { LccError, messageOf } from '../lib/errors.js';
import {
  CpReader,
  SET_RESULT_START,
  setAccepted,
  setRejected,
  type CpEvent,
  type SentUrl,
} from '../wire/cp-uns/server.js';
import { isPush, type SetOrigin } from '../wire/origin.js';
import { Refusal } from '../wire/refusal.js';
import { acceptSet } from './acceptance.js';
import type { SessionParts } from './session.js';
import { SetSpooling } from './set-spooling.js';

export type SpiderDoorParts = Pick<
  SessionParts,
  'options' | 'clock' | 'log' | 'intake' | 'rations' | 'pidb' | 'absorptions' | 'share' | 'counted'
>;

/** Sets of a connection that are being made durable, or wait for others to be answered. */
export const MAX_UNANSWERED = 64;
const LINGER_MS = 1000;

/** A set that is being read, and what has been said of its urls; without `spooling` it is refused. */
interface OpenSet {
  pid: number;
  spooling: SetSpooling | undefined;
  refusal: Refusal | undefined;
  errors: string;
}

export class SpiderDoor {
  readonly #parts: SpiderDoorParts;
  readonly #open = new Map<Conversation, Promise<void>>();

  constructor(parts: SpiderDoorParts) {
    this.#parts = parts;
  }

  /** Never rejects but for a bug. @param isPusher it may only push */
  async accept({ socket, peer }: Connection, isPusher = false): Promise<void> {
    const talk = new Conversation(socket, `spider door ${peer}`, this.#parts.clock);
    const ended = this.#converse(talk, isPusher).finally(() => {
      this.#open.delete(talk);
      talk.destroy();
    });
    this.#open.set(talk, ended);
    await ended;
  }

  /** Ends all conversations; what is becoming durable is finished and answered first. */
  async stop(): Promise<void> {
    for (const talk of this.#open.keys()) talk.interrupt(new Refusal(102, 'the UNS stops, try again later'));
    await Promise.allSettled(this.#open.values());
  }

  async #converse(talk: Conversation, isPusher = false): Promise<void> {
    const { options, log } = this.#parts;
    const visit = new Visit(this.#parts, talk, isPusher);
    let refusal: Refusal | undefined;
    try {
      await visit.run();
    } catch (error) {
      await visit.abandon();
      if (error instanceof Refusal) refusal = error;
      else if (!(error instanceof LccError)) throw error;
      else if (error.code !== 'peer.unavailable') {
        log.error('cannot take a set', { peer: 'spider', error: messageOf(error) });
        refusal = new Refusal(102, 'temporarily off-line, try again later: the log of the LCC says why');
      }
    }
    talk.calm();
    await visit.answered();
    if (refusal !== undefined) talk.say(setRejected(refusal.code, refusal.message, false));
    await talk.part(LINGER_MS, { maxBytes: options.xml.maxHelloBytes });
  }
}

/** One connection. */
class Visit {
  readonly #parts: SpiderDoorParts;
  readonly #talk: Conversation;
  readonly #reader: CpReader;
  /** True if it may only push. */
  readonly #isPusher: boolean;
  #set: OpenSet | undefined;
  #unanswered = 0;
  /** The answers so far, in their order. */
  #answers: Promise<void> = Promise.resolve();

  constructor(parts: SpiderDoorParts, talk: Conversation, isPusher: boolean) {
    this.#parts = parts;
    this.#talk = talk;
    this.#isPusher = isPusher;
    this.#reader = new CpReader(parts.options.xml, 'spider', 'spider');
  }

  /** Until the client has said its last word. @throws Refusal, LccError */
  async run(): Promise<void> {
    const { options, share } = this.#parts;
    const reading = share.join();
    reading.known();
    const limitMs = options.limits.idleTimeoutMs;
    const late = () => new Refusal(106, `silent for ${limitText('uns.idle_timeout_ms', limitMs)}`);
    for (;;) {
      // Between two sets a crawl may have nothing to say for long.
      if (this.#set !== undefined) this.#talk.limit(limitMs, late);
      const slice = await this.#talk.next(reading);
      this.#talk.unlimited();
      if (slice === undefined) break;
      await reading.turn(slice.length);
      for (const event of this.#reader.read(slice)) await this.#heard(event);
      await this.#set?.spooling?.paced();
    }
    for (const event of this.#reader.end()) await this.#heard(event);
  }

  /** Forgets the set that is open. */
  async abandon(): Promise<void> {
    await this.#set?.spooling?.abort();
    this.#set = undefined;
  }

  /** Resolves when each set that has been read is answered. */
  answered(): Promise<void> {
    return this.#answers;
  }

  async #heard(event: CpEvent): Promise<void> {
    switch (event.kind) {
      case 'set':
        await this.#talk.until(() => this.#unanswered < MAX_UNANSWERED);
        this.#set = this.#begin(event);
        return;
      case 'urls':
        return this.#take(event.urls);
      case 'setEnd':
        return this.#end();
      case 'problem':
        throw new Refusal(event.code, event.text);
      case 'init':
        throw new Refusal(104, 'nobody logs in here');
    }
  }

  #begin({ urlprefix, unasked }: Extract<CpEvent, { kind: 'set' }>): OpenSet {
    if (unasked === undefined) throw new Refusal(104);
    const { options, clock, pidb } = this.#parts;
    const { pid, origin } = unasked;
    const set: OpenSet = { pid, spooling: undefined, refusal: undefined, errors: '' };
    this.#refusing(set, () => {
      const provider = pidb.provider(pid);
      if (provider === undefined) throw new Refusal(101, `provider ${pid} is unknown`);
      if (!provider.enabled) throw new Refusal(105, `provider ${pid} is disabled`);
      this.#demand(provider, origin);
      const atS = Math.floor(clock.nowMs() / 1000);
      const start = { set: 'partial' as const, urlprefix, ip: '', atS, origin };
      set.spooling = new SetSpooling(options, this.#parts, { provider, seq: 0, errseen: 0 }, start);
    });
    return set;
  }

  /** @throws Refusal where such a set is not taken of a provider */
  #demand({ pid, spider, push }: Pick<Provider, 'pid' | 'spider' | 'push'>, origin: SetOrigin): void {
    if (this.#isPusher && !isPush(origin)) throw new Refusal(104, 'this door takes pushes alone');
    if (origin === 'links' && !spider)
      throw new Refusal(105, `the pages of provider ${pid} are not followed (lccpidb set --spider=yes)`);
    if (isPush(origin) && push === '')
      throw new Refusal(105, `nothing is pushed of provider ${pid} (lccpidb set --push=indexnow,ping,feed)`);
  }

  async #take(urls: readonly SentUrl[]): Promise<void> {
    const set = this.#set;
    const { spooling } = set ?? {};
    if (set === undefined || spooling === undefined) return;
    this.#refusing(set, () => {
      let bytes = 0;
      for (const { raw } of urls) bytes += raw.length;
      spooling.countBytes(bytes);
      const errors = spooling.take(urls);
      // The client is told how many, and the first of them.
      if (set.errors.length + errors.length <= MAX_REPLY_BYTES) set.errors += errors;
    });
    if (set.refusal === undefined) return;
    set.spooling = undefined;
    await spooling.abort();
  }

  /** The next set is read while this one becomes durable. */
  #end(): void {
    const set = this.#set;
    this.#set = undefined;
    if (set === undefined) return;
    this.#unanswered++;
    const answer = this.#settle(set);
    this.#answers = this.#answers.then(async () => {
      const text = await answer;
      this.#unanswered--;
      // A client that is gone asks again with the next one.
      await this.#talk.write(text).catch(() => undefined);
      this.#talk.stir();
    });
  }

  /** @returns what is answered */
  async #settle({ pid, spooling, refusal, errors }: OpenSet): Promise<string> {
    const { counted, log } = this.#parts;
    try {
      if (refusal !== undefined || spooling === undefined) throw refusal ?? new Refusal(102);
      await acceptSet(spooling, this.#parts);
      counted('accepted', 1);
      counted('urls', spooling.received);
      log.debug('set accepted', { peer: 'spider', pid, received: spooling.received });
      return `${SET_RESULT_START}${errors}${setAccepted(spooling.received)}`;
    } catch (error) {
      await spooling?.abort();
      const why = this.#refusalOf(error, pid);
      counted('refused', 1);
      log.info('set refused', { peer: 'spider', pid, code: why.code, reason: why.message });
      return setRejected(why.code, why.message, false);
    }
  }

  #refusing(set: OpenSet, action: () => void): void {
    try {
      action();
    } catch (error) {
      set.refusal = this.#refusalOf(error, set.pid);
    }
  }

  /** @throws what is a bug */
  #refusalOf(error: unknown, pid: number): Refusal {
    if (error instanceof Refusal) return error;
    if (!(error instanceof LccError)) throw error;
    this.#parts.log.error('cannot take a set', { peer: 'spider', pid, error: messageOf(error) });
    return new Refusal(102, 'temporarily off-line, try again later: the log of the LCC says why');
  }
}
