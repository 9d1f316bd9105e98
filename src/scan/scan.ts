/**
 * A scan: of each provider that is scanned the pages that gain most by being asked for again (choice.ts), and first, within half of
 * its share, what was not to be had when its time has come. lcc.db is read, nothing is written: what a scan of a moment ago has
 * sent waits in the queue, and is passed over.
 */
import type { ScanProvider, ScanReader } from '../db/cache/scan.js';
import { AS_SERVED } from '../wire/url.js';
import { Choice, LEAST_AGE_S } from './choice.js';
import type { ScanCounts, ScanOptions, ScanSink } from './types.js';

const RUNS_A_DAY = 24;

/** Urls that a run may ask of a provider: a day's, in the share of an hour. */
export function shareOf({ held, perDay }: ScanProvider, options: ScanOptions): number {
  if (options.limit !== undefined) return options.limit;
  const aDay = perDay ?? Math.max(options.perDay, Math.ceil((held * options.percentPerDay) / 100));
  return Math.ceil(aDay / RUNS_A_DAY);
}

export async function scan(
  db: ScanReader,
  sink: ScanSink,
  options: ScanOptions,
  nowS: number,
): Promise<ScanCounts> {
  const providers = db.providers().filter(({ pid }) => options.pids.size === 0 || options.pids.has(pid));
  const counts: ScanCounts = {
    providers: providers.length,
    rows: 0,
    chosen: 0,
    overdue: 0,
    known: 0,
    recent: 0,
  };
  const overdue: number[] = [];
  const choices = new Map<number, Choice>();
  const send = async (id: number) => {
    const url = db.url(id);
    if (url === undefined) return;
    const { pid, curl, mimetype, served, furl, hops } = url;
    await sink.add({
      pid,
      curl,
      mimetype: served === 1 ? AS_SERVED : mimetype,
      furl: furl ?? undefined,
      hops: hops ?? undefined,
    });
  };
  const isFree = (id: number) => {
    const url = db.url(id);
    return url !== undefined && !db.isWaiting(url.pid, url.curl);
  };

  for (const provider of providers) {
    const share = shareOf(provider, options);
    const known = db.known(provider.pid, nowS, Math.floor(share / 2));
    for (const { curl, hops } of known)
      await sink.add({ pid: provider.pid, curl, mimetype: AS_SERVED, hops });
    counts.known += known.length;
    const choice = new Choice(share - known.length, nowS, isFree, id => void overdue.push(id));
    choices.set(provider.pid, choice);
  }
  if (choices.size > 0)
    for (const [id, pid, checkedS, n, x, t, retryS] of db.visited()) {
      const choice = choices.get(pid);
      if (choice === undefined) continue;
      counts.rows++;
      if (nowS - checkedS < LEAST_AGE_S) counts.recent++;
      choice.add({ id, checkedS, n, x, t, retryS: retryS ?? undefined });
      while (overdue.length > 0) {
        counts.overdue++;
        await send(overdue.shift() ?? 0);
      }
    }
  for (const choice of choices.values())
    for (const id of choice.chosen()) {
      counts.chosen++;
      await send(id);
    }
  await sink.finish();
  return counts;
}
