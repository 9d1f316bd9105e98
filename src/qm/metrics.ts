/** The metrics of the Queue Manager, read from its status; lcc-metrics(5) is compared with this table. */
import type { MetricRow } from '../daemon/types.js';

export const QM_METRICS: readonly MetricRow[] = [
  { name: 'lcc_qm_queue_urls', type: 'gauge', field: 'rows_queued', help: 'Urls queued' },
  { name: 'lcc_qm_queue_sets', type: 'gauge', field: 'sets', help: 'Sets with urls queued' },
  {
    name: 'lcc_qm_queue_providers',
    type: 'gauge',
    field: 'providers',
    help: 'Providers with urls queued',
  },
  {
    name: 'lcc_qm_providers_waiting',
    type: 'gauge',
    field: 'providers_waiting',
    help: 'Providers that could be fetched from and wait for a slot',
  },
  {
    name: 'lcc_qm_providers_delayed',
    type: 'gauge',
    field: 'providers_delayed',
    help: 'Providers with urls queued that wait for back-off, bandwidth or pace',
  },
  {
    name: 'lcc_qm_providers_parked',
    type: 'gauge',
    field: 'providers_parked',
    help: 'Providers that could be fetched from and wait for a place at their host',
  },
  {
    name: 'lcc_qm_providers_closed',
    type: 'gauge',
    field: 'providers_closed',
    help: 'Providers with urls queued that are closed at this hour',
  },
  {
    name: 'lcc_qm_held_urls',
    type: 'gauge',
    field: 'held_urls',
    help: 'Removals that the mass-delete fuse holds back',
  },
  { name: 'lcc_qm_absorbing_sets', type: 'gauge', field: 'absorbing', help: 'Sets being absorbed' },
  {
    name: 'lcc_qm_in_flight_urls',
    type: 'gauge',
    field: 'in_flight',
    help: 'Urls being fetched, or fetched and not yet written down',
  },
  { name: 'lcc_qm_lanes', type: 'gauge', field: 'lanes', help: 'Lanes in use' },
  { name: 'lcc_qm_unses', type: 'gauge', field: 'unses', help: 'UNSes connected' },
  {
    name: 'lcc_qm_unses_shut_out',
    type: 'gauge',
    field: 'unses_shut_out',
    help: 'Whether the queue is full and UNSes have to wait: 1 or 0',
  },
  { name: 'lcc_qm_bot_managers', type: 'gauge', field: 'bot_managers', help: 'Bot Managers connected' },
  {
    name: 'lcc_qm_freed_files',
    type: 'gauge',
    field: 'freed_waiting',
    help: 'Files no longer needed that are still to be deleted',
  },
  {
    name: 'lcc_qm_fetched_total',
    type: 'counter',
    label: 'result',
    fields: { stored: 'stored', unchanged: 'unchanged', error: 'errors', retry: 'retries' },
    help: 'Fetches done, by result: stored, unchanged, error (told to the provider), retry (failed for now)',
  },
  {
    name: 'lcc_qm_wire_bytes_total',
    type: 'counter',
    field: 'wire_bytes',
    help: 'Bytes received from sites, headers included',
  },
];
