/** Knowledge of the dispatcher about providers that have sets waiting: settings, roots, hours, the order of
 * their urls, and how long they wait. */
import { isDeepStrictEqual } from 'node:util';
import type { WaitingRow } from '../db/queue/row.js';
import type { ScheduledProvider } from '../db/providers/provider-store.js';
import type { WaitingSet } from '../db/queue/sets.js';
import { strictRootCheck } from '../wire/roots.js';
import type { DispatchOptions } from './dispatch-options.js';
import type { TimeSlots } from './time-slots.js';
import { bothOf, hoursOfMask, hoursOfTod, isNever, isTooFine, type Hours } from '../config/hours.js';
import { hostOf } from './hosts-of.js';
import { LINKS, type SetClass } from '../wire/origin.js';
import { hostOfGroup, priorityOf, type ProviderLanes } from './schedule/lane.js';
import type { LaneTable } from './schedule/lanes.js';
import { siteTermsOf, type SiteTerms } from './request.js';
import { ProviderOrder } from './schedule/url-order.js';
import { SilentHosts } from './silent-hosts.js';
import { sparingCount } from './sparing-count.js';
import type { Delay, Paced, Waits } from './waits.js';

/** A provider: settings, order, waits, and in `lanes` its state and what it has of the schedule. */
export interface Known extends Paced {
  lanes: ProviderLanes;
  terms: SiteTerms;
  /** True if an absolute URL lies below its roots, which may be others than when the url was accepted. */
  isInside: (url: string) => boolean;
  order: ProviderOrder<WaitingSet, WaitingRow>;
  hours: Hours;
  silent: SilentHosts;
  /** True if its roots are of several hosts. */
  isSpread: boolean;
  /** There may be urls of it that nobody announced. */
  isMixed: boolean;
  /** The class of its next urls, as what it counts. */
  next: SetClass;
}

/** The wait of a provider: for a delay to end, for a place at its host, or for its turn (`waiting`);
 * `unasked`: only urls that nobody announced are left, and their origins are left alone for now. */
export type WaitsFor = Delay['why'] | 'host' | 'waiting' | 'unasked';

/** Urls of a new set that are looked at for other hosts than those that do not answer. */
const MOST_LOOKED_AT = 1000;
/**
 * Hours of urls that are remembered: a provider that invents new ones without end must not fill the memory.
 */
const MAX_REMEMBERED_HOURS = 1000;

export class KnownProviders {
  readonly #options: DispatchOptions;
  readonly #table: LaneTable;
  readonly #waits: Waits;
  readonly #slots: TimeSlots;
  readonly #known = new Map<number, Known>();
  /** Providers of which there are, or were, sets in the database, but no terms; they may be added again. */
  readonly #lost = new Set<number>();
  readonly #hours = new Map<string, Hours>();
  /** Sets that are only in the database. */
  readonly #elsewhere: ReturnType<typeof sparingCount>;

  /** @param rooms `table` is told what they may do */
  constructor(options: DispatchOptions, rooms: { table: LaneTable; waits: Waits; slots: TimeSlots }) {
    this.#options = options;
    this.#table = rooms.table;
    this.#waits = rooms.waits;
    this.#slots = rooms.slots;
    this.#elsewhere = sparingCount(options.clock, () =>
      [...this.#known.values()].reduce((sum, { order }) => sum + order.countElsewhere(), 0),
    );
  }

  get(pid: number): Known | undefined {
    return this.#known.get(pid);
  }

  /** A provider has sets in the database that were not reported here; those of a lost provider wait until it
   * is there again. */
  addStored(pid: number): void {
    this.#lost.add(pid);
    this.#learn(pid);
    this.#table.setHasUrls(pid, true);
  }

  /**
   * A set has just been taken. Where a host of its provider that does not answer keeps the others waiting, it
   * may be of one of those. A wait from before the start is kept: the hosts that do not answer are not known
   * any more.
   */
  addNew(set: WaitingSet, fromPos = set.firstpos): void {
    const known = this.#learn(set.pid);
    known?.order.add(set, fromPos);
    if (known !== undefined) this.#ranked(known, set.class);
    this.#table.setHasUrls(set.pid, true);
    // safeguard: what an owner announces not waiting for the pause of what nobody did
    if (known !== undefined) this.#waits.nextMayDiffer(known);
    if (known === undefined || known.provider.backoffs === 0 || !known.silent.isSpread) return;
    const rows = this.#options.store.queue.next(set, fromPos - 1, MOST_LOOKED_AT);
    if (known.silent.areOthersIn(rows)) this.#waits.askNow(known);
  }

