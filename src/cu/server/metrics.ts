/** The metrics of lccd-cu, read from its status; lcc-metrics(5) is compared with this table. */
import type { MetricRow } from '../../daemon/types.js';

export const CU_METRICS: readonly MetricRow[] = [
  { name: 'lcc_cu_connections', type: 'gauge', field: 'connections', help: 'Connections of content users' },
  { name: 'lcc_cu_answering', type: 'gauge', field: 'answering', help: 'Queries being answered' },
  { name: 'lcc_cu_queries_total', type: 'counter', field: 'queries', help: 'Queries taken' },
  {
    name: 'lcc_cu_urls_sent_total',
    type: 'counter',
    field: 'urls_sent',
    help: 'Urls sent in complete answers',
  },
  {
    name: 'lcc_cu_urls_omitted_total',
    type: 'counter',
    field: 'urls_omitted',
    help: 'Urls not sent: content missing or altered',
  },
  { name: 'lcc_cu_bytes_sent_total', type: 'counter', field: 'bytes_sent', help: 'Bytes of answers' },
  {
    name: 'lcc_cu_refused_total',
    type: 'counter',
    field: 'refused',
    help: 'Connections and queries refused',
  },
];
