/** The requests on their way, in memory only: each is answered, or put back when its Bot Manager is gone. */
import type { Arrival } from './results.js';
import type { Hours } from '../config/hours.js';
import type { Charge } from './schedule/bandwidth.js';
import type { Lane } from './schedule/lane.js';

export interface Request {
  worker: number;
  lane: Lane;
  arrival: Arrival['sent'];
  /** Bytes charged for the request, and when (monotonic). */
  expected: Charge;
  sentMs: number;
  /** Hours of its url alone. */
  hours: Hours;
  url: string;
  /** Login that the request was sent with. */
  login: string | undefined;
  /** The robots.txt of its origin was asked for in its place. */
  isRobots?: boolean;
}

export class InFlight {
  readonly #requests = new Map<number, Request>();

  get size(): number {
    return this.#requests.size;
  }

  add(id: number, request: Request): void {
    this.#requests.set(id, request);
  }

  /** @returns undefined when it is not on its way to this Bot Manager */
  take(id: number, worker: number): Request | undefined {
    const request = this.#requests.get(id);
    if (request?.worker !== worker) return undefined;
    this.#requests.delete(id);
    return request;
  }

  /** Takes all requests of a Bot Manager. */
  takeAll(worker: number): Request[] {
    return [...this.#requests].filter(([id]) => this.take(id, worker) !== undefined).map(([, one]) => one);
  }

  /** Requests of these providers in lanes that are not recalled, oldest first. */
  *of(pids: ReadonlySet<number>): Generator<Request> {
    for (const request of this.#requests.values())
      if (pids.has(request.lane.pid) && request.lane.state !== 'recalled') yield request;
  }

  /** Lanes with urls that their hours do not permit any more. */
  *closing(permits: (hours: Hours) => boolean): Generator<Lane> {
    for (const { lane, hours } of this.#requests.values()) if (!permits(hours)) yield lane;
  }

  /** Providers with urls on their way, and how many, at most `limit`. */
  providers(limit: number): [number, number][] {
    const urls = new Map<number, number>();
    for (const { lane } of this.#requests.values()) urls.set(lane.pid, (urls.get(lane.pid) ?? 0) + 1);
    return [...urls].slice(0, limit);
  }
}
