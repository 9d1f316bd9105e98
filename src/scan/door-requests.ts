/** Requests to ask again, through the spider door. */
import { DoorSets, type DoorCounts, type DoorSetsOptions } from '../wire/door-sets.js';
import { requestLine } from './stdout-requests.js';
import type { ScanRequest, ScanSink } from './types.js';

export class DoorRequests implements ScanSink {
  readonly #sets: DoorSets;

  constructor(options: DoorSetsOptions, origin: 'scan' | 'audit') {
    this.#sets = new DoorSets(options, origin);
  }

  get counts(): DoorCounts {
    return this.#sets.counts;
  }

  add(request: ScanRequest): void | Promise<void> {
    return this.#sets.put(request.pid, requestLine(request, false));
  }

  /** @throws LccError as `DoorSets.finish` */
  finish(): Promise<void> {
    return this.#sets.finish();
  }
}
