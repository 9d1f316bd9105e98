/** Pushed urls on their way to the UNS: those whose time has come, in sets of their provider, over a door
 * that takes pushes alone. A set is on the disk of the UNS when it is answered; until that is written down
 * here its urls are sent again, by the next start as well. */
import type { RsDatabase } from '../../db/rs/database.js';
import type { WaitingPush } from '../../db/rs/push.js';
import { backoffMs, type Backoff } from '../../lib/backoff.js';
import type { Clock } from '../../lib/clock.js';
import { isPassing, LccError, messageOf } from '../../lib/errors.js';
import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';
import { DoorSets, type DoorSetsOptions } from '../../wire/door-sets.js';
import { AS_SERVED, formatUrl } from '../../wire/url.js';

/** Urls read and sent at a time. */
const WINDOW = 10_000;
const BACKOFF: Backoff = { minMs: 500, maxMs: 10_000 };
/** Urls forgotten in a transaction. */
const FORGOTTEN = 10_000;

export interface PushDeliveryOptions {
  db: Pick<RsDatabase, 'push' | 'write'>;
  /** Where the UNS takes pushes. */
  door: Omit<DoorSetsOptions, 'clock'>;
  /** Between two looks at one url. */
  urlIntervalMs: number;
  clock: Clock;
  log: Log;
  fail: (error: unknown) => void;
}

export class PushDelivery {
  readonly #options: PushDeliveryOptions;
  #isSending = false;
  #isStirred = false;
  #isOver = false;
  #sets: DoorSets | undefined;
  #cancel: (() => void) | undefined;
  #failures = 0;
  #trouble: string | undefined;

  constructor(options: PushDeliveryOptions) {
    this.#options = options;
  }

  /** Why what waits cannot be delivered now. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  get isIdle(): boolean {
    return !this.#isSending;
  }

  /** Something may have been pushed. Never throws. */
  stir(): void {
    this.#isStirred = true;
    // One that has failed waits for its time.
    if (!this.#isSending && !this.#isOver && this.#failures === 0)
      void this.#send().catch(this.#options.fail);
  }

  /** Forgets what nobody needs to know any more. */
  tidy(): void {
    const { db, clock, urlIntervalMs } = this.#options;
    const nowMs = clock.nowMs();
    const latestMs = nowMs + urlIntervalMs;
    while (db.write(() => db.push.forget(nowMs, latestMs, FORGOTTEN)) === FORGOTTEN);
    this.stir();
  }

  stop(): void {
    this.#isOver = true;
    this.#cancel?.();
    this.#sets?.drop();
  }

  async #send(): Promise<void> {
    const { db, clock, log } = this.#options;
    this.#isSending = true;
    this.#cancel?.();
    this.#cancel = undefined;
    try {
      do {
        this.#isStirred = false;
        let due: WaitingPush[];
        while ((due = db.push.due(clock.nowMs(), WINDOW)).length > 0 && !this.#isOver)
          await this.#deliver(due);
      } while (this.#isStirred && !this.#isOver);
      this.#failures = 0;
      this.#trouble = undefined;
    } catch (error) {
      if (!(error instanceof LccError) || !isDelayed(error)) throw error;
      if (this.#isOver) return;
      if (this.#failures++ === 0) log.warn('what was pushed waits for lccd-uns', { error: messageOf(error) });
      this.#trouble = messageOf(error);
    } finally {
      this.#isSending = false;
    }
    if (!this.#isOver) this.#plan();
  }

  async #deliver(due: readonly WaitingPush[]): Promise<void> {
    const { db, clock, door, urlIntervalMs } = this.#options;
    for (const isOfFeed of [false, true]) {
      const pushes = due.filter(({ door: by }) => (by === 'feed') === isOfFeed);
      if (pushes.length === 0) continue;
      this.#sets = new DoorSets({ ...door, clock }, isOfFeed ? 'push-feed' : 'push');
      try {
        for (const push of pushes) await this.#sets.put(push.pid, lineOf(push));
        await this.#sets.finish();
      } catch (error) {
        this.#sets.drop();
        throw error;
      }
      step('rs.push.delivered');
      db.write(() => db.push.sent(pushes, clock.nowMs() + urlIntervalMs));
      step('rs.push.committed-sent');
    }
  }

  /** Again when what failed is due, or the next url is. */
  #plan(): void {
    const { db, clock } = this.#options;
    const dueMs = db.push.nextDueMs;
    if (dueMs === undefined) return;
    const waitMs =
      this.#failures > 0
        ? backoffMs(BACKOFF, this.#failures, Math.random())
        : Math.max(0, dueMs - clock.nowMs());
    this.#cancel = clock.after(waitMs, () => void this.#send().catch(this.#options.fail));
  }
}

function isDelayed(error: LccError): boolean {
  return error.code.startsWith('peer.') || isPassing(error);
}

function lineOf({ curl, ifabsent }: WaitingPush): string {
  return formatUrl({
    curl,
    mimetype: AS_SERVED,
    outofroot: 'drop',
    ...(ifabsent === 1 && { ifabsent: 'yes' }),
  });
}
