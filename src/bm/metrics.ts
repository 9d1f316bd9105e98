/** The metrics of a Bot Manager, read from its status; lcc-metrics(5) is compared with these tables. */
import type { MetricRow } from '../daemon/types.js';

export const BM_METRICS: readonly MetricRow[] = [
  { name: 'lcc_bm_robots', type: 'gauge', field: 'robots', help: 'Robots connected' },
  {
    name: 'lcc_bm_robots_silent',
    type: 'gauge',
    field: 'robots_silent',
    help: 'Robots that leave pings without an answer',
  },
  {
    name: 'lcc_bm_robots_lost',
    type: 'gauge',
    field: 'robots_lost',
    help: 'Robots lost within a day that have not come back',
  },
  { name: 'lcc_bm_slots', type: 'gauge', field: 'slots', help: 'Fetches they can do at a time' },
  { name: 'lcc_bm_fetching_urls', type: 'gauge', field: 'fetching', help: 'Requests given to robots' },
  { name: 'lcc_bm_waiting_urls', type: 'gauge', field: 'waiting', help: 'Requests waiting for a robot' },
  { name: 'lcc_bm_lanes', type: 'gauge', field: 'lanes', help: 'Lanes in use' },
  {
    name: 'lcc_bm_deletions_waiting',
    type: 'gauge',
    field: 'deletions_waiting',
    help: 'Files to be deleted',
  },
  { name: 'lcc_bm_names_free', type: 'gauge', field: 'names_free', help: 'File names at hand' },
  {
    name: 'lcc_bm_names_in_grace',
    type: 'gauge',
    field: 'names_in_grace',
    help: 'Files deleted that stay for the grace period',
  },
  {
    name: 'lcc_bm_store_full',
    type: 'gauge',
    field: 'store_full',
    help: 'Whether the disk of the store is nearly full: 1 or 0',
  },
  {
    name: 'lcc_bm_qm_connected',
    type: 'gauge',
    field: 'source',
    help: 'Whether there is a Queue Manager (or another source): 1 or 0',
  },
];

/** Of those, what a relay has too. */
const OF_ALL = ['slots', 'fetching', 'waiting', 'lanes', 'deletions_waiting', 'source'];

export const RELAY_METRICS: readonly MetricRow[] = [
  { name: 'lcc_bm_machines', type: 'gauge', field: 'machines', help: 'Machines below a relay' },
  {
    name: 'lcc_bm_bot_managers',
    type: 'gauge',
    field: 'bot_managers',
    help: 'Bot Managers connected to a relay',
  },
  ...BM_METRICS.filter(row => 'field' in row && OF_ALL.includes(row.field)),
];
