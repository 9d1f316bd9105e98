/**
 * A web archive: a `warcinfo` record, a `resource` record a page (the LCC keeps no HTTP headers, so there is
 * no `response`), a `metadata` record for each URL that is gone, and a last `metadata` record that says the
 * file is whole.
 */
import type { ColumnValue } from '../../db/cache/fields.js';
import { contentRecord, fieldsRecord, uriOf, uuidOf, type RecordHead } from '../archive/warc.js';
import { CONTENT_COLUMNS, type Format } from './types.js';

const COLUMNS = [
  ...CONTENT_COLUMNS,
  'op',
  'seq',
  'burl',
  'mimetype',
  'http_charset',
  'fetched_time',
  'deleted_time',
] as const;

export const warc: Format = {
  sides: ['held', 'gone'],
  takesFields: false,
  keyedByUrl: true,
  carriesContent: true,
  open(context) {
    const { storeId, sinceSeq } = context;
    const nowS = Math.floor(context.nowMs / 1000);
    const infoId = uuidOf(storeId, `warcinfo ${sinceSeq} ${context.nowMs}`);
    const info = { 'WARC-Warcinfo-ID': `<urn:uuid:${infoId}>` };
    let records = 0;
    return {
      columns: COLUMNS,
      head: fieldsRecord(
        { type: 'warcinfo', id: infoId, timeS: nowS },
        {
          software: 'lccq (LCC), warc 1',
          format: 'WARC File Format 1.1',
          conformsTo: 'http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/',
          'lcc-store': storeId,
          'lcc-since': String(sinceSeq),
        },
      ),
      record(values) {
        const [op, seq, burl, mimetype, charset, fetchedS, deletedS] = values.slice(CONTENT_COLUMNS.length);
        const curl = String(values[0]);
        const head = (type: RecordHead['type'], timeS: number): RecordHead => ({
          type,
          id: uuidOf(storeId, String(seq)),
          timeS,
          fields: {
            'WARC-Target-URI': uriOf(String(burl)),
            ...info,
            'LCC-Conceptual-URI': curl === burl ? undefined : uriOf(curl),
          },
        });
        if (op === 'delete') {
          records++;
          return fieldsRecord(head('metadata', Number(deletedS)), { 'lcc-op': 'delete' });
        }
        const content = context.openContent(values);
        if (content === undefined) return '';
        records++;
        return contentRecord(
          { ...head('resource', Number(fetchedS)), contentType: typed(String(mimetype), charset) },
          content,
        );
      },
      tail: reachedSeq =>
        fieldsRecord(
          {
            type: 'metadata',
            id: uuidOf(storeId, `end of ${infoId}`),
            timeS: nowS,
            fields: { ...info, 'WARC-Refers-To': `<urn:uuid:${infoId}>` },
          },
          { 'lcc-complete': String(records), 'lcc-reached': String(reachedSeq) },
        ),
    };
  },
};

/** The mimetype as a server says it. */
function typed(mimetype: string, charset: ColumnValue | undefined): string {
  return charset === null || charset === undefined ? mimetype : `${mimetype}; charset=${charset}`;
}
