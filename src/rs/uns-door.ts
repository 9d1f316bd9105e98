/** Asks a UNS how a provider stands, over its door for daemons in front; the UNS alone knows passwords. */
import type { Clock } from '../lib/clock.js';
import { Conversation } from '../lib/conversation.js';
import { dial } from '../lib/dial.js';
import { LccError, messageOf } from '../lib/errors.js';
import type { XmlLimits } from '../lib/xml/types.js';
import { doorMessage, UnsReader, type ProviderReport } from '../wire/cp-uns/client.js';
import type { UnsPlace } from '../wire/uns-places.js';
import type { UrlRecord } from '../wire/url.js';
import { shownBy, type RsGround } from './ground.js';
import { busy, RsRequestRefused } from './refusal.js';

export interface UnsDoorOptions {
  /** Path of its socket here. */
  path: string;
  /** Where that of a provider's home is; undefined: nowhere at this moment. */
  placeOf: (pid: number) => Promise<UnsPlace | undefined>;
  xml: XmlLimits;
  timeoutMs: number;
  clock: Clock;
  ask: RsGround['ask'];
}

export interface ProviderLook {
  report: ProviderReport;
  /** Errors of fetches, the first of them. */
  errors: readonly UrlRecord[];
}

export class UnsDoor {
  readonly #options: UnsDoorOptions;

  constructor(options: UnsDoorOptions) {
    this.#options = options;
  }

  /**
   * @param address of the client
   * @throws RsRequestRefused 401 alike for a number that is unknown, disabled or has another password, 503;
   *   403 for one that leaves, to a client that has its password
   */
  async look(pid: string, password: string, address: string): Promise<ProviderLook> {
    const { report, errors, rejected } = await this.#ask(pid, password, address);
    if (report !== undefined) return { report, errors };
    if (rejected === DISABLED) throw await this.#notEnabled(pid);
    throw rejected === NOT_TOGETHER ? notTogether() : busy();
  }

  /** The UNS says so only after the right password. */
  async #notEnabled(pid: string): Promise<RsRequestRefused> {
    const provider = await shownBy(this.#options.ask, Number(pid));
    if (provider === undefined) return busy();
    return provider?.leaveat == null ? notTogether() : leaving(pid, provider.leaveat);
  }

  /**
   * True if number and password belong together, also of one that may not connect.
   * @throws RsRequestRefused 401, 503
   */
  async isRight(pid: string, password: string, address: string): Promise<{ enabled: boolean }> {
    const { report, rejected } = await this.#ask(pid, password, address);
    if (report !== undefined || rejected === DISABLED) return { enabled: report !== undefined };
    throw rejected === NOT_TOGETHER ? notTogether() : busy();
  }

  /** True if somebody listens there. */
  async isThere(): Promise<boolean> {
    const { path, timeoutMs, clock } = this.#options;
    return new Promise(resolve => {
      const end = (isThere: boolean) => {
        cancel();
        socket.destroy();
        resolve(isThere);
      };
      const cancel = clock.after(timeoutMs, () => end(false));
      const socket = dial({ kind: 'unix', path }, {}, () => end(true)).on('error', () => end(false));
    });
  }

  async #ask(
    pid: string,
    password: string,
    address: string,
  ): Promise<{ report: ProviderReport | undefined; errors: UrlRecord[]; rejected: number | undefined }> {
    const { placeOf, xml, timeoutMs, clock } = this.#options;
    const place = await placeOf(Number(pid));
    if (place === undefined) throw busy();
    const { door, trust = {}, hello = '' } = place;
    const late = () => new LccError('peer.unavailable', 'no answer in time');
    const errors: UrlRecord[] = [];
    let report: ProviderReport | undefined;
    let rejected: number | undefined;
    const talk = new Conversation(
      dial(door, trust, () => undefined),
      'UNS',
      clock,
    );
    const reader = new UnsReader(
      event => {
        if (event.kind === 'error') errors.push(event.record);
        else if (event.kind === 'initAccepted') report = event.status;
        else if (event.kind === 'rejected') rejected = event.code;
      },
      xml,
      'UNS',
    );
    talk.listen(
      chunk => reader.write(chunk),
      error => new LccError('peer.unavailable', error === undefined ? 'connection closed' : messageOf(error)),
    );
    try {
      await talk.write(hello + doorMessage('web', pid, password, address), timeoutMs, late);
      await talk.until(() => report !== undefined || rejected !== undefined, timeoutMs, late);
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      throw busy();
    } finally {
      talk.destroy();
    }
    return { report, errors, rejected };
  }
}

/** Codes of the UNS. */
const NOT_TOGETHER = 101;
const DISABLED = 105;

/** Alike for a number that is unknown, disabled or has another password. */
export function notTogether(): RsRequestRefused {
  return new RsRequestRefused(401, 'login', 'number and password do not belong together', 'check both');
}

function leaving(pid: string, leaveat: number): RsRequestRefused {
  const gone = new Date(leaveat * 1000).toISOString().slice(0, 16).replace('T', ' ');
  return new RsRequestRefused(
    403,
    'leaving',
    `provider ${pid} leaves, and is gone at ${gone} UTC`,
    'lccregister leave --undo, or DELETE me/leave, brings it back until then',
  );
}
