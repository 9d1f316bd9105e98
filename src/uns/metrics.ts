/** The metrics of a UNS, read from its status; lcc-metrics(5) is compared with this table. */
import type { MetricRow } from '../daemon/types.js';

export const UNS_METRICS: readonly MetricRow[] = [
  { name: 'lcc_uns_connections', type: 'gauge', field: 'connections', help: 'Connections of CPs' },
  { name: 'lcc_uns_sessions', type: 'gauge', field: 'sessions', help: 'Connections that have logged in' },
  { name: 'lcc_uns_sets_open', type: 'gauge', field: 'sets_open', help: 'Sets being received' },
  { name: 'lcc_uns_sets_spooled', type: 'gauge', field: 'sets_spooled', help: 'Sets in the spool' },
  { name: 'lcc_uns_spool_bytes', type: 'gauge', field: 'spool_bytes', help: 'Size of the spool' },
  {
    name: 'lcc_uns_spool_limit_bytes',
    type: 'gauge',
    field: 'max_spool_bytes',
    help: 'Size of the spool at which CPs are told to come back later',
  },
  {
    name: 'lcc_uns_sets_set_aside',
    type: 'gauge',
    field: 'sets_bad',
    help: 'Sets set aside, damaged or refused by the Queue Manager',
  },
  {
    name: 'lcc_uns_qm_connected',
    type: 'gauge',
    field: 'qm_connected',
    help: 'Whether there is a Queue Manager: 1 or 0',
  },
  { name: 'lcc_uns_sets_accepted_total', type: 'counter', field: 'sets_accepted', help: 'Sets accepted' },
  { name: 'lcc_uns_urls_accepted_total', type: 'counter', field: 'urls_accepted', help: 'Urls accepted' },
  {
    name: 'lcc_uns_refused_total',
    type: 'counter',
    field: 'refused',
    help: 'Connections, logins and sets refused',
  },
  {
    name: 'lcc_uns_sets_absorbed_total',
    type: 'counter',
    field: 'sets_absorbed',
    help: 'Sets that the Queue Manager has taken',
  },
];
