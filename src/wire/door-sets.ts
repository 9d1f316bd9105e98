/**
 * Urls that no owner announced, through the spider door of lccd-uns: a set of a provider whenever enough of
 * its urls wait, or enough of all, or when the first of them has waited long enough: what is sent is worked
 * on while more is looked for. Each set is on the disk of the UNS when it is answered; `finish` waits for the
 * answers to all of them, which come in the order of the sets (lcc-protocol(5)):
 *
 *     <lococa:set set="partial" pid="7" origin="links"> <url …/>… </lococa:set>
 *     <lococa:set_result> <errors> <url code="304" …/>… </errors> <set_accepted received="2"/>
 *     </lococa:set_result>
 */
import type { Clock } from '../lib/clock.js';
import { Conversation } from '../lib/conversation.js';
import { dial } from '../lib/dial.js';
import { formatEndpoint } from '../lib/endpoint.js';
import { errnoOf, LccError, messageOf } from '../lib/errors.js';
import { formatAttributes } from '../lib/xml/escape.js';
import type { XmlLimits } from '../lib/xml/types.js';
import { SET_END, UnsReader, type UnsEvent } from './cp-uns/client.js';
import { originAttributes, type SetOrigin } from './origin.js';
import type { UnsPlace } from './uns-places.js';
import { NAMESPACE, PREFIX } from './xml-prefix.js';

export const DOOR_LIMITS = {
  /** Urls of a provider, and of all, that wait before they are sent. */
  setUrls: 5000,
  setUrlsAll: 20_000,
  /** The longest that urls wait for more of their set, while more come. */
  setDelayMs: 250,
  /** Sets that may be without an answer. */
  maxUnanswered: 64,
  /** For an answer. */
  timeoutMs: 60_000,
};

export interface DoorSetsOptions extends Readonly<typeof DOOR_LIMITS>, UnsPlace {
  clock: Clock;
  limits: XmlLimits;
}

/** Counts of the sets by their outcome. */
export interface DoorCounts {
  sets: number;
  accepted: number;
  refused: number;
  /** Urls of providers that are gone, or are not asked unasked any more. */
  ownerless: number;
}

/** Codes that concern a provider alone: it is removed, or its pages are not followed. */
const OF_PROVIDER: ReadonlySet<number> = new Set([101, 105]);
const BUSY = 102;
const AGAINST_PROTOCOL: ReadonlySet<number> = new Set([103, 104, 204]);

export class DoorSets {
  readonly counts: DoorCounts = { sets: 0, accepted: 0, refused: 0, ownerless: 0 };
  readonly #options: DoorSetsOptions;
  readonly #origin: SetOrigin;
  readonly #where: string;
  readonly #waiting = new Map<number, string[]>();
  #waitingUrls = 0;
  #waitingSinceMs = 0;
  /** Urls of each set without an answer, in their order. */
  readonly #unanswered: number[] = [];
  /** Urls in error of the set that is being answered. */
  #refused = 0;
  #talk: Conversation | undefined;
  #isConnected = false;

  constructor(options: DoorSetsOptions, origin: SetOrigin) {
    this.#options = options;
    this.#origin = origin;
    this.#where = formatEndpoint(options.door);
  }

  /**
   * @throws LccError `peer.unavailable`, `peer.busy`, `peer.protocol`, `peer.rejected`: then not all of it is
   * with the UNS
   */
  async finish(): Promise<void> {
    await this.#sendAll();
    const talk = this.#talk;
    if (talk === undefined) return;
    await this.#until(talk, () => this.#unanswered.length === 0, 'an answer to a set');
    await talk.finish();
  }

  /** Drops the connection; sets without an answer may count or not. */
  drop(): void {
    this.#talk?.destroy();
  }

