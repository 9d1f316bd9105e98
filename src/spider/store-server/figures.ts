/** The figures of lccstored. */
import { amount } from '../../config/words.js';
import { counter, field, figureOf, gauge, some, type StatusOf } from '../../daemon/figures.js';
import { formatBytes } from '../../lib/bytes-text.js';

export const STORE_FIGURES = {
  disk_trouble: field<string | null>({
    reasons: ({ disk_trouble: trouble }) =>
      typeof trouble === 'string' && `lccstored has no room, and spiders wait: ${trouble}; free some space`,
  }),
  connections: gauge('lcc_stored_connections', 'Connections of spiders', count =>
    amount(count, 'connection'),
  ),
  max_connections: field<number>(),
  records_pending: gauge(
    'lcc_stored_records_pending',
    'Records that have come and are not on disk yet',
    (count, status) =>
      count === 0
        ? ''
        : `${amount(count, 'record')} (${formatBytes(figureOf(status, 'bytes_pending'))}) not on disk yet`,
  ),
  bytes_pending: gauge('lcc_stored_bytes_pending', 'Size of records that have come and are not on disk yet'),
  records_received: counter('lcc_stored_records_received_total', 'Whole records received', (count, status) =>
    count === 0
      ? ''
      : `${amount(count, 'record')} (${formatBytes(figureOf(status, 'bytes_received'))}) taken since the start`,
  ),
  bytes_received: counter('lcc_stored_bytes_received_total', 'Size of whole records received'),
  records_kept: counter('lcc_stored_records_kept_total', 'Records that are on disk, or changed nothing'),
  rows_written: counter('lcc_stored_rows_written_total', 'Rows of documents written'),
  files_made: counter('lcc_stored_files_made_total', 'Files of records made'),
  acks_dropped: counter(
    'lcc_stored_acks_dropped_total',
    'Acknowledgements not sent because their spider did not read',
    some('acknowledgement dropped', 'acknowledgements dropped'),
  ),
  streams_damaged: counter(
    'lcc_stored_streams_damaged_total',
    'Connections closed because of what cannot be a record',
    some('damaged stream'),
  ),
  records_cut: counter('lcc_stored_records_cut_total', 'Records whose connection ended inside of them'),
  records_lost: counter('lcc_stored_records_lost_total', 'Records given back because the disk was full'),
  listens: field<readonly string[]>(),
};

export type StoreStatus = StatusOf<typeof STORE_FIGURES>;
