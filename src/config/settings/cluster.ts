/** `[cluster]`: the machines of an LCC whose home outlives any of them (lcc-cluster(7)). */
import { MAX_SHARD } from '../shards.js';
import { MACHINE } from '../forms.js';
import { count, list, ms, text, type Section } from './rows.js';

export const CLUSTER = {
  'cluster.machine': text(
    '',
    'name of this machine, as cluster.machines has it; default: the name of the host',
  ),
  'cluster.machines': list(
    [],
    'all machines by the names of their certificates, host or host:port; the same list on each',
    MACHINE,
  ),
  'cluster.shard': count(0, 0, MAX_SHARD, 'number of this home among those of one LCC'),
  'cluster.lease_ms': ms(3000, 500, 600_000, 'silence after which another machine takes the home over'),
  'cluster.port': count(
    9020,
    1,
    56_541,
    'first of five ports for machines: Bot Managers, content, lccq, front ends, registration; of shard N 10 × N higher',
  ),
} as const satisfies Section<'cluster'>;