  /** Rows have come back into a set: those at `places`, or more than those. */
  joined(set: WaitingSet, places: readonly number[], areAll: boolean): void {
    const order = this.#learn(set.pid)?.order;
    const [first] = places;
    if (areAll) order?.join(set, places);
    else if (first !== undefined) order?.rewind(set, first);
    const known = this.#known.get(set.pid);
    if (known !== undefined) this.#ranked(known, set.class);
    this.#table.setHasUrls(set.pid, true);
  }

  /**
   * Looks of which class the next urls of a provider are: it counts as that among the others. What is sent
   * ahead of a higher class than that, and not begun, is called back.
   * @returns whether they are of another one
   */
  rank(known: Known): boolean {
    const next = known.isMixed ? known.order.nextClass() : undefined;
    if (next === undefined || next === known.next) return false;
    const isUrgent = next < known.next;
    known.next = next;
    this.#place(known);
    // safeguard: what an owner announces going before what nobody did
    if (isUrgent) this.#table.recallAll(known.provider.pid);
    return true;
  }

  #ranked(known: Known, setClass: SetClass): void {
    known.isMixed ||= setClass !== 0;
    this.rank(known);
  }

  /** Has nothing left. */
  remove(pid: number): void {
    this.#known.delete(pid);
    this.#table.removeProvider(pid);
  }

  /** Reads the settings of one again, or of all, 100 000 of them in two seconds. */
  reload(pid?: number): void {
    for (const known of this.oneOrAll(pid)) this.#reload(known);
    if (pid !== undefined) {
      // One that came from another shard has sets that nobody reported.
      if (!this.#known.has(pid) && this.#options.store.queue.sets(pid, 0, 1).length > 0) this.addStored(pid);
      return;
    }
    for (const lost of this.#lost) if (this.#options.store.providers.has(lost)) this.addStored(lost);
  }

  /**
   * Asks now, whatever delays there are (`lccctl flush`); what is written of them is forgotten already.
   * @param pid left out: all that have urls waiting, and what the LCC as a whole owes
   */
  forgetDelays(pid?: number): void {
    if (pid === undefined) this.#waits.forgetWhole();
    for (const known of this.oneOrAll(pid)) {
      known.order.forgetDelays();
      known.silent.clear();
      this.#waits.forget(known);
      this.#table.setHasUrls(known.provider.pid, true);
    }
  }

  /** Another hour has begun. */
  hoursChanged(): void {
    for (const known of this.#known.values()) this.#openOrClose(known);
  }

  /** Those that have urls waiting, of one provider or of all. */
  oneOrAll(pid: number | undefined): Iterable<Known> {
    if (pid === undefined) return this.#known.values();
    const known = this.#known.get(pid);
    return known === undefined ? [] : [known];
  }

  /** The hours in which a url may be fetched. */
  hoursOf(known: Known, tod: string): Hours {
    const key = `${known.hours} ${tod}`;
    let hours = this.#hours.get(key);
    if (hours === undefined) {
      hours = bothOf(known.hours, hoursOfTod(tod, this.#options.slots));
      if (this.#hours.size >= MAX_REMEMBERED_HOURS) this.#hours.clear();
      this.#hours.set(key, hours);
    }
    return hours;
  }

  /** Provider, code and host of the failures for which providers are left alone, at most `limit`. */
  failures(limit: number): [number, number, string][] {
    const found: [number, number, string][] = [];
    for (const [pid, { failure }] of this.#known) {
      if (found.length >= limit) break;
      if (failure !== undefined) found.push([pid, failure.code, failure.host]);
    }
    return found;
  }

  /**
   * Providers that could be fetched from, what they wait for and until when (milliseconds since 1970, null =
   * unknown): a delay, or their turn. At most `limit`; those that are stopped, closed, or being fetched from
   * are not among them.
   * @param waitsUntilMs until when what nobody announced waits of a provider, monotonic
   */
  waiting(
    limit: number,
    waitsUntilMs: (pid: number) => number | undefined,
  ): [number, WaitsFor, number | null][] {
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const wallMs = (atMs: number) => Math.round(clock.nowMs() + atMs - nowMs);
    const found: [number, WaitsFor, number | null][] = [];
    for (const [pid, known] of this.#known) {
      if (found.length >= limit) break;
      const { state } = known.lanes;
      const untilMs = state === 'resting' ? waitsUntilMs(pid) : undefined;
      if (untilMs !== undefined) found.push([pid, 'unasked', wallMs(untilMs)]);
      if (state === 'parked') found.push([pid, 'host', null]);
      if (state !== 'waiting' && state !== 'delayed') continue;
      const delay = this.#waits.delayOf(known, nowMs);
      found.push(delay === undefined ? [pid, 'waiting', null] : [pid, delay.why, wallMs(delay.untilMs)]);
    }
    return found;
  }

  /** Providers, one or all that have urls waiting, that a delay keeps from being fetched from. */
  delayed(pid?: number): number[] {
    const nowMs = this.#options.clock.monotonicMs();
    return [...this.oneOrAll(pid)]
      .filter(known => this.#waits.delayOf(known, nowMs) !== undefined)
      .map(({ provider }) => provider.pid);
  }

  /** Numbers for lccstat, and whether anything could be done sooner than in another hour. */
  status() {
    let sets = 0;
    let closed = 0;
    let neverOpen = 0;
    let isBusy = false;
    let isMore = false;
    for (const { lanes, order, hours } of this.#known.values()) {
      sets += order.setsHere;
      const isClosed = lanes.hindrances.has('closed');
      if (isClosed) closed++;
      if (isNever(hours)) neverOpen++;
      if (!isClosed && (order.setsHere > 0 || !order.areAllHere)) isBusy = true;
      if (!order.areAllHere) isMore = true;
    }
    if (isMore) sets += this.#elsewhere.value;
    const providers = this.#known.size;
    return { sets, providers, providers_closed: closed, providers_never_open: neverOpen, isBusy };
  }

  #learn(pid: number): Known | undefined {
    const known = this.#known.get(pid);
    if (known !== undefined) return known;
    const { store, untouchedSets: untouched, sleepingSets: asleep } = this.#options;
    const provider = store.providers.get(pid);
    if (provider === undefined) return undefined;
    const areStored = this.#lost.delete(pid);
    const order = new ProviderOrder<WaitingSet, WaitingRow>(store.queue, {
      pid,
      untouched,
      asleep,
      areStored,
    });
    const fresh: Known = {
      ...this.#waits.begin(provider, () => (order.nextClass() ?? 0) >= LINKS),
      lanes: this.#table.provider(pid),
      terms: { roots: [], accept: [] },
      isInside: () => false,
      order,
      hours: '',
      silent: new SilentHosts(),
      isSpread: false,
      isMixed: areStored && store.queue.hasUnasked(pid),
      next: 0,
    };
    this.#known.set(pid, fresh);
    this.#load(fresh, provider);
    this.rank(fresh);
    return fresh;
  }

  #reload(known: Known): void {
    const { pid, backoffs, backoffuntil } = known.provider;
    const provider = this.#options.store.providers.get(pid);
    if (provider === undefined) {
      // The provider was removed: it has no url left, or was lost.
      this.remove(pid);
      this.#lost.add(pid);
      return;
    }
    if (known.lanes.hindrances.has('moving') && this.#options.store.moving.wayOf(pid) === undefined) {
      this.remove(pid);
      return this.addStored(pid);
    }
    // Failures are counted here, and written later.
    provider.backoffs = backoffs;
    provider.backoffuntil = backoffuntil;
    this.#load(known, provider);
  }

  #load(known: Known, provider: ScheduledProvider): void {
    const { store, slots, accept, log } = this.#options;
    const { pid } = provider;
    known.provider = provider;
    const roots = store.providers.roots(pid);
    const terms = siteTermsOf(provider, roots, accept);
    // Urls that were sent ahead would be asked for on the old terms.
    if (!isDeepStrictEqual(terms, known.terms)) this.#table.recallAll(pid);
    known.terms = terms;
    known.isInside = strictRootCheck(roots);
    known.silent.roots = roots;
    known.isSpread = provider.groupname === null && known.silent.isSpread;
    const hours = hoursOfMask(provider.timeofday, slots);
    if (hours !== known.hours && (isNever(hours) || isTooFine(provider.timeofday, slots)))
      log.warn('hours of the week treated as hours of the day; set qm.slots = 168', {
        pid,
        never_open: isNever(hours),
      });
    known.hours = hours;
    this.#place(known);
    // safeguard: the pause of a provider
    this.#table.setHindered(pid, 'stopped', provider.paused !== 0 || provider.enabled === 0);
    this.#table.setHindered(pid, 'joining', this.#slots.isJoining(pid));
    this.#table.setHindered(pid, 'moving', store.moving.wayOf(pid) !== undefined);
    this.#openOrClose(known);
    this.#waits.settingsOf(known);
  }

  /** Places the provider by its terms beside others. */
  #place({ provider, terms, next }: Known): void {
    const hosts = new Set(terms.roots.map(hostOf));
    const group = provider.groupname;
    this.#table.setProvider({
      // safeguard: the priority of providers
      pid: provider.pid,
      priority: priorityOf(provider.priority, next),
      parallel: this.#waits.pace.parallelOf(provider),
      window: this.#waits.isLimited(provider) ? 1 : this.#options.window,
      host: group === null ? (hosts.size === 1 ? [...hosts][0] : undefined) : hostOfGroup(group),
    });
  }

  #openOrClose({ provider, hours }: Known): void {
    // safeguard: the hours of providers
    // safeguard: the hours of a provider
    this.#table.setHindered(provider.pid, 'closed', !this.#slots.permits(hours));
  }
}
