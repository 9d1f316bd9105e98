/**
 * An audit: of each owner whose turn has come an even sample of what it announced, asked for as any other url
 * is. What comes of it is settled by the Queue Manager; a sample that found something silent is drawn larger
 * by the next run.
 */
import type { ScanReader } from '../db/cache/scan.js';
import { dailySample, sampleSize } from '../db/truth/sample-size.js';
import { AS_SERVED } from '../wire/url.js';
import { ageOf, LEAST_AGE_S } from './choice.js';
import type { UrlSink } from './sinks.js';
import type { ScanCounts, ScanOptions, ScanRequest } from './types.js';
import { randomInt } from 'node:crypto';

export async function audit(
  db: Pick<ScanReader, 'auditProviders' | 'announced' | 'url' | 'isWaiting'>,
  sink: Pick<UrlSink<ScanRequest>, 'add' | 'finish'>,
  options: ScanOptions,
  nowS: number,
  random?: (below: number) => number,
): Promise<ScanCounts> {
  const samples = new Map<number, Reservoir>();
  for (const { pid, held, settled, silent, open, today } of db.auditProviders({ nowS })) {
    if (options.pids.size > 0 && !options.pids.has(pid)) continue;
    const wanted = Math.min(sampleSize(held, silent) - settled - open, dailySample(held) - today);
    const size = Math.min(wanted, options.limit ?? Infinity);
    if (size > 0) samples.set(pid, new Reservoir(size, random));
  }
  const counts: ScanCounts = { providers: samples.size, rows: 0, chosen: 0, overdue: 0, known: 0, recent: 0 };
  if (samples.size > 0)
    for (const [id, pid, checkedS] of db.announced()) {
      counts.rows++;
      const sample = samples.get(pid);
      if (ageOf(checkedS, nowS) >= LEAST_AGE_S) sample?.add(id);
      else if (sample !== undefined) counts.recent++;
    }
  for (const { ids } of samples.values())
    for (const id of ids) {
      const url = db.url(id);
      if (url === undefined || db.isWaiting(url.pid, url.curl)) continue;
      const { pid, curl, mimetype, served, furl } = url;
      counts.chosen++;
      await sink.add({ pid, curl, mimetype: served === 1 ? AS_SERVED : mimetype, furl: furl ?? undefined });
    }
  await sink.finish();
  return counts;
}

/**
 * The sample of an audit: drawn evenly from all that a provider holds, in one pass (reservoir sampling,
 * Vitter's algorithm R), with numbers that nobody can foresee.
 */
export class Reservoir {
  readonly #size: number;
  readonly #random: (below: number) => number;
  readonly #ids: number[] = [];
  #seen = 0;

  /** @param random a whole number from 0 on, below its argument */
  constructor(size: number, random: (below: number) => number = randomInt) {
    this.#size = size;
    this.#random = random;
  }

  add(id: number): void {
    this.#seen++;
    if (this.#ids.length < this.#size) {
      this.#ids.push(id);
      return;
    }
    if (this.#size === 0) return;
    const place = this.#random(this.#seen);
    if (place < this.#size) this.#ids[place] = id;
  }

  get ids(): readonly number[] {
    return this.#ids;
  }
}
