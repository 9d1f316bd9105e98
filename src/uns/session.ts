/**
 * One CP's conversation, from connecting to parting.
 *
 *     connected ──init──▶ admitted ──set──▶ reading ──end of set──▶ spooled ──▶ accepted ──▶ parted
 *         │                  │ CP leaves: parted   │ anything wrong: the spool file goes
 *         ╰── refused ◀──────┴─────────────────────╯
 *
 * When a set counts is said in acceptance.ts, when the errors that were shown count as received in
 * shown-errors.ts.
 */
import type { Place } from '../daemon/types.js';
import type { Clock } from '../lib/clock.js';
import type { Conversation } from '../lib/conversation.js';
import type { Counts } from '../lib/counts.js';
import { LccError, messageOf, tooManyFiles } from '../lib/errors.js';
import type { DutyCycle } from '../lib/duty-cycle.js';
import { STRANGER_REST_BYTES, type FairShare, type PeerReading } from '../lib/fair-share.js';
import type { Log } from '../lib/log.js';
import {
  CpReader,
  initAccepted,
  initRejected,
  SET_RESULT_START,
  setAccepted,
  setRejected,
  type CpEvent,
} from '../wire/cp-uns/server.js';
import { acceptSet, type AcceptanceParts } from './acceptance.js';
import type { SpoolIntake } from './spool-intake.js';
import { pidOf, type Admission, type Logins } from './logins.js';
import { LINGER_TIMEOUT_MS, MAX_REPLY_BYTES, limitOf, type UnsOptions } from './options.js';
import { Refusal } from '../wire/refusal.js';
import { LARGE_SET_URLS } from '../wire/uns-qm.js';
import { SetSpooling } from './set-spooling.js';
import { receivedUpTo } from './shown-errors.js';
import { TimeLimits } from './time-limits.js';

export interface SessionParts extends AcceptanceParts {
  options: UnsOptions;
  clock: Clock;
  log: Log;
  logins: Logins;
  intake: SpoolIntake;
  /** Share of each connection: what it may read in a turn of the event loop. */
  share: FairShare;
  /** Duty cycle of providers: those with large sets make room for the others. */
  duty: DutyCycle<number>;
  /** Sessions of each provider. */
  perProvider: Counts<number>;
  /** An admitted CP has gone; it has certainly received its errors up to `errseen`, 0 = none new. */
  parted(pid: number, errseen: number): Promise<void>;
  counted(what: 'accepted' | 'refused' | 'urls', by: number): void;
}

export class CpSession {
  readonly #parts: SessionParts;
  readonly #talk: Conversation;
  readonly #place: Place;
  readonly #peer: string;
  readonly #address: string;
  readonly #timeLimits: TimeLimits;
  readonly #reader: CpReader;
  readonly #reading: PeerReading;
  #admission: Admission | undefined;
  /** The provider that this session counts for. */
  #pid: number | undefined;
  /** The provider that the CP says it is. */
  #claimed: string | undefined;
  #set: SetSpooling | undefined;
  /** Errors the CP has certainly received now. */
  #receivedUpTo = 0;
  /** The CP has left in the middle of a set. */
  #isCut = false;
  /** The part of the result that has been sent: nothing, the beginning, all of it. */
  #result: 'none' | 'begun' | 'complete' = 'none';

  constructor(
    parts: SessionParts,
    talk: Conversation,
    place: Place,
    from: { peer: string; address: string },
  ) {
    this.#parts = parts;
    this.#talk = talk;
    this.#place = place;
    this.#peer = from.peer;
    this.#address = from.address;
    this.#reader = new CpReader(parts.options.xml, from.peer);
    this.#reading = parts.share.join();
    this.#timeLimits = new TimeLimits(parts.options, parts.clock, why => this.#talk.interrupt(why));
  }

  /** True if a set is being read or made durable. */
  get hasSet(): boolean {
    return this.#set !== undefined;
  }

