/** The figures of lccd-cu. */
import { amount } from '../../config/words.js';
import { counter, field, figureOf, gauge, someThat, type StatusOf } from '../../daemon/figures.js';

export const CU_FIGURES = {
  connections: gauge('lcc_cu_connections', 'Connections of content users', count =>
    amount(count, 'connection'),
  ),
  max_connections: field<number>(),
  answering: gauge('lcc_cu_answering', 'Queries being answered', someThat('being answered')),
  queries: counter('lcc_cu_queries_total', 'Queries taken', (count, status) =>
    count === 0
      ? ''
      : `${amount(count, 'query', 'queries')} with ${amount(figureOf(status, 'urls_sent'), 'url')} since the start`,
  ),
  urls_sent: counter('lcc_cu_urls_sent_total', 'Urls sent in complete answers'),
  urls_omitted: counter('lcc_cu_urls_omitted_total', 'Urls not sent: content missing or altered'),
  bytes_sent: counter('lcc_cu_bytes_sent_total', 'Bytes of answers'),
  refused: counter('lcc_cu_refused_total', 'Connections and queries refused', someThat('refused')),
  streams: gauge('lcc_cu_streams', 'Readers of the change feed, those that wait included', count =>
    count === 0 ? '' : amount(count, 'reader of changes', 'readers of changes'),
  ),
  streams_stalled: counter(
    'lcc_cu_streams_stalled_total',
    'Readers of the change feed cut off because they took nothing',
    someThat('cut off'),
  ),
  http_listens: field<readonly string[]>(),
  listens: field<readonly string[]>(),
};

export type CuStatus = StatusOf<typeof CU_FIGURES>;

/** Those that are counted as things happen. */
export const NO_COUNTS = {
  queries: 0,
  urls_sent: 0,
  urls_omitted: 0,
  bytes_sent: 0,
  refused: 0,
  streams_stalled: 0,
};
export type Counted = (what: keyof typeof NO_COUNTS, by: number) => void;
