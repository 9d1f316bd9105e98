/** Links through the spider door, and deletions of pages that ask not to be kept. */
import { DoorSets, type DoorCounts, type DoorSetsOptions } from '../wire/door-sets.js';
import { formatUrl } from '../wire/url.js';
import { linkLine } from './link-line.js';
import type { FoundLink, LinksSink, UnwantedPage } from './options.js';

export class DoorLinks implements LinksSink {
  readonly #sets: DoorSets;

  constructor(options: DoorSetsOptions) {
    this.#sets = new DoorSets(options, 'links');
  }

  get counts(): DoorCounts {
    return this.#sets.counts;
  }

  add(link: FoundLink): void | Promise<void> {
    return this.#sets.put(link.pid, linkLine(link, false));
  }

  unwanted({ pid, curl, mimetype, md5 }: UnwantedPage): void | Promise<void> {
    return this.#sets.put(
      pid,
      formatUrl({ curl, mimetype, ...(md5 !== undefined && { md5 }), op: 'delete' }),
    );
  }

  /** @throws LccError as `DoorSets.finish` */
  finish(): Promise<void> {
    return this.#sets.finish();
  }

  /** Drops the connection; sets without an answer may count or not. */
  drop(): void {
    this.#sets.drop();
  }
}
