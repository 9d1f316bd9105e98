/**
 * The line of providers that wait for a slot, as far as their hosts permit: at one host there are at most
 * `perHost` lanes at a time, whatever providers they are of. For each host, as many providers stand in the
 * line as could have a lane there now; the others are parked with their host, and come into the line when a
 * place there falls free, the first of them first, with the time that they have waited. So the first in the
 * line can always be given a lane, and no provider of another host waits for a host that is full. A parked
 * provider that counts more than one of its host in the line takes its place there.
 *
 *     parked ──a place at its host──▶ in the line ──a slot──▶ in a lane (lanes.ts)
 *        ▲─────a higher priority comes────╯
 */
import { ANY_HOST, isGroup, restate, type Lane, type LinePlace, type ProviderLanes } from './lane.js';
import { agedPriority, WaitingLine, type First } from './waiting.js';

export interface HostLimits {
  /** Lanes at one host, and of one group, which counts as a host of its own. */
  perHost: number;
  perGroup: number;
  ageingMs: number;
}

interface Host {
  lanes: Lane[];
  /** Providers in the line; those and the lanes are as many as the host permits, at most. */
  inLine: number[];
  parked: WaitingLine | undefined;
}

export class HostedLine {
  readonly #limits: HostLimits;
  readonly #line: WaitingLine;
  readonly #hosts = new Map<string, Host>();
  /** Providers with a place. */
  readonly #providers = new Map<number, ProviderLanes>();
  #nowMs = 0;

  constructor(limits: HostLimits) {
    this.#limits = limits;
    this.#line = new WaitingLine(limits.ageingMs);
  }

  /** Providers in the line. */
  get size(): number {
    return this.#line.size;
  }

  /** Providers that wait for a place at their host. */
  get parked(): number {
    return this.#providers.size - this.#line.size;
  }

  first(nowMs: number): First | undefined {
    return this.#line.first(nowMs);
  }

  /** How many in the line count more than `priority`; of those who do by their age one of each priority. */
  above(priority: number, nowMs: number): number {
    return this.#line.above(priority, nowMs);
  }

  /** The first of those that wait for a place at the lane's host. */
  firstAt({ host }: Lane, nowMs: number): First | undefined {
    return this.#hosts.get(host)?.parked?.first(nowMs);
  }

  /**
   * Begins to wait; a provider that waits already goes on, maybe at another host.
   * @returns whether it is parked now, and was not before
   */
  add(provider: ProviderLanes, nowMs: number): boolean {
    this.#nowMs = nowMs;
    const { pid, priority, host, place: before } = provider;
    if (before?.host === host && before.priority === priority) return false;
    this.remove(provider);
    const place: LinePlace = { host, priority, sinceMs: before?.sinceMs ?? nowMs, parked: true };
    provider.place = place;
    this.#providers.set(pid, provider);
    const of = this.#hostOf(host);
    if (of.parked === undefined && this.#hasPlace(host, of)) {
      this.#enter(of, provider, place);
    } else {
      this.#park(of, provider, place);
      this.#balance(host, of);
    }
    return place.parked;
  }

  remove(provider: ProviderLanes): void {
    const { pid, place } = provider;
    if (place === undefined) return;
    provider.place = undefined;
    this.#providers.delete(pid);
    const host = this.#hostOf(place.host);
    if (place.parked) host.parked?.remove(pid, place.priority);
    else this.#leave(host, pid, place);
    this.#balance(place.host, host);
  }

  /** A provider in the line has got a lane; it may go on waiting for another one. */
  opened(lane: Lane): void {
    this.#hostOf(lane.host).lanes.push(lane);
    this.remove(lane.provider);
  }

  closed(lane: Lane): void {
    const host = this.#hosts.get(lane.host);
    if (host === undefined) return;
    remove(host.lanes, lane);
    // safeguard: giving places at a host that fall free to those that are parked
    this.#balance(lane.host, host);
  }

