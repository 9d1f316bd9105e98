/**
 * How long sites are left alone: because they did not answer, because they asked for it, because of the
 * bandwidth they or the LCC as a whole may use. What a restart must not forget is written with the results
 * that made it so.
 *
 * Large sets, which take long enough for others to notice, make room while they are fetched and others are
 * there (lib/duty-cycle.ts): a lane gets a window of urls, and the next one when all of that is back and the
 * provider has rested for as long as the results took. So a set that comes in between has at most one window
 * in front of it, at every process.
 */
import type { ScheduledProvider } from '../db/providers/provider-store.js';
import { isLarge, type WaitingSet } from '../db/queue/sets.js';
import type { FetchDone, FetchFailed, FetchInline } from '../wire/fetch.js';
import { backoffMs } from '../lib/backoff.js';
import type { DispatchOptions } from './dispatch-options.js';
import type { Arrival } from './results.js';
import type { LaneTable } from './schedule/lanes.js';
import { LastEnds, Pace, type LastFetch } from './schedule/pace.js';
import { AllAnnounced, type Announced } from './schedule/announced.js';
import { Meter, NO_CHARGE, type Charge } from './schedule/bandwidth.js';
import type { Request } from './workers.js';
import { WallTimes } from './wall-times.js';

/** Longest rest of a large set. */
const LONGEST_REST_MS = 50;

/** Why a provider that could be fetched from is not, and until when (monotonic). */
export interface Delay {
  why: 'back-off' | 'bandwidth' | 'pace' | 'lcc-bandwidth';
  untilMs: number;
}

/** A provider, and for how long it waits. */
export interface Paced {
  provider: ScheduledProvider;
  meter: Meter;
  announced: Announced;
  last: LastFetch;
  /** True if its next url is one that nobody announced. */
  isNextUnasked: () => boolean;
  /** The pause that the robots.txt of that url's origin wishes for; 0: none, or not known yet. */
  wishMs: number;
  /** Monotonic. */
  backoffUntilMs: number;
  /** As far as that was asked for (`Retry-After`) since the start, monotonic. */
  patienceUntilMs?: number | undefined;
  /** The written end of a wait, where it is asked sooner than that; monotonic. */
  writtenUntilMs?: number | undefined;
  /** Why it is left alone, as far as that was heard since the start: code and host. */
  failure?: { code: number; host: string } | undefined;
}

export class Waits {
  readonly #options: DispatchOptions;
  readonly #table: LaneTable;
  readonly #whole: Meter;
  readonly #ends: LastEnds;
  readonly #announced = new AllAnnounced();
  readonly pace: Pace;
  /** Providers with results in this transaction. */
  readonly #moved = new Set<Paced>();
  /** A back-off was written in this transaction. */
  #isWritten = false;
  readonly times: WallTimes;
  /** By provider: time spent on results of its large sets since it last rested. */
  readonly #workedMs = new Map<number, number>();

  /** @param table is told who has to wait */
  constructor(options: DispatchOptions, table: LaneTable) {
    this.#options = options;
    this.#table = table;
    this.times = new WallTimes(options);
    this.#ends = new LastEnds(options.clock.monotonicMs());
    this.pace = new Pace(options.paceMs);
    const dueMs = this.times.read(options.store.providers.wholeDueMs);
    this.#whole = new Meter(options.bandwidthBytesPerS, dueMs, options.backoff.maxMs);
  }

