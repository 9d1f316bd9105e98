/** Asks a UNS how a provider stands, over its door for daemons in front; the UNS alone knows passwords. */
import type { Clock } from '../lib/clock.js';
import { Conversation } from '../lib/conversation.js';
import { dial } from '../lib/dial.js';
import { LccError, messageOf } from '../lib/errors.js';
import type { XmlLimits } from '../lib/xml/types.js';
import { doorMessage, UnsReader, type ProviderReport } from '../wire/cp-uns/client.js';
import type { UrlRecord } from '../wire/url.js';
import { busy, RsRequestRefused } from './refusal.js';

export interface UnsDoorOptions {
  /** Of its socket. */
  path: string;
  xml: XmlLimits;
  timeoutMs: number;
  clock: Clock;
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
   * @throws RsRequestRefused 401 alike for a number that is unknown, disabled or has another password, 503
   */
  async look(pid: string, password: string, address: string): Promise<ProviderLook> {
    const { report, errors, rejected } = await this.#ask(pid, password, address);
    if (report !== undefined) return { report, errors };
    throw rejected === NOT_TOGETHER || rejected === DISABLED ? notTogether() : busy();
  }

  /**
   * Whether number and password belong together, also of one that may not connect.
   * @throws RsRequestRefused 401, 503
   */
  async isRight(pid: string, password: string, address: string): Promise<{ enabled: boolean }> {
    const { report, rejected } = await this.#ask(pid, password, address);
    if (report !== undefined || rejected === DISABLED) return { enabled: report !== undefined };
    throw rejected === NOT_TOGETHER ? notTogether() : busy();
  }

  /** Whether somebody listens there. */
  async isThere(): Promise<boolean> {
    const { path, timeoutMs, clock } = this.#options;
    return new Promise(resolve => {
      const end = (isThere: boolean) => {
        cancel();
        socket.destroy();
        resolve(isThere);
      };
      const cancel = clock.after(timeoutMs, () => end(false));
      const socket = dial({ kind: 'unix', path }, undefined, () => end(true)).on('error', () => end(false));
    });
  }

  async #ask(
    pid: string,
    password: string,
    address: string,
  ): Promise<{ report: ProviderReport | undefined; errors: UrlRecord[]; rejected: number | undefined }> {
    const { path, xml, timeoutMs, clock } = this.#options;
    const late = () => new LccError('peer.unavailable', 'no answer in time (rs.uns_timeout_ms)');
    const errors: UrlRecord[] = [];
    let report: ProviderReport | undefined;
    let rejected: number | undefined;
    const talk = new Conversation(
      dial({ kind: 'unix', path }, undefined, () => undefined),
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
      await talk.write(doorMessage('web', pid, password, address), timeoutMs, late);
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
