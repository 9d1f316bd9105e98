/** The figures of lccd-keep. */
import { amount, formatDuration } from '../config/words.js';
import { counter, field, gauge, type Status, type StatusOf } from '../daemon/figures.js';

export const KEEP_FIGURES = {
  phase: field<string>((_count, { phase, home_owner: owner }) =>
    phase === 'standby' && owner !== ''
      ? `standby of ${String(owner)}`
      : typeof phase === 'string'
        ? phase
        : '',
  ),
  home_owner: field<string>(),
  owner: gauge<boolean>('lcc_keep_owner', 'Whether this machine owns the home: 1 or 0'),
  epoch: gauge('lcc_keep_epoch', 'Epoch of the lease', epoch => (epoch === 0 ? '' : `epoch ${epoch}`)),
  beat_age: gauge('lcc_keep_beat_age_seconds', 'Seconds since the owner was last known to be alive'),
  engine_up: gauge<boolean>('lcc_keep_engine_up', 'Whether the engine answers: 1 or 0'),
  engine_away: field<{ since_ms: number; reason: string } | null>({
    reasons: ({ engine_away: away }, nowMs) => awayReason(away, nowMs),
  }),
  engine_failovers: counter(
    'lcc_keep_engine_failovers_total',
    'Times that a node of the engine was given up and another went on',
  ),
  shipments: counter('lcc_keep_shipments_total', 'Shipments to the engine'),
  shipped_bytes: counter('lcc_keep_shipped_bytes_total', 'Bytes shipped, compressed'),
  unshipped_bytes: gauge('lcc_keep_unshipped_bytes', 'Bytes committed that the engine does not have', bytes =>
    bytes === 0 ? '' : `${bytes} bytes unshipped`,
  ),
  last_ship: gauge('lcc_keep_ship_seconds', 'Seconds that the last shipment took'),
  standby_behind_bytes: gauge(
    'lcc_keep_standby_behind_bytes',
    'Bytes of the engine that this standby has yet to copy',
    bytes => (bytes === 0 ? '' : `${bytes} bytes to copy`),
  ),
  standby_trouble: field<string | null>({
    reasons: ({ standby_trouble: trouble }) =>
      typeof trouble === 'string' && `this machine cannot take the home over: ${trouble}`,
  }),
  standbys: field<number>({
    word: (count, { owner }) => (owner === true ? amount(count, 'standby', 'standbys') : ''),
    reasons: ({ owner, standbys }) =>
      owner === true &&
      standbys === 0 &&
      'no standby: no other machine has all that the engine has, and would take this home over at once',
  }),
};

export type KeepStatus = StatusOf<typeof KEEP_FIGURES>;

function awayReason(away: unknown, nowMs: number): string | false {
  if (typeof away !== 'object' || away === null) return false;
  const { since_ms: sinceMs, reason } = away as Status;
  const age = formatDuration(Math.max(0, Math.floor((nowMs - Number(sinceMs)) / 1000)));
  return `engine away since ${age}: ${String(reason)}; nothing is acknowledged until it answers`;
}