  /** Takes a lane to another host. @returns false when there is no place for it */
  move(lane: Lane, to: string): boolean {
    const host = this.#hostOf(to);
    if (!this.#hasPlace(to, host)) {
      this.#forget(to, host);
      return false;
    }
    const { host: from } = lane;
    const left = this.#hostOf(from);
    remove(left.lanes, lane);
    lane.host = to;
    host.lanes.push(lane);
    this.#balance(from, left);
    return true;
  }

  /** Lanes of a host whose places are due to providers of higher priorities that are parked there. */
  displaced(host: string, nowMs: number): Lane[] {
    const of = this.#hosts.get(host);
    if (of?.parked === undefined) return [];
    const { parked, lanes } = of;
    let ending = lanes.filter(lane => lane.state === 'recalled').length;
    return lanes
      .filter(lane => lane.state !== 'recalled')
      .toSorted((a, b) => a.priority - b.priority)
      .filter(lane => {
        const isDue = parked.above(lane.priority, nowMs) > ending;
        if (isDue) ending++;
        return isDue;
      });
  }

  #hasPlace(name: string, { lanes, inLine }: Host): boolean {
    // safeguard: the limit of fetches from one host
    return name === ANY_HOST || lanes.length + inLine.length < this.#mostAt(name);
  }

  #mostAt(name: string): number {
    const { perHost, perGroup } = this.#limits;
    // safeguard: the limit of fetches from one group
    return isGroup(name) ? perGroup : perHost;
  }

  /** Fills the host's places in the line, and gives them to those who count most. */
  #balance(name: string, host: Host): void {
    for (let best = host.parked?.first(this.#nowMs); best !== undefined;) {
      if (!this.#hasPlace(name, host)) {
        const least = this.#leastOf(host);
        if (least === undefined || least.priority >= best.priority) break;
        const [provider, place] = this.#placed(least.pid);
        this.#leave(host, least.pid, place);
        this.#park(host, provider, place);
      }
      this.#enter(host, ...this.#placed(best.pid));
      best = host.parked?.first(this.#nowMs);
    }
    this.#forget(name, host);
  }

  /** The provider in the line that counts least, and has waited least. */
  #leastOf({ inLine }: Host): First | undefined {
    let least: (First & { sinceMs: number }) | undefined;
    for (const pid of inLine) {
      const [, { priority: base, sinceMs }] = this.#placed(pid);
      const priority = agedPriority(base, sinceMs, this.#nowMs, this.#limits.ageingMs);
      if (
        least === undefined ||
        priority < least.priority ||
        (priority === least.priority && sinceMs > least.sinceMs)
      )
        least = { pid, priority, sinceMs };
    }
    return least;
  }

  #enter(host: Host, provider: ProviderLanes, place: LinePlace): void {
    const { pid } = provider;
    host.parked?.remove(pid, place.priority);
    place.parked = false;
    host.inLine.push(pid);
    this.#line.add(pid, place.priority, place.sinceMs);
    restate(provider);
  }

  #leave(host: Host, pid: number, { priority }: LinePlace): void {
    remove(host.inLine, pid);
    this.#line.remove(pid, priority);
  }

  #park(host: Host, provider: ProviderLanes, place: LinePlace): void {
    place.parked = true;
    host.parked ??= new WaitingLine(this.#limits.ageingMs);
    host.parked.add(provider.pid, place.priority, place.sinceMs);
    restate(provider);
  }

  #placed(pid: number): [ProviderLanes, LinePlace] {
    const provider = this.#providers.get(pid);
    if (provider?.place === undefined) throw new Error(`provider ${pid} is at a host and nowhere`);
    return [provider, provider.place];
  }

  #hostOf(name: string): Host {
    let host = this.#hosts.get(name);
    if (host === undefined) this.#hosts.set(name, (host = { lanes: [], inLine: [], parked: undefined }));
    return host;
  }

  #forget(name: string, host: Host): void {
    if (host.parked?.size === 0) host.parked = undefined;
    if (host.lanes.length === 0 && host.inLine.length === 0 && host.parked === undefined)
      this.#hosts.delete(name);
  }
}

function remove<T>(from: T[], one: T): void {
  const at = from.indexOf(one);
  if (at >= 0) from.splice(at, 1);
}
