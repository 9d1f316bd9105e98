/**
 * Who may fetch now (semantics.md, rules 7 and 8). A lane is a provider's right to one fetch at a time at one Bot
 * Manager; urls are sent ahead into it, up to a window, and carried out there one after the other. A provider has one
 * lane, or as many as `parallel` allows.
 *
 *     resting ──has urls──▶ waiting ──a slot is free, its turn──▶ in a lane ──nothing left, or turn over──▶ resting / waiting
 *        ▲                     │ ▲
 *        ╰──── stopped ◀───────┴─┴──▶ delayed until a time (back-off; later: bandwidth, time of day)
 *
 * Lanes at a Bot Manager are its slots and some more (overbooked), so that a slot that falls free finds work. A higher
 * priority goes first; among equals the provider that waited longest. A lane whose turn is over while an equal waits,
 * or at any time while a higher one does, gets no more urls and ends when those on their way are done.
 */

export interface LaneRules {
  /** Urls on their way in one lane. */
  window: number;
  overbookPercent: number;
  /** Urls of one lane before an equal that waits gets it. */
  turn: number;
}

export interface LaneProvider {
  pid: number;
  priority: 0 | 1 | 2;
  parallel: number;
}

export interface Lane {
  /** What requests of this lane carry: `pid`, or `pid.n` for the further ones of a parallel provider. */
  name: string;
  pid: number;
  worker: number;
  inFlight: number;
  turnLeft: number;
}

/** Leave to send up to `room` urls of a provider into a lane. */
export interface Grant {
  lane: Lane;
  room: number;
}

interface Provider extends LaneProvider {
  hasUrls: boolean;
  stopped: boolean;
  delayedUntilMs: number;
  /** Send one url only and see: the site did not answer last time. */
  probing: boolean;
  lanes: Map<string, Lane>;
}

interface Worker {
  slots: number;
  lanes: Set<Lane>;
}

export class LaneTable {
  readonly #rules: LaneRules;
  readonly #providers = new Map<number, Provider>();
  readonly #workers = new Map<number, Worker>();
  /** Waiting providers by priority, longest waiting first. */
  readonly #waiting: readonly Set<number>[] = [new Set(), new Set(), new Set()];
  /** Lanes that may take more urls. */
  readonly #hungry = new Set<Lane>();
  readonly #delayed = new Set<number>();

  constructor(rules: LaneRules) {
    this.#rules = rules;
  }

  /** A Bot Manager is there, or its slots changed. */
  setWorker(id: number, slots: number): void {
    const worker = this.#workers.get(id);
    if (worker === undefined) this.#workers.set(id, { slots, lanes: new Set() });
    else worker.slots = slots;
  }

  /** A Bot Manager is gone, its lanes with it. */
  removeWorker(id: number): void {
    const worker = this.#workers.get(id);
    this.#workers.delete(id);
    for (const lane of worker?.lanes ?? []) this.#close(lane);
  }

