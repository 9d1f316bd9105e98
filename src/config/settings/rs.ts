/** `[rs]`: registration of providers by themselves. */
import { GB, HOUR, MB, MINUTE, SECOND } from '../amounts.js';
import { bytes, bytesPerS, count, ms, type Section } from './rows.js';

export const RS = {
  'rs.first_pid': count(
    100_000,
    1,
    1_000_000_000,
    'lowest number of a provider that registers by itself; lccpidb add gives lower ones',
  ),
  'rs.filesmax': count(10_000, 0, 1_000_000_000, 'urls that such a provider may have at first'),
  'rs.spacemax_bytes': bytes(GB, 0, 1_000_000 * GB, 'bytes that it may have at first'),
  'rs.fullsetsallowed': count(3, 0, 1_000_000, 'full sets that it may send unasked at first'),
  'rs.bandwidth_bytes_per_s': bytesPerS(
    MB,
    0,
    1000 * GB,
    'rate at which it is fetched from at first; 0 = unlimited',
  ),
  'rs.priority': count(0, 0, 2, 'its priority at first'),
  'rs.most_filesmax': count(1_000_000, 0, 1_000_000_000, 'urls that an approval may give it'),
  'rs.most_spacemax_bytes': bytes(100 * GB, 0, 1_000_000 * GB, 'bytes that an approval may give it'),
  'rs.most_fullsetsallowed': count(30, 0, 1_000_000, 'full sets that an approval may give it'),
  'rs.most_bandwidth_bytes_per_s': bytesPerS(
    10 * MB,
    0,
    1000 * GB,
    'rate that an approval may give it; 0 = unlimited',
  ),
  'rs.most_priority': count(1, 0, 2, 'priority that an approval may give it'),
  'rs.max_roots': count(20, 1, 1000, 'roots that it may have'),
  'rs.providers_per_root': count(3, 1, 1000, 'such providers that may have the same root'),
  'rs.registrations_per_day': count(
    100,
    0,
    1_000_000,
    'registrations that the Queue Manager carries out a day',
  ),
  'rs.operations_per_hour': count(
    1000,
    1,
    1_000_000,
    'changes of a Registration Server that it carries out an hour, registrations among them',
  ),
  'rs.idle_timeout_ms': ms(
    3 * MINUTE,
    SECOND,
    HOUR,
    'time without a line from a Registration Server after which the Queue Manager closes the connection',
  ),
} as const satisfies Section<'rs'>;
