/** The metrics of a robot, read from its status; lcc-metrics(5) is compared with this table. */
import type { MetricRow } from '../daemon/types.js';

export const BOT_METRICS: readonly MetricRow[] = [
  { name: 'lcc_bot_slots', type: 'gauge', field: 'slots', help: 'Fetches it can do at a time' },
  {
    name: 'lcc_bot_fetching_urls',
    type: 'gauge',
    field: 'fetching',
    help: 'Slots in which a site is being asked',
  },
  {
    name: 'lcc_bot_slow_urls',
    type: 'gauge',
    field: 'slow',
    help: 'Fetches beside the slots, of sites that hardly answer',
  },
  { name: 'lcc_bot_waiting_urls', type: 'gauge', field: 'waiting', help: 'Requests waiting for a slot' },
  { name: 'lcc_bot_managers', type: 'gauge', field: 'managers', help: 'Bot Managers connected' },
  {
    name: 'lcc_bot_idle_connections',
    type: 'gauge',
    field: 'idle_connections',
    help: 'Connections to sites kept for the next request',
  },
  {
    name: 'lcc_bot_fetches_total',
    type: 'counter',
    label: 'result',
    fields: { ok: 'ok', unchanged: 'unchanged', error: 'error' },
    help: 'Fetches done, by result: ok, unchanged, error',
  },
  {
    name: 'lcc_bot_content_bytes_total',
    type: 'counter',
    field: 'bytes',
    help: 'Bytes of content stored',
  },
  {
    name: 'lcc_bot_wire_bytes_total',
    type: 'counter',
    field: 'wire_bytes',
    help: 'Bytes received from sites, headers included',
  },
];