  /** Ends the session with a refusal as soon as nothing durable is under way. */
  refuse(why: Refusal): void {
    this.#talk.interrupt(why);
  }

  /** Ends a session that has not logged in; what can be said of why without waiting is said. */
  cut(why: Refusal): void {
    this.#talk.say(initRejected(why.code, why.message));
    this.#talk.destroy();
  }

  /** Holds the conversation; never rejects but for a bug. */
  async run(): Promise<void> {
    try {
      await this.#converse();
      await this.#part();
    } catch (error) {
      const refusal = this.#refusalOf(error);
      await this.#set?.abort();
      this.#set = undefined;
      if (refusal !== undefined) await this.#reject(refusal);
      else if (!(error instanceof LccError)) throw error;
    } finally {
      this.#timeLimits.stop();
      this.#talk.destroy();
      if (this.#pid !== undefined) this.#parts.perProvider.change(this.#pid, -1);
      if (this.#admission !== undefined) await this.#parted(this.#admission);
    }
  }

  async #parted({ provider: { pid }, seq }: Admission): Promise<void> {
    await this.#parts.parted(pid, this.#receivedUpTo);
    this.#parts.log.debug('CP disconnected', { pid, seq, errors_received: this.#receivedUpTo > 0 });
  }

  async #converse(): Promise<void> {
    for await (const event of this.#events()) {
      switch (event.kind) {
        case 'init':
          await this.#logIn(event.id, event.password);
          break;
        case 'set':
          this.#openSet(event);
          break;
        case 'urls': {
          const errors = this.#set?.take(event.urls) ?? '';
          if (errors !== '') this.#talk.say(errors);
          break;
        }
        case 'setEnd':
          return await this.#accept();
        case 'problem':
          throw new Refusal(event.code, event.text);
      }
    }
  }

