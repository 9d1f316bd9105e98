/** How fast an LCC fetches, from what its Queue Manager counted between two looks. */
import type { Look } from '../../daemon/ask.js';
import type { Rates } from './table.js';

export interface Moment {
  looks: readonly Look[];
  /** Monotonic. */
  atMs: number;
}

/** Undefined when it was not the same Queue Manager both times. */
export function ratesOf(before: Moment, now: Moment): Rates | undefined {
  const [from, to] = [queueManagerOf(before), queueManagerOf(now)];
  const seconds = (now.atMs - before.atMs) / 1000;
  if (from === undefined || to === undefined || from.pid !== to.pid || seconds <= 0) return undefined;
  const since = (...names: string[]) =>
    names.reduce((sum, name) => sum + Number(to[name] ?? 0) - Number(from[name] ?? 0), 0) / seconds;
  return {
    urls_per_s: since('stored', 'unchanged', 'redirects', 'errors', 'retries'),
    bytes_per_s: since('wire_bytes'),
  };
}

function queueManagerOf({ looks }: Moment) {
  const look = looks.find(one => one.name === 'lccd-qm');
  return look !== undefined && 'status' in look ? look.status : undefined;
}
