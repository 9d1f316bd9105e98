/**
 * sitemap2url and feed2url: lists in, one stream of urls out. Nothing is written before all has been read.
 */
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EngineOptions } from '../fetch/engine.js';
import type { Clock } from '../lib/clock.js';
import type { Advance } from '../lib/progress.js';
import type { Output } from '../lib/stdio.js';
import { together, type Coverage } from '../wire/coverage.js';
import { streamEnd, streamHead } from '../wire/url-stream.js';
import { Copies } from './copies.js';
import type { Entry } from './entry-lines.js';
import { SourceFetcher } from './fetcher.js';
import type { Extras } from './found.js';
import { UrlLines, type UrlLineOptions } from './url-lines.js';
import type { SourceLimits } from './limits.js';
import { hostOf, type DocumentPlace } from './places.js';
import { Walk } from './walk.js';

export interface ListOptions extends Omit<UrlLineOptions, 'nowMs'> {
  /** The command, for the first line of the stream. */
  from: 'sitemap2url' | 'feed2url';
  tops: readonly DocumentPlace[];
  /** The site whose robots.txt names lists. */
  site: URL | undefined;
  /** Where good readings are kept. */
  stateDir: string | undefined;
  staleMs: number;
  extras: Extras;
  limits: SourceLimits;
  engine: Omit<EngineOptions, 'clock' | 'trustedHosts'>;
  maxRetryAfterMs: number;
  clock: Clock;
  complain: (message: string) => void;
  explain: ((what: string) => void) | undefined;
  progress: Advance | undefined;
  namesAll: boolean;
}

export interface ListResult {
  urls: number;
  documents: number;
  /** Documents that could not be read. */
  failed: number;
  leftOut: number;
  /** How much of the site they name. */
  coverage: Coverage;
}

/** @throws LccError when nothing could be read: the stream is begun then and has no end */
export async function writeLists(out: Output, options: ListOptions): Promise<ListResult> {
  const { from, tops, site, stateDir, limits, extras, clock, progress } = options;
  const feedsOnly = from === 'feed2url';
  const nowMs = clock.nowMs();
  out.write(streamHead(feedsOnly ? { from, set: 'partial' } : { from }));
  // Files there lose their names as they are opened: whatever ends this process, nothing is left.
  const dir = tmpdir();
  const listing = new UrlLines(join(dir, `${from}-${randomUUID()}`), { ...options, nowMs });
  const named = [
    ...tops.flatMap(place => (place.kind === 'url' ? [place.url] : [])),
    ...(site ? [site.href] : []),
  ];
  const fetcher = new SourceFetcher({
    engine: { ...options.engine, trustedHosts: new Set(named.map(hostOf)) },
    maxRetryAfterMs: options.maxRetryAfterMs,
    explain: options.explain,
    clock,
    dir,
  });
  try {
    const copies = stateDir === undefined ? undefined : new Copies(stateDir, readsOf(extras));
    const take = (entry: Entry): void => {
      listing.add(entry);
      progress?.(1);
    };
    const walk = new Walk(fetcher, copies, take, { ...options, feedsOnly, limits, nowMs });
    await walk.run(tops, site && new URL('/robots.txt', site).href);
    const urls = listing.write(out);
    const coverage = together(walk.coverage, feedsOnly ? 'window' : 'all');
    out.write(streamEnd(coverage));
    const { documents, failed, leftOut } = walk;
    return { urls, documents, failed, leftOut, coverage };
  } finally {
    out.flush();
    fetcher.close();
    listing.close();
  }
}

/** The readings for a copy: a reading for fewer extras has not all. */
function readsOf(extras: Extras): string {
  return Object.entries(extras)
    .filter(([, isRead]) => isRead)
    .map(([name]) => name)
    .join(' ');
}
