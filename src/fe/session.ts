/**
 * A CP's conversation through a front end.
 *
 *     connected ──provider's id──▶ held ──owner's UNS reached──▶ passed ──both have ended──▶ over
 *         ╰── late: 106 ──▶          ╰── fe.wait_ms: 102 ──▶        ╰── UNS lost: 102, or no word ──▶
 *
 * A UNS that is lost may have accepted a set whose end was passed on. Then no word is said, and the CP
 * takes it as the loss of a UNS: it does not know.
 */
import { limitText, type Settings } from '../config/settings/index.js';
import { proxyLine } from '../daemon/proxied.js';
import type { Connection, Place } from '../daemon/types.js';
import type { Clock } from '../lib/clock.js';
import { Conversation } from '../lib/conversation.js';
import { formatEndpoint, type Endpoint } from '../lib/endpoint.js';
import { LccError } from '../lib/errors.js';
import { STRANGER_REST_BYTES, type FairShare, type PeerReading } from '../lib/fair-share.js';
import type { Log } from '../lib/log.js';
import type { XmlLimits } from '../lib/xml/types.js';
import { Refusal } from '../wire/refusal.js';
import { UnsAnswer } from './uns-answer.js';
import type { UnsPassage, UnsDoors } from './ready.js';
import type { Routes } from './routes.js';
import { CpWords } from './words.js';

export interface FrontEnd {
  limits: Pick<Settings['uns'], 'loginTimeoutMs'>;
  /** How long a CP is held while nobody has its provider. */
  waitMs: number;
  xml: XmlLimits & { maxHelloBytes: number };
  routes: Pick<Routes, 'find'>;
  doors: UnsDoors;
  share: FairShare;
  clock: Clock;
  log: Log;
  counted: (what: 'passed' | 'refused' | 'lost') => void;
  /** One more is held, or one less. */
  held: (by: 1 | -1) => void;
}

/** How often it is looked again where a CP belongs that is held. */
const LOOK_MS = 250;
/** Time a CP has to read the last word. */
const LINGER_MS = 5000;

export class CpPassage {
  readonly #front: FrontEnd;
  readonly #connection: Connection;
  readonly #place: Place;
  readonly #talk: Conversation;
  readonly #reading: PeerReading;
  readonly #words: CpWords;
  readonly #answer = new UnsAnswer();
  /** All that it said before its UNS was reached. */
  #hello: Buffer[] = [];
  #uns: UnsPassage | undefined;
  /** The CP has ended its side, and its UNS has been told. */
  #hasEnded = false;

  constructor(front: FrontEnd, connection: Connection, place: Place) {
    this.#front = front;
    this.#connection = connection;
    this.#place = place;
    this.#talk = new Conversation(connection.socket, connection.peer, front.clock);
    this.#reading = front.share.join();
    this.#words = new CpWords(front.xml);
  }

