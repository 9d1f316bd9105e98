/** Settings that must agree with each other: each within its bounds, two of them may still make no sense
 * together. */
import { LccError } from '../lib/errors.js';
import { BEATS_PER_LEASE } from './cluster.js';
import type { Config } from './types.js';
import type { SettingKey } from './settings/index.js';

interface Pair {
  above: SettingKey;
  below: SettingKey;
  /** True if the two may be equal. */
  orEqual?: true;
}

const PAIRS: readonly Pair[] = [
  // A fetch that ends by itself must not have its robot cut for it.
  { above: 'bm.attempt_timeout_ms', below: 'bot.total_timeout_ms' },
  { above: 'qm.backoff_max_ms', below: 'qm.backoff_min_ms', orEqual: true },
  { above: 'clear.backoff_max_ms', below: 'clear.backoff_min_ms', orEqual: true },
  // A rail that hangs must not be taken for one that sends a long page.
  { above: 'clear.total_timeout_ms', below: 'clear.answer_timeout_ms' },
  // A url that is too long must be refused alone, not with all of its set as markup that is too long.
  { above: 'xml.token_bytes', below: 'xml.url_bytes', orEqual: true },
  { above: 'lccd.restart_max_ms', below: 'lccd.restart_min_ms', orEqual: true },
];

/** @throws LccError `config` naming both keys, their values and where they come from */
export function checkTogether(config: Config): void {
  for (const { above, below, orEqual } of PAIRS) {
    const most = Number(config.get(above));
    const least = Number(config.get(below));
    if (most > least || (orEqual && most === least)) continue;
    const said = (key: SettingKey) => `${key} = ${String(config.get(key))} (${config.originOf(key)})`;
    const must = orEqual ? 'must not be less than' : 'must be more than';
    throw new LccError('config', `${config.file ?? 'command line'}: ${said(above)} ${must} ${said(below)}`);
  }
  checkLease(config);
}

/** For what a machine needs to notice that another one is gone, beside pings and beats. */
const NOTICE_MS = 500;

/** Robots must have given up what they do before another machine owns the home. @throws LccError `config` */
function checkLease({ settings: { store, wire, cluster }, file }: Config): void {
  // All but the one beat that the owner may have missed.
  const leastMs = Math.ceil(
    ((2 * wire.pingIntervalMs + NOTICE_MS) * BEATS_PER_LEASE) / (BEATS_PER_LEASE - 1),
  );
  if (store.url === '' || cluster.leaseMs >= leastMs) return;
  throw new LccError(
    'config',
    `${file ?? 'command line'}: cluster.lease_ms = ${cluster.leaseMs} must be at least ${leastMs}: 2 × wire.ping_interval_ms + ${NOTICE_MS} ms, and a fifth of that`,
  );
}
