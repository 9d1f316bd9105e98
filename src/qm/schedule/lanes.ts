/**
 * The providers that may fetch now (semantics.md, rules 7 and 8). A lane is a provider's right to one fetch
 * at a time at one Bot Manager; urls are sent ahead into it, up to a window, and carried out there one after
 * the other. A provider has one lane, or as many as `parallel` allows.
 *
 *     resting ──has urls──▶ waiting ──a slot is free──▶ in-lane ──nothing left, turn over──▶ resting
 *        ▲                     │ ▲
 *        ╰──── hindered ◀──────┴─┼──▶ delayed until a time (back-off, bandwidth, pace)
 *                                 ╰──▶ parked while its host has as many lanes as it may have (hosts.ts)
 *
 * Lanes at a Bot Manager are its slots and some more (overbooked), so that a slot that falls free finds work.
 * A lane beyond the slots has one url on its way, which waits there for a slot. A higher priority goes first;
 * among equals the provider that waited longest; one that waits counts one priority higher for every
 * `ageingMs`, so that every turn comes. A lane that has had its turn while an equal waits gets no more urls.
 * A lane is recalled, so that it ends with the url being fetched, when a higher priority waits for its slot,
 * or an equal for one whose turn is over, be it in the line or in a lane beyond the slots; when its provider
 * is hindered, and when that may have fewer lanes from now on.
 */
import {
  enter,
  isHungry,
  LOWEST,
  mayFetch,
  newLane,
  newProvider,
  restate,
  windowOf,
  type Grant,
  type Hindrance,
  type Lane,
  type LaneProvider,
  type LaneRules,
  type ProviderLanes,
  type ProviderState,
} from './lane.js';
import { HostedLine } from './hosts.js';
import { InOrder } from './in-order.js';
import { RunningLanes } from './running-lanes.js';
import { isDueTo, WorkerSlots } from './worker-slots.js';

export class LaneTable {
  readonly #rules: LaneRules;
  readonly #providers = new Map<number, ProviderLanes>();
  readonly #workers: WorkerSlots;
  readonly #waiting: HostedLine;
  /** Lanes that may take more urls. */
  readonly #hungry = new Set<Lane>();
  readonly #running = new RunningLanes();
  readonly #recalled = new Set<Lane>();
  #toRecall: Lane[] = [];
  /** Those that are delayed, by the end of that. */
  readonly #delayed = new InOrder<ProviderLanes>();
  /** Those that make room for others. */
  readonly #resting = new InOrder<ProviderLanes>();
  readonly #waitingUrls: (pid: number, most: number) => number;
  #nowMs = 0;

  /** @param waitingUrls of a provider, counted as far as `most`; asked of parallel ones only */
  constructor(rules: LaneRules, waitingUrls: (pid: number, most: number) => number) {
    this.#rules = rules;
    this.#waitingUrls = waitingUrls;
    this.#workers = new WorkerSlots(rules.overbookPercent);
    this.#waiting = new HostedLine(rules);
  }

  /** A Bot Manager is there, or its slots changed. */
  setWorker(id: number, slots: number): void {
    for (const lane of this.#workers.set(id, slots)) this.#hungry.add(lane);
  }

  /** A Bot Manager is gone, its lanes with it. */
  removeWorker(id: number): void {
    for (const lane of this.#workers.remove(id)) this.#close(lane);
  }

  /** The one object of a provider, as long as that is not removed. */
  provider(pid: number): ProviderLanes {
    const known = this.#providers.get(pid) ?? newProvider(pid);
    this.#providers.set(pid, known);
    return known;
  }

  setProvider(settings: LaneProvider): void {
    const known = this.provider(settings.pid);
    if (known.priority !== settings.priority) {
      this.#waiting.remove(known);
      for (const lane of known.lanes.values()) this.#running.rank(lane, settings.priority);
    }
    const kept = [...known.lanes.values()].filter(({ state }) => state !== 'recalled');
    // All lanes are recalled: there are more than it may have now, or more urls on their way than there
    // should be.
    const areAll = settings.window < known.window || settings.parallel > known.parallel;
    for (const lane of areAll ? kept : kept.slice(settings.parallel)) this.recall(lane);
    Object.assign(known, settings, { host: settings.host ?? known.host });
    this.#settle(known);
  }

  /** Forgets a provider that has nothing on its way. */
  removeProvider(pid: number): void {
    const provider = this.#providers.get(pid);
    if (provider === undefined || provider.lanes.size > 0) return;
    this.#waiting.remove(provider);
    this.#delayed.delete(provider);
    this.#resting.delete(provider);
    this.#providers.delete(pid);
  }

  /** True if there is something to fetch from the provider now. */
  setHasUrls(pid: number, hasUrls: boolean): void {
    this.#change(pid, provider => (provider.hasUrls = hasUrls));
  }

  /** Something begins or ceases to keep the provider from fetching. */
  setHindered(pid: number, why: Hindrance, hindered: boolean): void {
    if (hindered) this.recallAll(pid);
    this.#change(pid, provider => {
      if (hindered) provider.hindrances.add(why);
      else provider.hindrances.delete(why);
    });
  }