  /** Begins with the stored waits of the provider. */
  begin(provider: ScheduledProvider, isNextUnasked: () => boolean): Paced {
    return {
      provider,
      meter: new Meter(provider.bandwidth, this.times.read(provider.dueat), this.#options.backoff.maxMs),
      announced: this.#announced.of(provider.pid),
      last: this.#ends.of(provider.pid),
      isNextUnasked,
      wishMs: 0,
      backoffUntilMs: this.times.read(provider.backoffuntil * 1000),
    };
  }

  /** When the LCC as a whole may fetch again, monotonic. */
  get wholeDueMs(): number {
    return this.#whole.dueMs;
  }

  /** The same in milliseconds since 1970; null when it may now. */
  get wholeDueAtMs(): number | null {
    const { clock } = this.#options;
    const waitMs = this.wholeDueMs - clock.monotonicMs();
    return waitMs > 0 ? Math.round(clock.nowMs() + waitMs) : null;
  }

  /** True if what is sent to the provider must not run ahead of what is fetched. */
  isLimited(provider: ScheduledProvider): boolean {
    return provider.bandwidth > 0 || this.#whole.isLimited || this.pace.isKept(provider);
  }

  /** The provider may have another limit now. */
  settingsOf(paced: Paced): void {
    paced.meter.limit(paced.provider.bandwidth, this.#options.clock.monotonicMs());
    this.#tell(paced);
  }

  /** A url announced with `len` bytes is sent. @returns what is expected of it, for what becomes of it */
  charge(paced: Paced, len: number | null, nowMs: number): Charge {
    const { meter, announced } = paced;
    if (!meter.isLimited && !this.#whole.isLimited) return NO_CHARGE;
    const believed = len === null ? null : announced.believed(this.#most(paced, len));
    const own = meter.expected(believed);
    // safeguard: others waiting for no more of a provider than has come of it lately
    const most = announced.mostAhead(this.#whole.expected(null));
    const whole = Math.min(this.#whole.expected(believed), most);
    this.#whole.charge(whole, nowMs);
    // safeguard: charging what is expected of a url
    meter.charge(own, nowMs);
    this.#tell(paced);
    return { own, whole };
  }

  /** A request is answered. */
  answered(
    paced: Paced | undefined,
    { expected, arrival: { len } }: Request,
    { wireBytes, elapsedMs }: FetchDone | FetchInline,
    nowMs: number,
  ): void {
    this.#whole.received(expected.whole, wireBytes, nowMs);
    if (paced === undefined) return;
    paced.announced.heard(len === null ? null : this.#most(paced, len), wireBytes);
    paced.meter.received(expected.own, wireBytes, nowMs);
    this.#ended(paced, { endedMs: nowMs, tookMs: elapsedMs });
  }

  /** The request came back as if it had never been sent. */
  recalled(paced: Paced | undefined, expected: Charge): void {
    this.#whole.refund(expected.whole);
    if (paced === undefined) return;
    paced.meter.refund(expected.own);
    this.#tell(paced);
  }

  #ended(paced: Paced, last: LastFetch): void {
    if (this.pace.isKept(paced.provider)) {
      this.#ends.note(paced.provider.pid, last);
      paced.last = last;
    }
    this.#tell(paced);
  }

  /** The next url may be another's than before. */
  nextMayDiffer(paced: Paced): void {
    if (paced.provider.spider !== 0) this.#tell(paced);
  }

  /**
   * The turn of a url has come that nobody announced, back in its place; the robots.txt of its origin wishes
   * for such a pause.
   * @returns whether it must wait for that now
   */
  mustWait(paced: Paced, wishMs: number, nowMs: number): boolean {
    const { provider, last } = paced;
    paced.wishMs = wishMs;
    return this.pace.untilMs(provider, last, { isUnasked: provider.spider !== 0, wishMs }) > nowMs;
  }

  #pacedUntilMs({ provider, last, wishMs, isNextUnasked }: Paced): number {
    if (!this.pace.isKept(provider)) return -Infinity;
    const isUnasked = provider.spider !== 0 && isNextUnasked();
    return this.pace.untilMs(provider, last, { isUnasked, wishMs });
  }

  /** The Bot Manager of a request is gone. */
  lost(paced: Paced | undefined, { expected, sentMs }: Request, nowMs: number): void {
    this.#whole.lost(expected.whole, sentMs, nowMs);
    if (paced === undefined) return;
    paced.meter.lost(expected.own, sentMs, nowMs);
    this.#ended(paced, { endedMs: nowMs, tookMs: 0 });
  }

  /** The delay that keeps the provider from being fetched from for longest. */
  delayOf(paced: Paced, nowMs: number): Delay | undefined {
    const { backoffUntilMs, meter } = paced;
    const delays: Delay[] = [
      { why: 'back-off', untilMs: backoffUntilMs },
      { why: 'bandwidth', untilMs: meter.dueMs },
      { why: 'pace', untilMs: this.#pacedUntilMs(paced) },
      { why: 'lcc-bandwidth', untilMs: this.#whole.dueMs },
    ];
    return delays.filter(({ untilMs }) => untilMs > nowMs).toSorted((a, b) => b.untilMs - a.untilMs)[0];
  }

  /** The most bytes that can come of `len` announced ones. */
  #most({ provider }: Paced, len: number): number {
    // safeguard: the longest content in what is charged
    return Math.min(len, provider.maxlen ?? Infinity, this.#options.maxContentBytes);
  }

  /**
   * Takes an error's meaning beyond its url: a site that does not answer, or asks to be left alone. @param
   * sentBackoffs the provider's failures when the request was sent: those of one outage count once @param url
   * what was asked for
   */
  heed(paced: Paced, sentBackoffs: number, result: FetchFailed, url: string): void {
    const { provider } = paced;
    const { clock, backoff, random, log } = this.#options;
    let waitMs = 0;
    if (result.reach === 'provider') {
      if (sentBackoffs !== provider.backoffs) return;
      provider.backoffs++;
      waitMs = backoffMs(backoff, provider.backoffs, random());
    }
    const patienceMs = Math.min(result.retryAfterMs ?? 0, backoff.maxMs);
    waitMs = Math.max(waitMs, patienceMs);
    if (waitMs === 0) return;
    const host = hostOf(url);
    const nowMs = clock.monotonicMs();
    paced.failure = { code: result.code, host };
    paced.backoffUntilMs = Math.max(paced.backoffUntilMs, nowMs + waitMs);
    paced.writtenUntilMs = undefined;
    if (patienceMs > 0) paced.patienceUntilMs = Math.max(paced.patienceUntilMs ?? 0, nowMs + patienceMs);
    this.#tell(paced);
    const { pid } = provider;
    this.#table.recallAll(pid);
    log.info('provider waits before its next fetch', {
      pid,
      wait_ms: waitMs,
      code: result.code,
      host,
      reason: result.message,
    });
  }

  /** Another of its hosts may answer: it is asked before its wait is over, unless one asked for patience.
   * What is known of its failures stays. */
  askNow(paced: Paced): void {
    paced.writtenUntilMs ??= paced.backoffUntilMs;
    paced.backoffUntilMs = paced.patienceUntilMs ?? 0;
    this.#tell(paced);
  }

  /**
   * Writes what a result says of its provider's site, inside the transaction of the result; what is in memory
   * changes when that is committed.
   * @returns whether it ends an outage, which `recovered` must be told then
   */
  note(paced: Paced | undefined, { sent, result }: Arrival): boolean {
    if (paced === undefined || result === undefined) return false;
    if (paced.meter.isLimited || this.#whole.isLimited) this.#moved.add(paced);
    const { provider } = paced;
    const { providers } = this.#options.store;
    const answered = result.status !== 'error' || result.reach !== 'provider';
    const asksForPatience = result.status === 'error' && result.retryAfterMs !== undefined;
    // Only what was sent after the last failure shows that the site answers again.
    const isOver = answered && provider.backoffs > 0 && sent.backoffs === provider.backoffs;
    if (answered && !isOver && !asksForPatience) return false;
    const untilS = isOver && !this.#isPatient(paced) ? 0 : this.#writtenUntilS(paced);
    // safeguard: writing down that a site does not answer
    providers.setBackoff(provider, isOver ? 0 : provider.backoffs, untilS);
    this.#isWritten = true;
    return isOver;
  }

  /** The site's answer is committed; as far as it asked to be left alone, it is. */
  recovered(paced: Paced): void {
    // safeguard: a Retry-After that ends an outage
    if (!this.#isPatient(paced)) this.#forgetBackoff(paced);
    paced.provider.backoffs = 0;
    this.#tell(paced);
  }

  #isPatient({ patienceUntilMs = -Infinity }: Paced): boolean {
    return patienceUntilMs > this.#options.clock.monotonicMs();
  }

  /** Notes what the results of a transaction have moved. Inside it, after them. */
  close(): void {
    if (this.#moved.size === 0 && !this.#isWritten) return;
    const { store, clock } = this.#options;
    const { providers } = store;
    const nowMs = clock.monotonicMs();
    providers.setDelaysWrittenAt(this.times.write(nowMs));
    this.#isWritten = false;
    // safeguard: due times being written
    for (const { provider, meter } of this.#moved)
      if (meter.isLimited) providers.setDue(provider.pid, this.times.write(meter.settledMs(nowMs)));
    if (this.#whole.isLimited) providers.setWholeDue(this.times.write(this.#whole.settledMs(nowMs)));
    this.#moved.clear();
  }

  /** A set is complete. */
  added(set: WaitingSet): void {
    if (isLarge(set)) this.#yieldIfNeeded(set);
  }

  /** A url of the set is back. @param isLast nothing else of its lane is on its way */
  returned(set: WaitingSet, isLast: boolean): void {
    this.#yieldIfNeeded(set);
    const { pid } = set;
    const workedMs = isLast ? this.#workedMs.get(pid) : undefined;
    if (workedMs === undefined) return;
    this.#workedMs.delete(pid);
    const { clock, duty } = this.#options;
    if (duty.mustYield(pid)) this.#table.rest(pid, clock.monotonicMs() + Math.min(LONGEST_REST_MS, workedMs));
  }

  /** A result of the set took so long to commit. */
  took(set: WaitingSet, ms: number): void {
    if (isLarge(set)) this.#workedMs.set(set.pid, (this.#workedMs.get(set.pid) ?? 0) + ms);
  }

  #yieldIfNeeded(set: WaitingSet): void {
    this.#table.setYielding(set.pid, isLarge(set) && this.#options.duty.mustYield(set.pid));
  }

  /** The operator wants it to be asked now; what is written of it is forgotten already. */
  forget(paced: Paced): void {
    paced.meter.forgive();
    paced.last = { endedMs: -Infinity, tookMs: 0 };
    this.#forgetBackoff(paced);
  }

  /** The same of all together. */
  forgetWhole(): void {
    this.#whole.forgive();
    const { store } = this.#options;
    if (this.#whole.isLimited) store.transaction(() => store.providers.setWholeDue(0));
  }

  #forgetBackoff(paced: Paced): void {
    paced.provider.backoffs = 0;
    paced.backoffUntilMs = 0;
    paced.writtenUntilMs = undefined;
    paced.patienceUntilMs = undefined;
    paced.failure = undefined;
    this.#tell(paced);
  }

  #tell(paced: Paced): void {
    const { provider, meter, backoffUntilMs } = paced;
    const pacedUntilMs = this.#pacedUntilMs(paced);
    // safeguard: leaving alone a site that does not answer
    // safeguard: the pace of a provider
    this.#table.delay(provider.pid, Math.max(backoffUntilMs, meter.dueMs, pacedUntilMs));
    // safeguard: trying such a site with one url
    this.#table.setProbing(provider.pid, provider.backoffs > 0);
  }

  /** Until when the provider is left alone, as it is written; seconds since 1970, 0 = not at all. */
  #writtenUntilS({ backoffUntilMs, writtenUntilMs = backoffUntilMs }: Paced): number {
    return writtenUntilMs <= this.#options.clock.monotonicMs()
      ? 0
      : Math.ceil(this.times.write(writtenUntilMs) / 1000);
  }
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '';
}
