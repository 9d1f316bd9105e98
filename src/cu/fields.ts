/** The fields a content user sees, by the names `--fields` takes; what each comes from is in
 * db/cache/fields.ts. */
import { LccError } from '../lib/errors.js';
import type { ColumnName, ColumnValue } from '../db/cache/fields.js';

/** In the order in which tsv and jsonl print them. */
export const FIELDS = {
  op: 'op',
  seq: 'seq',
  id: 'id',
  pid: 'pid',
  curl: 'curl',
  mimetype: 'mimetype',
  subtype: 'subtype',
  burl: 'burl',
  furl: 'furl',
  md5: 'md5',
  len: 'len',
  mtime: 'mtime',
  http_charset: 'http_charset',
  fetched_time: 'fetched_time',
  deleted_time: 'deleted_time',
  fetched_machineid: 'fetched_machineid',
  fetched_fileid: 'fetched_fileid',
  /** Absolute path of the content, where it is on this machine. */
  file: 'localfileid',
  status: 'status',
  hops: 'hops',
  finalurl: 'finalurl',
  robots: 'robots',
} as const satisfies Record<string, ColumnName>;

export type FieldName = keyof typeof FIELDS;
const FIELD_NAMES = Object.keys(FIELDS) as FieldName[];

/** SQLite takes no more than 2000 columns. */
const MAX_NAMES = 100;

const OF_CRAWLS: ReadonlySet<FieldName> = new Set(['hops', 'finalurl', 'robots']);
/** Fields that are printed where none are asked for: without those that only pages of a crawl have. */
export const USUAL_FIELDS = FIELD_NAMES.filter(name => !OF_CRAWLS.has(name));

/**
 * Reads `--fields=curl,len,file`.
 * @throws LccError `usage` naming the first unknown field and all known ones
 */
export function parseFields(text: string): FieldName[] {
  const names = text.split(',');
  if (names.length > MAX_NAMES) throw new LccError('usage', `--fields: more than ${MAX_NAMES} names`);
  return names.map(name => {
    if (Object.hasOwn(FIELDS, name)) return name as FieldName;
    throw new LccError('usage', `--fields: unknown field "${name}"; there are ${FIELD_NAMES.join(', ')}`);
  });
}

/** A value as it is shown: `file` becomes an absolute path below the store. */
export function fieldValue(name: FieldName, value: ColumnValue, storeDir: string): ColumnValue {
  return name === 'file' && value !== null ? `${storeDir}/${value}` : value;
}