  setProvider(settings: LaneProvider): void {
    const known = this.#providers.get(settings.pid);
    if (known === undefined) {
      this.#providers.set(settings.pid, {
        ...settings,
        hasUrls: false,
        stopped: false,
        delayedUntilMs: 0,
        probing: false,
        lanes: new Map(),
      });
      return;
    }
    this.#waiting[known.priority]?.delete(settings.pid);
    Object.assign(known, settings);
    this.#settle(known);
  }

  /** Forgets a provider that has nothing on its way. */
  removeProvider(pid: number): void {
    const provider = this.#providers.get(pid);
    if (provider === undefined || provider.lanes.size > 0) return;
    this.#waiting[provider.priority]?.delete(pid);
    this.#delayed.delete(pid);
    this.#providers.delete(pid);
  }

  /** Whether there is something to fetch from the provider now. */
  setHasUrls(pid: number, hasUrls: boolean): void {
    this.#change(pid, provider => (provider.hasUrls = hasUrls));
  }

  /** Paused by the operator, or disabled. */
  setStopped(pid: number, stopped: boolean): void {
    this.#change(pid, provider => (provider.stopped = stopped));
  }

  /** No url is sent before `untilMs` (monotonic); with `probing` only one at a time until told otherwise. */
  delay(pid: number, untilMs: number, probing: boolean): void {
    this.#change(pid, provider => {
      provider.delayedUntilMs = untilMs;
      provider.probing = probing;
      this.#delayed.add(pid);
    });
  }

  /** Forgets a delay. */
  release(pid: number): void {
    this.#change(pid, provider => {
      provider.delayedUntilMs = 0;
      provider.probing = false;
      this.#delayed.delete(pid);
    });
  }

  /** Lets providers go on whose delay is over. */
  wake(nowMs: number): void {
    for (const pid of this.#delayed) {
      const provider = this.#providers.get(pid);
      if (provider !== undefined && provider.delayedUntilMs > nowMs) continue;
      this.#delayed.delete(pid);
      if (provider !== undefined) this.#settle(provider);
    }
  }

  /** When the next delay ends; undefined when none is running. */
  nextWakeMs(): number | undefined {
    let least: number | undefined;
    for (const pid of this.#delayed) {
      const until = this.#providers.get(pid)?.delayedUntilMs;
      if (until !== undefined && (least === undefined || until < least)) least = until;
    }
    return least;
  }

  /** The next lane that may take urls; undefined when there is none. The caller answers with `sent`. */
  next(): Grant | undefined {
    for (const lane of this.#hungry) {
      this.#hungry.delete(lane);
      const room = this.#room(lane);
      if (room > 0) return { lane, room };
      if (lane.inFlight === 0) this.#close(lane);
    }
    for (let priority = 2; priority >= 0; priority--) {
      for (const pid of this.#waiting[priority] ?? []) {
        const worker = this.#freestWorker();
        if (worker === undefined) return undefined;
        const provider = this.#providers.get(pid);
        if (provider === undefined) continue;
        const lane = this.#open(provider, worker);
        return { lane, room: this.#room(lane) };
      }
    }
    return undefined;
  }

  /** So many urls were sent into the lane; `more`: the provider has others that could go now. */
  sent(grant: Grant, urls: number, more: boolean): void {
    const { lane } = grant;
    lane.inFlight += urls;
    lane.turnLeft -= urls;
    const provider = this.#providers.get(lane.pid);
    if (provider === undefined) return;
    provider.hasUrls = more;
    if (lane.inFlight === 0) this.#close(lane);
    else this.#settle(provider);
  }

  /** A url of the lane was answered. */
  finished(lane: Lane): void {
    if (!this.#workers.get(lane.worker)?.lanes.has(lane)) return;
    lane.inFlight--;
    // Refilled by halves: urls are read from the queue several at a time.
    if (lane.inFlight * 2 <= this.#rules.window) this.#hungry.add(lane);
  }

  get lanes(): number {
    let sum = 0;
    for (const worker of this.#workers.values()) sum += worker.lanes.size;
    return sum;
  }

  /** Providers that would fetch if there were a slot. */
  get waiting(): number {
    return this.#waiting.reduce((sum, set) => sum + set.size, 0);
  }

  #room(lane: Lane): number {
    const provider = this.#providers.get(lane.pid);
    const worker = this.#workers.get(lane.worker);
    if (provider === undefined || worker === undefined || !this.#mayFetch(provider)) return 0;
    if (worker.lanes.size > this.#capacity(worker)) return 0;
    if (provider.probing) return lane.inFlight === 0 && provider.lanes.size === 1 ? 1 : 0;
    if (this.#mustYield(lane, provider)) return 0;
    if (lane.turnLeft <= 0) lane.turnLeft = this.#rules.turn;
    return this.#rules.window - lane.inFlight;
  }

  #mustYield(lane: Lane, provider: Provider): boolean {
    if (this.#freestWorker() !== undefined) return false;
    for (let priority = 2; priority >= provider.priority; priority--) {
      const others = this.#waiting[priority]?.size ?? 0;
      if (others > 0 && (priority > provider.priority || lane.turnLeft <= 0)) return true;
    }
    return false;
  }

  #mayFetch(provider: Provider): boolean {
    return provider.hasUrls && !provider.stopped && !this.#delayed.has(provider.pid);
  }

  #open(provider: Provider, worker: [number, Worker]): Lane {
    let n = 0;
    while (provider.lanes.has(laneName(provider.pid, n))) n++;
    const lane: Lane = {
      name: laneName(provider.pid, n),
      pid: provider.pid,
      worker: worker[0],
      inFlight: 0,
      turnLeft: this.#rules.turn,
    };
    provider.lanes.set(lane.name, lane);
    worker[1].lanes.add(lane);
    this.#settle(provider);
    return lane;
  }

  #close(lane: Lane): void {
    this.#hungry.delete(lane);
    this.#workers.get(lane.worker)?.lanes.delete(lane);
    const provider = this.#providers.get(lane.pid);
    provider?.lanes.delete(lane.name);
    if (provider !== undefined) this.#settle(provider);
  }

  #change(pid: number, change: (provider: Provider) => void): void {
    const provider = this.#providers.get(pid);
    if (provider === undefined) return;
    change(provider);
    this.#settle(provider);
  }

  /** Puts the provider among those waiting, or takes it from there, as its state demands; wakes its lanes. */
  #settle(provider: Provider): void {
    const most = provider.probing ? 1 : provider.parallel;
    const waits = this.#mayFetch(provider) && provider.lanes.size < most;
    const queue = this.#waiting[provider.priority];
    if (waits) queue?.add(provider.pid);
    else queue?.delete(provider.pid);
    for (const lane of provider.lanes.values()) {
      if (lane.inFlight * 2 <= this.#rules.window) this.#hungry.add(lane);
    }
  }

  #capacity(worker: Worker): number {
    return Math.ceil(worker.slots * (1 + this.#rules.overbookPercent / 100));
  }

  #freestWorker(): [number, Worker] | undefined {
    let best: [number, Worker] | undefined;
    let bestFree = 0;
    for (const entry of this.#workers) {
      const capacity = this.#capacity(entry[1]);
      const free = (capacity - entry[1].lanes.size) / Math.max(1, capacity);
      if (free > bestFree) {
        best = entry;
        bestFree = free;
      }
    }
    return best;
  }
}

function laneName(pid: number, n: number): string {
  return n === 0 ? String(pid) : `${pid}.${n}`;
}
