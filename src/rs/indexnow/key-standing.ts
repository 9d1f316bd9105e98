/**
 * Keys of IndexNow, and what came with those that are not decided (docs/design/push.md):
 *
 *     asked ──the file has it──▶ good ──not seen for 7 d──▶ asked
 *       │ ╰──it is missing, or another──▶ bad ──5 min, doubled up to 1 h──▶ asked
 *       ╰──no answer: again in 1 min, doubled up to 1 h; after 24 h──▶ bad
 */
import { DAY, HOUR, MINUTE, SECOND } from '../../config/amounts.js';
import type { RsDatabase } from '../../db/rs/database.js';
import type { KeyName, StoredKey } from '../../db/rs/push-keys.js';
import { doubledMs } from '../../lib/backoff.js';
import { within } from '../../lib/clock.js';
import { isPassing } from '../../lib/errors.js';
import { KeyedLock } from '../../lib/keyed-lock.js';
import { setNewest } from '../../lib/newest.js';
import { step } from '../../lib/steps.js';
import { Rate } from '../push/rates.js';
import { tooOften } from '../refusal.js';
import type { KeyVerdict } from './key-file.js';
import type { RsGround } from '../ground.js';

/** A good key is asked for again after this time, believed for that, and longer while its site fails. */
const ASKED_AGAIN_MS = 12 * HOUR;
const GOOD_MS = DAY;
const KEPT_MS = 7 * DAY;
const BAD = { minMs: 5 * MINUTE, maxMs: HOUR };
const UNDECIDED = { minMs: MINUTE, maxMs: HOUR };
const UNDECIDED_MS = DAY;
/** A request waits so long for a verdict: plugins of WordPress wait 5 s. */
const PATIENCE_MS = 3 * SECOND;
/** Unknown keys of a host and of a network in an hour; key files fetched in a minute. */
const UNKNOWN_PER_HOST = 10;
const UNKNOWN_PER_NETWORK = 30;
const FETCHES_PER_MINUTE = 100;
/** Keys that are remembered as bad, or as being without an answer. */
const MOST = 10_000;
/** Keys asked for again in a minute. */
const AGAIN_AT_A_TIME = 50;

export interface KeysOptions extends Pick<RsGround, 'clock' | 'fail'> {
  db: Pick<RsDatabase, 'push' | 'pushKeys' | 'write'>;
  /** Looks at the file of a key. */
  look: (name: KeyName) => Promise<KeyVerdict>;
  /** True if the host is a provider's. */
  isProviders: (hostname: string) => Promise<boolean>;
  /** Urls wait to be delivered. */
  stir: () => void;
}

export class Keys {
  readonly #options: KeysOptions;
  readonly #bad = new Map<string, { untilMs: number; times: number }>();
  /** Without an answer: not asked for again before, monotonic. */
  readonly #silent = new Map<string, number>();
  readonly #looks = new Map<string, Promise<KeyVerdict>>();
  readonly #hosts = new KeyedLock<string>();
  readonly #ofHost: Rate;
  readonly #ofNetwork: Rate;
  readonly #fetches: Rate;

  constructor(options: KeysOptions) {
    this.#options = options;
    const { clock } = options;
    this.#ofHost = new Rate(clock, UNKNOWN_PER_HOST, HOUR);
    this.#ofNetwork = new Rate(clock, UNKNOWN_PER_NETWORK, HOUR);
    this.#fetches = new Rate(clock, FETCHES_PER_MINUTE, MINUTE);
  }

