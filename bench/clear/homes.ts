/** What the benchmarks of cache clearing share: homes with rails, and daemons that are timed. */
import { readdirSync } from 'node:fs';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { ClearHome } from '../../test/support/clear.js';
import type { Daemon } from '../../test/support/daemon.js';
import type { TestRail } from '../../test/support/rails.js';
import { until } from '../../test/support/until.js';
import { peakRssBytes, type Sample } from '../harness.js';

/** Of all amounts: to try the benchmark. */
const SHARE = Number(process.env['LCC_BENCH_CLEAR_PERCENT'] ?? 100) / 100;

export const amountOf = (whole: number) => Math.round(whole * SHARE);
export const RAILS = ['nginx', 'nginx', 'nginx'] as const;
/** Connections to each rail: 48 altogether, where curl has 50. */
export const WORKERS = 16;
/** For a rail: its logs would be as long as all that is asked. */
export const QUIET = 'access_log off; error_log /dev/null crit;';
export const CURL = 'curl -s -Z --parallel-max 50';
export const WAIT_MS = 3_600_000;

const homes: ClearHome[] = [];

export function newHome(...settings: ConstructorParameters<typeof ClearHome>): ClearHome {
  const home = new ClearHome(...settings);
  homes.push(home);
  return home;
}

/** Not before the last measurement: where files were deleted, creating is slow for some minutes. */
export async function endHomes(): Promise<void> {
  await Promise.all(homes.map(home => home.end()));
}

/** From the start of a daemon until it has done what is queued; its end is not counted. */
export async function timeDaemon(daemon: Daemon, isDone: () => boolean): Promise<Sample> {
  const startedMs = performance.now();
  await until(`${daemon.name} has done it`, isDone, WAIT_MS);
  const seconds = (performance.now() - startedMs) / 1000;
  const maxRssBytes = peakRssBytes(daemon.child.pid ?? 0);
  await stop(daemon);
  return { seconds, maxRssBytes };
}

export async function stop(daemon: Daemon): Promise<void> {
  daemon.child.kill('SIGTERM');
  const status = await daemon.ended;
  if (status !== 0) throw new Error(`${daemon.name} ends with ${status}: ${daemon.log.slice(-2000)}`);
}

export function countPages(rail: TestRail): number {
  return readdirSync(join(rail.docroot, 'news')).length;
}

export async function listen(server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