  /** Calls back what the provider's site has not been asked for yet. */
  recallAll(pid: number): void {
    for (const lane of this.#providers.get(pid)?.lanes.values() ?? []) this.recall(lane);
  }

  /** Ends a lane: what has not begun comes back. */
  recall(lane: Lane): void {
    if (lane.state === 'recalled' || lane.state === 'closed') return;
    enter(lane, 'recalled');
    this.#running.delete(lane);
    this.#recalled.add(lane);
    this.#toRecall.push(lane);
  }

  /** No url is sent before `untilMs` (monotonic). */
  delay(pid: number, untilMs: number): void {
    this.#change(pid, provider => {
      provider.isDelayed = untilMs > this.#nowMs;
      if (provider.isDelayed) this.#delayed.set(provider, untilMs);
      else this.#delayed.delete(provider);
    });
  }

  /** Only one url at a time until told otherwise. */
  setProbing(pid: number, probing: boolean): void {
    this.#change(pid, provider => (provider.probing = probing));
  }

  /** True if its urls go out a window at a time, the next when all of the last are back. */
  setYielding(pid: number, yielding: boolean): void {
    if (this.#providers.get(pid)?.yielding !== yielding)
      this.#change(pid, provider => (provider.yielding = yielding));
  }

  /** No url is sent before `untilMs` (monotonic), so that others get on; its delay is another matter. */
  rest(pid: number, untilMs: number): void {
    this.#change(pid, provider => {
      provider.makesRoom = true;
      this.#resting.set(provider, untilMs);
    });
  }

  /** Lets providers go on after the end of their delay or rest. */
  wake(nowMs: number): void {
    this.#nowMs = nowMs;
    const [delayed, resting] = [this.#delayed.takeUpTo(nowMs), this.#resting.takeUpTo(nowMs)];
    for (const provider of delayed) provider.isDelayed = false;
    for (const provider of resting) provider.makesRoom = false;
    for (const provider of [...delayed, ...resting]) this.#settle(provider);
  }

  /** When `wake` is worth calling again; Infinity when nobody is delayed or rests. */
  nextWakeMs(): number {
    return Math.min(this.#delayed.first()?.at ?? Infinity, this.#resting.first()?.at ?? Infinity);
  }

  /** The next lane that may take urls; undefined when there is none. The caller answers with `sent`. */
  next(): Grant | undefined {
    for (const lane of this.#hungry) {
      this.#hungry.delete(lane);
      const room = this.#room(lane);
      if (room > 0) return { lane, room };
      if (lane.inFlight === 0) this.#close(lane);
    }
    const first = this.#waiting.first(this.#nowMs);
    const worker = this.#workers.freest();
    const provider = first && this.#providers.get(first.pid);
    if (first === undefined || provider === undefined || worker === undefined) return undefined;
    const lane = this.#open(provider, worker, first.priority);
    return { lane, room: this.#room(lane) };
  }

  /**
   * True if a url of that host may go into the lane, which is at one host at a time. If not, its provider has
   * a lane there next.
   * @param isEmpty nothing is on its way in it
   */
  mayCarry(lane: Lane, host: string, isEmpty: boolean): boolean {
    const { provider } = lane;
    if (lane.host === host) return true;
    provider.host = host;
    return isEmpty && this.#waiting.move(lane, host);
  }

  /** So many urls were sent into the lane; `more`: the provider has others that could go now. */
  sent(grant: Grant, urls: number, more: boolean): void {
    const { lane } = grant;
    const { provider } = lane;
    lane.inFlight += urls;
    lane.turnLeft -= urls;
    provider.hasUrls = more;
    // The Bot Manager may have gone meanwhile.
    if (lane.inFlight === 0 && lane.state !== 'closed') this.#close(lane);
    else this.#settle(provider);
  }

  /** A url of the lane was answered, or came back. */
  finished(lane: Lane): void {
    if (lane.state === 'closed') return;
    lane.inFlight--;
    lane.done++;
    // A provider with limited bandwidth has a turn of one url: it waits with the others for the next.
    if (lane.inFlight === 0 && lane.provider.window === 1) this.#close(lane);
    else if (this.#isHungry(lane)) this.#hungry.add(lane);
  }

  /** Lanes to recall; each is named once. */
  recalls(): Lane[] {
    // safeguard: making room for a higher priority
    this.#makeRoom();
    const lanes = this.#toRecall;
    this.#toRecall = [];
    return lanes.filter(lane => lane.inFlight > 0);
  }

  get lanes(): number {
    return this.#workers.lanes;
  }

  /** For the status: lanes in use by priority from 0 to 2, and those of what nobody announced, but for lanes
   * that are ending; providers that wait for a slot, for a place at their host, for a time. */
  get counts() {
    return {
      lanes: this.lanes,
      lanes_by_priority: this.#running.counts,
      lanes_unasked: this.#running.unasked,
      providers_waiting: this.#waiting.size,
      providers_parked: this.#waiting.parked,
      providers_delayed: this.#delayed.size,
    };
  }

  /** The state of a provider; undefined where the provider is not known here. */
  stateOf(pid: number): ProviderState | undefined {
    return this.#providers.get(pid)?.state;
  }

  #room(lane: Lane): number {
    const { provider } = lane;
    if (lane.state === 'recalled' || !mayFetch(provider)) return 0;
    if (this.#workers.isOverfull(lane) || lane.host !== provider.host) return 0;
    if (provider.probing) return lane.inFlight === 0 && provider.lanes.size === 1 ? 1 : 0;
    if (this.#mustYield(lane) || (provider.yielding && lane.inFlight > 0)) return 0;
    if (lane.turnLeft <= 0) {
      lane.turnLeft = this.#rules.turn;
      this.#running.rank(lane, provider.priority);
    }
    provider.share = this.#shareOf(provider, lane);
    return Math.max(0, this.#windowOf(lane) - lane.inFlight);
  }

  /** The share of a lane: urls that wait are divided among the lanes the provider may have, for one that took
   * all would leave the others idle. */
  #shareOf(provider: ProviderLanes, lane: Lane): number {
    if (provider.parallel === 1 || provider.window === 1) return Infinity;
    const lanes = Math.max(1, Math.min(provider.parallel, this.#rules.perHost, this.#workers.capacity));
    provider.share = Infinity;
    const most = lanes * this.#windowOf(lane);
    return Math.max(1, Math.ceil(this.#waitingUrls(provider.pid, most) / lanes));
  }

  #mustYield(lane: Lane): boolean {
    const isTurnOver = lane.turnLeft <= 0;
    if (this.#workers.isDueToSpare(lane, isTurnOver)) return true;
    const parked = this.#waiting.firstAt(lane, this.#nowMs);
    // safeguard: ending a lane whose turn is over while another provider waits for its host
    if (parked !== undefined && isDueTo(parked, lane, isTurnOver)) return true;
    const first = this.#waiting.first(this.#nowMs);
    return first !== undefined && isDueTo(first, lane, isTurnOver) && this.#workers.freest() === undefined;
  }

  /** Recalls lanes for providers that wait for one, and lanes that must leave their slots to lanes beyond the
   * slots. */
  #makeRoom(): void {
    this.#makeLanes();
    // safeguard: giving slots of lower priorities to lanes beyond the slots
    for (const displaced of this.#workers.displaced(this.#rules.turn)) this.recall(displaced);
  }

  /** Recalls lanes of the lowest priority, one for each provider of a higher one that waits. */
  #makeLanes(): void {
    const first = this.#waiting.first(this.#nowMs);
    if (first === undefined || this.#workers.freest() !== undefined) return;
    for (let priority = LOWEST; priority < first.priority; priority++) {
      const wanted = this.#waiting.above(priority, this.#nowMs);
      for (const lane of this.#running.of(priority)) {
        if (this.#recalled.size >= wanted) return;
        if (lane.pid !== first.pid) this.recall(lane);
      }
    }
  }

  #open(provider: ProviderLanes, worker: number, priority: number): Lane {
    if (provider.state !== 'waiting' && provider.state !== 'in-lane')
      throw new Error(`provider ${provider.pid}: a lane is opened while it is ${provider.state}`);
    const state = this.#workers.stateOfNext(worker);
    const lane = newLane(provider, worker, { turn: this.#rules.turn, priority, state });
    provider.lanes.set(lane.name, lane);
    this.#workers.opened(lane);
    this.#running.add(lane);
    // If it may have another one it has only begun to wait for that.
    this.#waiting.opened(lane);
    this.#settle(provider);
    return lane;
  }

  #close(lane: Lane): void {
    enter(lane, 'closed');
    this.#hungry.delete(lane);
    this.#recalled.delete(lane);
    this.#running.delete(lane);
    this.#waiting.closed(lane);
    for (const promoted of this.#workers.closed(lane)) this.#hungry.add(promoted);
    lane.provider.lanes.delete(lane.name);
    this.#settle(lane.provider);
  }

  #change(pid: number, change: (provider: ProviderLanes) => void): void {
    const provider = this.#providers.get(pid);
    if (provider === undefined) return;
    change(provider);
    this.#settle(provider);
  }

  /** Puts the provider in the line, or takes it from there, and enters the state that it has now; wakes its
   * lanes. */
  #settle(provider: ProviderLanes): void {
    const most = provider.probing ? 1 : provider.parallel;
    // safeguard: one fetch of a provider at a time
    const isWaiting = mayFetch(provider) && provider.lanes.size < most;
    if (!isWaiting) this.#waiting.remove(provider);
    else if (this.#waiting.add(provider, this.#nowMs))
      for (const lane of this.#waiting.displaced(provider.host, this.#nowMs)) this.recall(lane);
    restate(provider);
    for (const lane of provider.lanes.values()) {
      if (this.#isHungry(lane)) this.#hungry.add(lane);
    }
  }

  #isHungry(lane: Lane): boolean {
    return isHungry(lane, this.#windowOf(lane));
  }

  #windowOf(lane: Lane): number {
    return windowOf(lane, this.#workers.lanesBeside(lane), this.#rules.sharedWindow);
  }
}