  /** Ends it with a refusal, unless its UNS may be about to say that a set is accepted. */
  refuse(why: Refusal): void {
    if (this.#words.mayHaveEnded && this.#uns !== undefined) return;
    this.#talk.interrupt(why);
    this.#uns?.talk.interrupt(why);
  }

  /** Ends one that has not logged in; what can be said of why without waiting is said. */
  cut({ code, message }: Refusal): void {
    this.#talk.say(this.#answer.lastWord(code, message) ?? '');
    this.#talk.destroy();
  }

  /** Holds the conversation; never rejects but for a bug. */
  async run(): Promise<void> {
    const { log, counted } = this.#front;
    const { peer } = this.#connection;
    try {
      await this.#hear();
      // A UNS says as much to one that leaves without a word.
      if (this.#talk.heardBytes === 0) return void (await this.#talk.part(LINGER_MS, { isCertain: true }));
      const uns = await this.#reach();
      counted('passed');
      await this.#pass(uns);
    } catch (error) {
      if (error instanceof Refusal) {
        counted('refused');
        const { code, message } = error;
        log.info('CP refused', { peer, claimed_id: this.#words.id, code, reason: message });
        await this.#lastWord(error);
      } else if (!(error instanceof LccError)) throw error;
    } finally {
      this.#talk.destroy();
      this.#uns?.breakOff();
    }
  }

  /** As far as the provider's id. @throws Refusal 106; LccError when the CP is gone */
  async #hear(): Promise<void> {
    const { loginTimeoutMs } = this.#front.limits;
    const late = `no complete init in time: the limit is ${limitText('uns.login_timeout_ms', loginTimeoutMs)}`;
    this.#talk.limit(loginTimeoutMs, () => new Refusal(106, late));
    for await (const slice of this.#talk.slices(this.#reading)) {
      this.#hello.push(slice);
      this.#words.hear(slice);
      if (this.#words.id !== undefined) break;
    }
    if (this.#words.id === undefined) this.#words.end();
    this.#talk.unlimited();
  }

  /** The UNS that has the provider, once there is one, told all that the CP has said. @throws Refusal 102 */
  async #reach(): Promise<UnsPassage> {
    const { routes, waitMs, clock, held } = this.#front;
    const untilMs = clock.monotonicMs() + waitMs;
    held(1);
    try {
      for (;;) {
        const to = await routes.find(this.#words.id ?? '');
        const uns = to && (await this.#connect(to, untilMs - clock.monotonicMs()));
        if (uns !== undefined) return uns;
        const leftMs = untilMs - clock.monotonicMs();
        if (leftMs <= 0) throw new Refusal(102);
        await this.#talk.rest(Math.min(LOOK_MS, leftMs));
      }
    } finally {
      held(-1);
    }
  }

  /** @returns undefined where nobody answers in time */
  async #connect(to: Endpoint, limitMs: number): Promise<UnsPassage | undefined> {
    const uns = await this.#front.doors.take(to, limitMs, this.#talk);
    if (uns === undefined) return undefined;
    this.#connection.socket.once('close', isBroken => void (isBroken && uns.breakOff()));
    try {
      this.#uns = uns;
      await uns.talk.write(Buffer.concat([Buffer.from(proxyLine(this.#connection)), ...this.#hello]));
      this.#hello = [];
      return uns;
    } catch (error) {
      uns.breakOff();
      this.#uns = undefined;
      if (!(error instanceof LccError)) throw error;
      this.#front.log.debug('UNS not reached', { to: formatEndpoint(to), cause: error.message });
      return undefined;
    }
  }

  /** Passes on what both say until both have ended. @throws Refusal 102 when the UNS is lost before */
  async #pass(uns: UnsPassage): Promise<void> {
    const saying = this.#say(uns);
    const lost = await this.#passAnswers(uns);
    if (lost === undefined) {
      this.#connection.socket.end();
      // A UNS is gone when it has seen the end of the CP, or has waited for that long enough.
      await uns.talk.until(() => false).catch(() => undefined);
      return;
    }
    this.#talk.interrupt(lost);
    await saying;
    throw lost;
  }

  /** All that the CP says, to its UNS. */
  async #say({ talk, socket }: UnsPassage): Promise<void> {
    try {
      for await (const slice of this.#talk.slices(this.#reading)) {
        this.#words.hear(slice);
        await talk.write(slice);
      }
      socket.end();
      this.#hasEnded = true;
    } catch (error) {
      if (!(error instanceof LccError || error instanceof Refusal)) throw error;
    }
  }

  /** The answers of its UNS, to the CP. @returns the reason where the UNS is lost @throws LccError when the
   * CP is gone */
  async #passAnswers({ talk }: UnsPassage): Promise<Refusal | undefined> {
    for (;;) {
      let chunk: Buffer | undefined;
      try {
        chunk = await talk.next();
      } catch (error) {
        if (error instanceof Refusal) return error;
        if (!(error instanceof LccError)) throw error;
        return this.#lost(error.message);
      }
      if (chunk === undefined) return this.#isComplete ? undefined : this.#lost('it has ended');
      await this.#talk.write(this.#answer.pass(chunk));
      if (!this.#answer.isAdmitted || this.#reading.isKnown) continue;
      this.#reading.known();
      this.#place.known();
    }
  }

  /** True if a UNS may end here: it has said all, or the CP has left without a set, or without a word. */
  get #isComplete(): boolean {
    if (this.#answer.isOver) return true;
    const isOnlyLooking = this.#answer.isAdmitted || this.#talk.heardBytes === 0;
    return this.#hasEnded && isOnlyLooking && !this.#answer.isInWord;
  }

  #lost(cause: string): Refusal {
    const { log, counted } = this.#front;
    counted('lost');
    log.info('UNS lost', { peer: this.#connection.peer, claimed_id: this.#words.id, cause });
    return new Refusal(102);
  }

  /** Says why it ends, unless a set may have been accepted. */
  async #lastWord({ code, message }: Refusal): Promise<void> {
    const word = this.#words.mayHaveEnded && this.#uns ? undefined : this.#answer.lastWord(code, message);
    if (word === undefined) return;
    this.#talk.say(word);
    // A peer that has not said its number sends nothing that must not be cut off.
    const { maxHelloBytes } = this.#front.xml;
    const isNoise = this.#words.id === undefined || this.#words.id === '';
    const maxBytes = isNoise ? maxHelloBytes + STRANGER_REST_BYTES - this.#talk.heardBytes : Infinity;
    await this.#talk.part(LINGER_MS, { reading: this.#reading, maxBytes });
  }
}
