/** Sites that nobody announced, through the real dispatcher: what they answer, and providers whose links are followed. */
import type { TestContext } from 'node:test';
import type { FetchDone, FetchInline, FetchRequest } from '../../src/wire/fetch.js';
import type { UrlRecord } from '../../src/wire/url.js';
import { Simulation, type Fetch, type SimulationOptions } from './simulation.js';
import { failure, ok, url } from './support.js';

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const LINKS = { origin: 'links' } as const;

/** What a site says instead of a page: its robots.txt, a status, a redirect. */
type Answer =
  | { robots: string; etag?: string }
  | { unchanged: true }
  | { code: number; retryAfterMs?: number }
  | { to: string };

function answered(request: FetchRequest, answer: Answer | undefined): FetchDone | FetchInline {
  const cost = { id: request.id, wireBytes: 100, elapsedMs: 50 };
  if (answer === undefined) return ok(request.url, { fileId: request.url, elapsedMs: 50 });
  if ('robots' in answer) {
    const { robots, etag } = answer;
    const content = Buffer.from(robots);
    return {
      ...cost,
      status: 'inline',
      http: 200,
      content,
      isCut: false,
      ...(etag !== undefined && { etag }),
    };
  }
  if ('unchanged' in answer) return { ...cost, status: 'unchanged', http: 304 };
  if ('to' in answer) return { ...cost, status: 'redirect', http: 301, location: answer.to };
  const { code, ...more } = answer;
  return failure(
    code,
    code === 603 ? 'provider' : (code >= 500 && code !== 610) || code === 429 ? 'url' : 'real',
    more,
  );
}

type Site = (path: string, request: FetchRequest, atMs: number) => Answer | undefined;

/** @param site undefined: a page */
export function simulate(t: TestContext, site: Site, more: Partial<SimulationOptions> = {}): Simulation {
  const sim = new Simulation({
    site: (request, _pid, atMs) => ({
      result: answered(request, site(new URL(request.url).pathname, request, atMs)),
      tookMs: 50,
    }),
    ...more,
  });
  t.after(() => sim.close());
  return sim;
}

/** A provider whose links are followed. */
export function spidered(sim: Simulation, pid: number, pacems: number | null = 0): void {
  sim.bench.provider(pid);
  sim.bench.db.exec(`UPDATE pidb SET spider = 1, pacems = ${pacems ?? 'NULL'} WHERE pid = ${pid}`);
}

export const link = (path: string): UrlRecord => url(path, { mimetype: '*/*', ifabsent: 'yes', hops: '1' });
export const links = (count: number, prefix = '') =>
  Array.from({ length: count }, (_, i) => link(`${prefix}${i}`));
export const pathsOf = (fetches: readonly Fetch[]) => fetches.map(fetch => new URL(fetch.url).pathname);
export const idle = (sim: Simulation, limitMs = HOUR) => sim.until(() => !sim.status().isBusy, limitMs);
export const known = (sim: Simulation) =>
  sim.bench.db
    .prepare('SELECT curl, code, times, until - asked AS lasts FROM known ORDER BY curl')
    .all()
    .map(row => Object.values(row as Record<string, string | number>))
    .map(([curl, ...rest]) => [new URL(String(curl)).pathname, ...rest]);
