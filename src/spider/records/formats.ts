/** Records as lines of text: all of a record but its document, of which there is a checksum. lcc-spider(5)
 * describes both. */
import { httpText, SPIDER_REASONS } from '../../wire/spider-codes.js';
import { urlText, type SpiderRecord } from '../../wire/spider-record.js';

/** @param crc32 of the document, as gzip(1) has it */
export type RecordFormat = (record: SpiderRecord, offset: number, crc32: number) => string;

/** Fields separated by tabs: doc_id, success, number of the reason, `r` redirected and `c` cut or `-`, HTTP
 * status, milliseconds, length and CRC-32 of the document, url, new url. */
export const formatTsv: RecordFormat = (record, _offset, crc32) => {
  const { docId, success, reason, redirected, cut, http, durationMs, docBytes, url, newUrl } = record;
  const flags = `${redirected ? 'r' : ''}${cut ? 'c' : ''}` || '-';
  const fields = [docId, success ? 1 : 0, SPIDER_REASONS[reason][0], flags, httpText(http), durationMs];
  return `${[...fields, docBytes, hex(crc32), urlText(url), urlText(newUrl)].join('\t')}\n`;
};

export const formatJsonl: RecordFormat = (record, offset, crc32) => {
  const { docId, success, reason, redirected, cut, http, durationMs, docBytes, url, newUrl } = record;
  return `${JSON.stringify({
    doc_id: docId,
    success,
    reason,
    redirected,
    cut,
    http: http === 0 ? null : httpText(http),
    ms: durationMs,
    url: urlText(url),
    new_url: newUrl === '' ? null : urlText(newUrl),
    len: docBytes,
    crc32: hex(crc32),
    offset,
  })}\n`;
};

function hex(crc32: number): string {
  return crc32.toString(16).padStart(8, '0');
}
