/**
 * Urls that are on their way in another form than the queue has by now: announced again, or deleted, after they were sent
 * ahead. What comes of them is not believed, so those that nobody has begun are called back: each page is asked for once.
 */
import type { QueueReader } from '../db/queue/sets.js';
import type { InFlight } from './in-flight.js';
import type { Lane } from './schedule/lane.js';

/** Time between two looks: a look reads a row for each url that is on its way from the provider. */
const PAUSE_MS = 200;

export class Outdated {
  readonly #inFlight: InFlight;
  readonly #queue: QueueReader;
  readonly #pids = new Set<number>();
  #dueMs = -Infinity;

  constructor(inFlight: InFlight, queue: QueueReader) {
    this.#inFlight = inFlight;
    this.#queue = queue;
  }

  /** Urls of the provider that waited have changed. */
  note(pid: number): void {
    this.#pids.add(pid);
  }

  /** When the next look is due, monotonic; Infinity when there is nothing to look at. */
  get dueMs(): number {
    return this.#pids.size === 0 ? Infinity : this.#dueMs;
  }

  /** Lanes with such urls, once it is time for a look. */
  lanes(nowMs: number): Set<Lane> {
    const lanes = new Set<Lane>();
    if (this.#pids.size === 0 || nowMs < this.#dueMs) return lanes;
    const begun = new Set<Lane>();
    for (const { lane, arrival } of this.#inFlight.of(this.#pids)) {
      // The oldest of a lane is being fetched: it is too late for that one.
      if (begun.has(lane)) {
        if (!lanes.has(lane) && this.#queue.generation(arrival.pos) !== arrival.gen) lanes.add(lane);
      } else {
        begun.add(lane);
      }
    }
    this.#pids.clear();
    this.#dueMs = nowMs + PAUSE_MS;
    return lanes;
  }
}