  /** The verdict on a key, as far as there is one in 3 s. @throws RsRequestRefused 429 */
  async verdict(name: KeyName, network: string): Promise<KeyVerdict> {
    const { db, clock } = this.#options;
    const id = idOf(name);
    const nowMs = clock.monotonicMs();
    if ((this.#bad.get(id)?.untilMs ?? 0) > nowMs) return 'bad';
    const stored = db.pushKeys.find(name);
    // A time in the future is of a clock that was ahead.
    const ageMs = stored?.goodMs == null ? Infinity : Math.abs(clock.nowMs() - stored.goodMs);
    const isSilent = (this.#silent.get(id) ?? 0) > nowMs;
    if (ageMs < GOOD_MS) {
      if (ageMs >= ASKED_AGAIN_MS && !isSilent) this.#look(name).catch(this.#options.fail);
      return 'good';
    }
    if (stored === undefined && !this.#looks.has(id)) this.#demandUnknown(name, network);
    const look = isSilent ? undefined : await within(clock, this.#look(name), PATIENCE_MS);
    const verdict = look ?? 'unknown';
    return verdict === 'unknown' && ageMs < KEPT_MS ? 'good' : verdict;
  }

  /** Urls came with a key that is not decided, by provider. @throws as RsDatabase.write */
  hold(name: KeyName, urls: ReadonlyMap<number, readonly string[]>): void {
    const { db, clock } = this.#options;
    const nowMs = clock.nowMs();
    db.write(() => db.pushKeys.hold(name, urls, nowMs, nowMs + UNDECIDED.minMs));
    step('rs.push.held');
  }

  /** After a start: nobody knows whether a look was answered. */
  begin(): Promise<void> {
    return this.#askAgain(Number.MAX_SAFE_INTEGER);
  }

  /** Asks once more for keys that are not decided; forgets those that were good long ago. */
  async tidy(): Promise<void> {
    const { db, clock } = this.#options;
    const nowMs = clock.nowMs();
    db.write(() => db.pushKeys.forget(nowMs - KEPT_MS));
    await this.#askAgain(nowMs);
  }

  async #askAgain(dueMs: number): Promise<void> {
    const { db, clock, isProviders } = this.#options;
    const nowMs = clock.nowMs();
    for (const key of db.pushKeys.due(dueMs, AGAIN_AT_A_TIME)) {
      if (nowMs - key.sinceMs >= UNDECIDED_MS) this.#drop(key, 'the key file could not be read for a day');
      else if (await isProviders(new URL(`http://${key.host}`).hostname)) await this.#look(key);
      else this.#again(key);
    }
  }

  /** @throws RsRequestRefused 429 */
  #demandUnknown({ host }: KeyName, network: string): void {
    const waitMs = Math.max(this.#ofHost.waitMs(host), this.#ofNetwork.waitMs(network));
    if (waitMs > 0) throw tooOften('too-often', 'too many unknown keys', waitMs);
    this.#ofHost.count(host);
    this.#ofNetwork.count(network);
  }

  /** One look at a time for each key, and each host. */
  #look(name: KeyName): Promise<KeyVerdict> {
    const id = idOf(name);
    let look = this.#looks.get(id);
    if (look === undefined) {
      look = this.#lookNow(name).finally(() => void this.#looks.delete(id));
      this.#looks.set(id, look);
    }
    return look;
  }

  async #lookNow(name: KeyName): Promise<KeyVerdict> {
    const release = await this.#hosts.take(name.host);
    try {
      const verdict = this.#fetches.take('') > 0 ? 'unknown' : await this.#options.look(name);
      this.#settle(name, verdict);
      return verdict;
    } finally {
      release();
    }
  }

  #settle(name: KeyName, verdict: KeyVerdict): void {
    const { clock, fail } = this.#options;
    const id = idOf(name);
    try {
      if (verdict === 'good') this.#good(name);
      else if (verdict === 'bad') {
        const times = (this.#bad.get(id)?.times ?? 0) + 1;
        setNewest(this.#bad, id, { untilMs: clock.monotonicMs() + doubledMs(BAD, times), times }, MOST);
        this.#drop(name, 'the key file is missing, or has another key');
      } else {
        setNewest(this.#silent, id, clock.monotonicMs() + UNDECIDED.minMs, MOST);
        this.#again(name);
      }
    } catch (error) {
      // A key that waits is looked at again.
      if (!isPassing(error)) fail(error);
    }
  }

  #good(name: KeyName): void {
    const { db, clock, stir } = this.#options;
    this.#bad.delete(idOf(name));
    this.#silent.delete(idOf(name));
    const nowMs = clock.nowMs();
    db.write(() => {
      for (const [pid, urls] of db.pushKeys.good(name, nowMs)) db.push.offer(pid, 'indexnow', urls, nowMs);
    });
    step('rs.push.decided');
    stir();
  }

  #drop(name: KeyName, reason: string): void {
    const { db, clock } = this.#options;
    if (db.pushKeys.find(name) === undefined) return;
    const nowMs = clock.nowMs();
    db.write(() => {
      for (const [pid, urls] of db.pushKeys.drop(name))
        db.push.refuse(pid, 'indexnow', { url: urls[0] ?? name.host, reason }, nowMs, urls.length);
    });
  }

  #again(name: KeyName): void {
    const { db, clock } = this.#options;
    const stored: StoredKey | undefined = db.pushKeys.find(name);
    if (stored === undefined || stored.goodMs !== null) return;
    const dueMs = clock.nowMs() + doubledMs(UNDECIDED, stored.tries + 1);
    db.write(() => db.pushKeys.again(dueMs, stored.id));
  }
}

function idOf({ host, key, location }: KeyName): string {
  return `${host} ${key} ${location}`;
}