  async *#events(): AsyncGenerator<CpEvent> {
    for (;;) {
      this.#timeLimits.waits();
      await this.#talk.said(MAX_REPLY_BYTES);
      const slice = await this.#talk.next(this.#reading);
      this.#timeLimits.heard(slice?.length ?? 0);
      if (slice === undefined) break;
      await this.#reading.turn(slice.length);
      this.#set?.countBytes(slice.length);
      const startedMs = this.#parts.clock.monotonicMs();
      yield* this.#reader.read(slice);
      const workedMs = this.#parts.clock.monotonicMs() - startedMs;
      await this.#set?.paced();
      await this.#makeRoom(workedMs);
    }
    const [problem] = this.#reader.end();
    if (problem?.kind === 'problem' && this.#admission !== undefined) {
      this.#isCut = true;
      throw new Refusal(204, `set incomplete: ${problem.text}`);
    }
    if (problem !== undefined) yield problem;
  }

  /** Large sets are not read any faster than leaves others their share. */
  async #makeRoom(workedMs: number): Promise<void> {
    if (this.#set === undefined || this.#admission === undefined) return;
    if (this.#set.received > LARGE_SET_URLS)
      await this.#parts.duty.rest(this.#admission.provider.pid, workedMs);
  }

  async #logIn(id: string, password: string): Promise<void> {
    const { logins, log } = this.#parts;
    this.#claimed = id;
    this.#admission = await logins.admit(
      { id, password, address: this.#address },
      pid => this.#takePlace(pid),
      delayMs => this.#talk.rest(delayMs),
    );
    this.#reading.known();
    this.#timeLimits.loggedIn();
    const { provider, seq, status } = this.#admission;
    log.debug('CP connected', { peer: this.#peer, pid: provider.pid, seq });
    this.#talk.say(initAccepted(status));
  }

  /** @throws Refusal 102 when the provider has its number of sessions already */
  #takePlace(pid: number): void {
    const { options, perProvider } = this.#parts;
    if (perProvider.of(pid) >= options.limits.maxConnectionsPerProvider) {
      const limit = limitOf(options, 'uns.max_connections_per_provider');
      throw new Refusal(102, `provider ${pid} is connected already, try again later: the limit is ${limit}`);
    }
    if (!this.#place.known()) throw new Refusal(102);
    this.#pid = pid;
    perProvider.change(pid, 1);
  }

  #openSet(event: { set: 'full' | 'partial'; urlprefix: string }): void {
    const { options, clock } = this.#parts;
    if (this.#admission === undefined) throw new Refusal(104, '<set> before <init>');
    this.#set = new SetSpooling(options, this.#parts, this.#admission, {
      set: event.set,
      urlprefix: event.urlprefix,
      ip: this.#address,
      atS: Math.floor(clock.nowMs() / 1000),
    });
    this.#parts.duty.note(this.#admission.provider.pid);
    this.#timeLimits.setOpened();
    this.#talk.say(SET_RESULT_START);
    this.#result = 'begun';
  }

  async #accept(): Promise<void> {
    const set = this.#set;
    if (set === undefined || this.#admission === undefined) throw new Refusal(104);
    await acceptSet(set, this.#parts);
    this.#set = undefined;
    const { provider, seq } = this.#admission;
    this.#parts.counted('accepted', 1);
    this.#parts.counted('urls', set.received);
    this.#parts.log.info('set accepted', {
      peer: this.#peer,
      pid: provider.pid,
      seq,
      received: set.received,
    });
    this.#talk.say(setAccepted(set.received));
    this.#result = 'complete';
  }

  /** The end in good order: the CP has left, or has been told that its set is accepted. */
  async #part(): Promise<void> {
    this.#timeLimits.stop();
    await this.#lastWords();
  }

  async #reject(why: Refusal): Promise<void> {
    const pid = this.#admission?.provider.pid;
    this.#parts.counted('refused', 1);
    this.#parts.log.info('CP refused', {
      peer: this.#peer,
      pid,
      // Anybody may say so: not the provider's own doing, and yet where to look.
      claimed_pid: pid === undefined ? pidOf(this.#claimed ?? '') : undefined,
      code: why.code,
      reason: why.message,
    });
    this.#timeLimits.stop();
    if (this.#admission === undefined) this.#talk.say(initRejected(why.code, why.message));
    else if (this.#result !== 'complete') {
      this.#talk.say(setRejected(why.code, why.message, this.#result === 'begun'));
    }
    await this.#lastWords();
  }

  /** Gives the CP time to read what was said last; its own words no longer matter. */
  async #lastWords(): Promise<void> {
    const { xml } = this.#parts.options;
    // Who has not even tried to log in sends nothing that must not be cut off.
    const isNoise = this.#claimed === undefined;
    const maxBytes = isNoise ? xml.maxHelloBytes + STRANGER_REST_BYTES - this.#talk.heardBytes : Infinity;
    const parting = { reading: this.#reading, maxBytes, isCertain: true };
    // An interruption that came while the last word was decided on must not cut it off.
    const received = await this.#talk.part(LINGER_TIMEOUT_MS, parting);
    this.#receivedUpTo = receivedUpTo(this.#admission?.shownUpTo ?? 0, { received, isCut: this.#isCut });
  }

  /** The answer to the CP for an error; undefined when the CP is gone, or the error is a bug. */
  #refusalOf(error: unknown): Refusal | undefined {
    if (error instanceof Refusal) return error;
    if (!(error instanceof LccError)) return undefined;
    const fields = { peer: this.#peer, pid: this.#admission?.provider.pid, error: messageOf(error) };
    if (error.code === 'peer.unavailable') {
      this.#parts.log.debug('CP connection lost', fields);
      return undefined;
    }
    this.#parts.log.error('cannot take a set', fields);
    return new Refusal(102, `temporarily off-line, try again later: ${reasonOf(error)}`);
  }
}

/** As a CP is told it. */
function reasonOf({ code, cause }: LccError): string {
  if (code !== 'io.full') return 'the log of the LCC says why';
  return tooManyFiles(cause) === undefined ? 'no room on disk' : 'too many files are open';
}
