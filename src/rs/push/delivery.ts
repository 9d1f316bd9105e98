/**
 * Pushed urls on their way to the UNS of their provider's home: those whose time has come, in sets of their
 * provider, over a door that takes pushes alone. A set is on the disk of the UNS when it is answered; until
 * that is written down here its urls are sent again, by the next start as well. A UNS that is away keeps its
 * own urls waiting, and no others.
 */
import type { RsDatabase } from '../../db/rs/database.js';
import type { WaitingPush } from '../../db/rs/push.js';
import { backoffMs, type Backoff } from '../../lib/backoff.js';
import { isPassing, LccError, messageOf } from '../../lib/errors.js';
import { formatEndpoint } from '../../lib/endpoint.js';
import { step } from '../../lib/steps.js';
import { DoorSets, type DoorSetsOptions } from '../../wire/door-sets.js';
import type { UnsPlace } from '../../wire/uns-places.js';
import { AS_SERVED, formatUrl } from '../../wire/url.js';
import type { RsGround } from '../ground.js';

/** Urls read and sent at a time. */
const WINDOW = 10_000;
const BACKOFF: Backoff = { minMs: 500, maxMs: 10_000 };
/** Urls forgotten in a transaction. */
const FORGOTTEN = 10_000;

export interface PushDeliveryOptions extends Pick<RsGround, 'clock' | 'log' | 'fail'> {
  db: Pick<RsDatabase, 'push' | 'write'>;
  door: Omit<DoorSetsOptions, 'clock' | keyof UnsPlace>;
  /** Where the UNSes of providers take pushes; those that wait are missing. @throws LccError `try.later` */
  placesOf: (pids: readonly number[]) => Promise<ReadonlyMap<number, UnsPlace>>;
  /** Between two looks at one url. */
  urlIntervalMs: number;
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
  /** Until this time UNSes that are away, and providers that wait, are left alone. */
  #retryAtMs = 0;
  readonly #away = new Set<string>();
  readonly #later = new Set<number>();

  constructor(options: PushDeliveryOptions) {
    this.#options = options;
  }

  /** Why what waits cannot be delivered now. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Nothing waits: for its UNS, or for the end of its interval. */
  get isIdle(): boolean {
    return !this.#isSending && this.#options.db.push.nextDueMs() === undefined;
  }

  /** Something may have been pushed. Never throws. */
  stir(): void {
    this.#isStirred = true;
    if (!this.#isSending && !this.#isOver) void this.#send().catch(this.#options.fail);
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
    const isRetry = clock.monotonicMs() >= this.#retryAtMs;
    if (isRetry) for (const those of [this.#away, this.#later]) those.clear();
    let trouble: string | undefined;
    try {
      do {
        this.#isStirred = false;
        let due: WaitingPush[];
        while ((due = db.push.due(clock.nowMs(), WINDOW, [...this.#later])).length > 0 && !this.#isOver)
          trouble = (await this.#deliver(due)) ?? trouble;
      } while (this.#isStirred && !this.#isOver);
    } finally {
      this.#isSending = false;
    }
    if (this.#isOver) return;
    if (trouble !== undefined && this.#failures === 0)
      log.warn('what was pushed waits for lccd-uns', { error: trouble });
    if (isRetry) this.#failures = trouble === undefined ? 0 : this.#failures + 1;
    if (isRetry || trouble !== undefined) this.#trouble = trouble;
    if (isRetry && trouble !== undefined)
      this.#retryAtMs = clock.monotonicMs() + backoffMs(BACKOFF, this.#failures, Math.random());
    this.#plan();
  }

  /** @returns why some of it waits */
  async #deliver(due: readonly WaitingPush[]): Promise<string | undefined> {
    const pids = new Set(due.map(({ pid }) => pid));
    let trouble: string | undefined;
    const places = await this.#options.placesOf([...pids]).catch((error: unknown) => {
      trouble = delayOf(error);
      return new Map<number, UnsPlace>();
    });
    const byPlace = new Map<string, { place: UnsPlace; pushes: WaitingPush[] }>();
    for (const push of due) {
      const place = places.get(push.pid);
      const name = nameOf(place);
      if (place === undefined || name === undefined || this.#away.has(name)) {
        this.#later.add(push.pid);
        trouble ??= `provider ${push.pid} waits for its home`;
        continue;
      }
      const at = byPlace.get(name) ?? { place, pushes: [] };
      byPlace.set(name, at);
      at.pushes.push(push);
    }
    for (const [name, { place, pushes }] of byPlace)
      try {
        await this.#deliverTo(name, place, pushes);
      } catch (error) {
        trouble = delayOf(error);
        this.#away.add(name);
        for (const { pid } of pushes) this.#later.add(pid);
      }
    return trouble;
  }

  async #deliverTo(name: string, place: UnsPlace, due: readonly WaitingPush[]): Promise<void> {
    const { db, clock, door, placesOf, urlIntervalMs } = this.#options;
    for (const isOfFeed of [false, true]) {
      const pushes = due.filter(({ door: by }) => (by === 'feed') === isOfFeed);
      if (pushes.length === 0) continue;
      const sets = new DoorSets({ ...door, ...place, clock }, isOfFeed ? 'push-feed' : 'push');
      this.#sets = sets;
      try {
        for (const push of pushes) await sets.put(push.pid, lineOf(push));
        await sets.finish();
      } catch (error) {
        sets.drop();
        throw error;
      }
      step('rs.push.delivered');
      // One that a home did not know may have been moved meanwhile.
      const now = sets.counts.ownerless > 0 ? await placesOf(pushes.map(({ pid }) => pid)) : undefined;
      const hasMoved = ({ pid }: WaitingPush) => now !== undefined && nameOf(now.get(pid)) !== name;
      const had = pushes.filter(push => !hasMoved(push));
      db.write(() => db.push.sent(had, clock.nowMs() + urlIntervalMs));
      step('rs.push.committed-sent');
      for (const push of pushes) if (hasMoved(push)) this.#later.add(push.pid);
    }
  }

  /** Again when what failed is due, or the next url is. */
  #plan(): void {
    const { db, clock } = this.#options;
    const dueMs = db.push.nextDueMs();
    if (dueMs === undefined) return;
    const waitMs = this.#failures > 0 ? this.#retryAtMs - clock.monotonicMs() : dueMs - clock.nowMs();
    this.#cancel = clock.after(Math.max(0, waitMs), () => void this.#send().catch(this.#options.fail));
  }
}

function nameOf(place: UnsPlace | undefined): string | undefined {
  return place && formatEndpoint(place.door);
}

/** Why something waits. @throws what is no reason to wait */
function delayOf(error: unknown): string {
  if (error instanceof LccError && (error.code.startsWith('peer.') || isPassing(error)))
    return messageOf(error);
  throw error;
}

function lineOf({ curl, ifabsent }: WaitingPush): string {
  return formatUrl({
    curl,
    mimetype: AS_SERVED,
    outofroot: 'drop',
    ...(ifabsent === 1 && { ifabsent: 'yes' }),
  });
}