  /** @param line of one url, without its provider */
  put(pid: number, line: string): void | Promise<void> {
    const { clock, setUrls, setUrlsAll, setDelayMs } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.#waitingUrls === 0) this.#waitingSinceMs = nowMs;
    let lines = this.#waiting.get(pid);
    if (lines === undefined) this.#waiting.set(pid, (lines = []));
    lines.push(line);
    this.#waitingUrls++;
    if (lines.length >= setUrls) return this.#send(pid, lines);
    if (this.#waitingUrls >= setUrlsAll || nowMs - this.#waitingSinceMs >= setDelayMs) return this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    for (const [pid, lines] of this.#waiting) await this.#send(pid, lines);
  }

  async #send(pid: number, lines: readonly string[]): Promise<void> {
    this.#waiting.delete(pid);
    this.#waitingUrls -= lines.length;
    const talk = (this.#talk ??= this.#connect());
    const { maxUnanswered, timeoutMs } = this.#options;
    await this.#until(talk, () => this.#unanswered.length < maxUnanswered, 'an answer to a set');
    this.#unanswered.push(lines.length);
    this.counts.sets++;
    const attributes = { set: 'partial', pid, ...originAttributes(this.#origin) };
    const start = `<${PREFIX}set xmlns:lococa="${NAMESPACE}"${formatAttributes(attributes)}>\n`;
    const set = `${start}${lines.join('')}${SET_END}`;
    await talk.write(set, timeoutMs, () => this.#silent('room for more of a set'));
  }

  #connect(): Conversation {
    const { door, trust = {}, hello = '', clock, limits } = this.#options;
    const socket = dial(door, trust, () => (this.#isConnected = true));
    const talk = new Conversation(socket, this.#where, clock);
    const answers = new UnsReader(event => this.#answered(event), limits, this.#where, 'spider');
    talk.listen(
      chunk => answers.write(chunk),
      error => this.#lost(error),
    );
    talk.say(hello);
    return talk;
  }

  #answered(event: UnsEvent): void {
    if (event.kind === 'error') return void this.#refused++;
    if (event.kind === 'initAccepted') return;
    const [links] = this.#unanswered;
    if (links === undefined)
      throw new LccError(
        'peer.protocol',
        `the spider door at ${this.#where} answers a set that was not sent`,
      );
    // One that is refused for now stays without an answer: nobody may take it for delivered.
    if (event.kind === 'setAccepted' || OF_PROVIDER.has(event.code)) this.#unanswered.shift();
    const refused = this.#refused;
    this.#refused = 0;
    if (event.kind === 'setAccepted') {
      this.counts.accepted += event.received;
      this.counts.refused += refused;
      return;
    }
    const { code, text } = event;
    if (OF_PROVIDER.has(code)) {
      this.counts.ownerless += links;
      return;
    }
    const kind = code === BUSY ? 'peer.busy' : AGAINST_PROTOCOL.has(code) ? 'peer.protocol' : 'peer.rejected';
    throw new LccError(
      kind,
      `the spider door at ${this.#where} refused a set: ${text} (code ${code}); run again`,
    );
  }

  #lost(error: Error | undefined): LccError {
    const why = this.#isConnected
      ? `closed the connection${error === undefined ? '' : `: ${messageOf(error)}`}; run again`
      : `cannot be reached: ${reachFailure(error)}`;
    return new LccError('peer.unavailable', `the spider door at ${this.#where} ${why}`, { cause: error });
  }

  #until(talk: Conversation, isTrue: () => boolean, what: string): Promise<void> {
    return talk.until(isTrue, this.#options.timeoutMs, () => this.#silent(what));
  }

  #silent(what: string): LccError {
    const { timeoutMs } = this.#options;
    return new LccError(
      'peer.unavailable',
      `the spider door at ${this.#where}: ${timeoutMs / 1000} s without ${what}`,
    );
  }
}

function reachFailure(error: Error | undefined): string {
  switch (errnoOf(error) ?? '') {
    case 'ENOENT':
      return 'there is no such socket; is lccd-uns running?';
    case 'ECONNREFUSED':
      return 'connection refused; is lccd-uns running?';
    case 'EACCES':
      return 'permission denied; run as the user of lccd';
    default:
      return error === undefined ? 'it hangs up' : messageOf(error);
  }
}
