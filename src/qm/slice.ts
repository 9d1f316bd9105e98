/** The urls of a set that wait for their transaction. Of a long slice they wait as text: objects that outlive
 * the collector's first rounds cost far more than their size, 70 MB for 40 000. */
import type { UrlRecord } from '../wire/url.js';
import { FEW_URLS } from './slice-size.js';

const URLS_PER_TEXT = 1000;

export class Slice implements Iterable<UrlRecord> {
  readonly #texts: string[] = [];
  #records: UrlRecord[] = [];
  #urls = 0;

  get urls(): number {
    return this.#urls;
  }

  /** @param most urls that the slice may come to have */
  add(record: UrlRecord, most: number): void {
    this.#urls++;
    this.#records.push(record);
    if (most <= FEW_URLS || this.#records.length < URLS_PER_TEXT) return;
    this.#texts.push(JSON.stringify(this.#records));
    this.#records = [];
  }

  *[Symbol.iterator](): Generator<UrlRecord, void> {
    for (const text of this.#texts) yield* JSON.parse(text) as UrlRecord[];
    yield* this.#records;
  }
}
