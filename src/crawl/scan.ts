/**
 * A scan: of each provider that is scanned the pages that gain most by being asked for again (choice.ts), and
 * first, within half of its share, what was not to be had when its time has come. What robots.txt forbade is
 * judged again beside all that: while it is forbidden that costs no request. lcc.db is read, nothing is
 * written: what a scan of a moment ago has sent waits in the queue, and is passed over.
 */
import type { ScanProvider, ScanReader } from '../db/cache/scan.js';
import { AS_SERVED } from '../wire/url.js';
import { ageOf, Choice, LEAST_AGE_S } from './choice.js';
import type { UrlSink } from './sinks.js';
import type { ScanCounts, ScanOptions, ScanRequest } from './types.js';

const HOURS = 24;
const HOUR_S = 3600;
/** Forbidden urls of a provider that are judged again in a run: that number is fetched if they have been
 * permitted meanwhile. */
const MOST_FORBIDDEN = 100;

/** Urls that a run may ask of a provider: a day's, in the share of its hour (UTC). Those of a day's hours are
 * as many as the day's. */
export function shareOf({ held, perDay }: ScanProvider, options: ScanOptions, nowS: number): number {
  if (options.limit !== undefined) return options.limit;
  const aDay = perDay ?? Math.max(options.perDay, Math.ceil((held * options.percentPerDay) / 100));
  const hour = Math.floor(nowS / HOUR_S) % HOURS;
  return Math.floor(((hour + 1) * aDay) / HOURS) - Math.floor((hour * aDay) / HOURS);
}

export async function scan(
  db: ScanReader,
  sink: Pick<UrlSink<ScanRequest>, 'add' | 'finish'>,
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
    return url !== undefined && !db.isWaiting(url.pid, url.curl) && !db.isForbidden(url.pid, url.curl);
  };

  for (const provider of providers) {
    const share = shareOf(provider, options, nowS);
    const forbidden = db.forbidden(provider.pid, nowS, Math.max(share, MOST_FORBIDDEN));
    const known = db.known(provider.pid, nowS, Math.floor(share / 2));
    for (const { curl, hops } of [...known, ...forbidden])
      await sink.add({ pid: provider.pid, curl, mimetype: AS_SERVED, hops });
    counts.known += known.length + forbidden.length;
    choices.set(provider.pid, new Choice(share - known.length, nowS, isFree));
  }
  if (choices.size > 0)
    for (const [id, pid, checkedS, n, x, t, retryS, second] of db.visited()) {
      const choice = choices.get(pid);
      if (choice === undefined) continue;
      counts.rows++;
      if (ageOf(checkedS, nowS) < LEAST_AGE_S) counts.recent++;
      const row = { id, checkedS, n, x, t, retryS: retryS ?? undefined, isSecondLook: second === 1 };
      if (!choice.add(row)) continue;
      counts.overdue++;
      await send(id);
    }
  for (const choice of choices.values())
    for (const id of choice.chosen()) {
      counts.chosen++;
      await send(id);
    }
  await sink.finish();
  return counts;
}
