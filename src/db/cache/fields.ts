/** The fields of a record, that of a content held (`held`, a row of lccurl) and that of a deletion (`gone`, a
 * tombstone): which of the two has each, the SQL that yields it, and what is known of its values. */

export type TableSide = 'held' | 'gone';

interface Column {
  held: string;
  gone: string;
  /** True if it is NULL for no row of the tables that have it. */
  always?: boolean;
  /** Text that others wrote freely: may hold any character. The rest is checked at intake, or made by us. */
  free?: boolean;
}

const both = (sql: string) => ({ held: sql, gone: sql });
const held = (sql: string) => ({ held: sql, gone: 'NULL' });

const TABLE = {
  id: { ...both('id'), always: true },
  seq: { ...both('seq'), always: true },
  op: { held: `'upsert'`, gone: `'delete'`, always: true },
  pid: { ...both('pid'), always: true },
  curl: { ...both('curl'), always: true, free: true },
  mimetype: { ...both('mimetype'), always: true },
  subtype: { ...held('subtype'), free: true },
  /** As the provider said it: NULL = curl, '' = not browsable. */
  givenburl: { ...both('burl'), free: true },
  burl: { ...both('coalesce(burl, curl)'), always: true, free: true },
  /** As the provider said it: NULL = curl. */
  givenfurl: { ...held('givenfurl'), free: true },
  furl: { ...held('furl'), free: true },
  md5: { ...held('md5'), always: true },
  len: { ...held('len'), always: true },
  mtime: held('mtime'),
  http_charset: held('http_charset'),
  fetched_time: { ...held('fetched_time'), always: true },
  deleted_time: { held: 'NULL', gone: 'deleted_time', always: true },
  /** Time of the change that `seq` numbers. */
  changed_time: { held: 'coalesce(changed_time, fetched_time)', gone: 'deleted_time', always: true },
  fetched_machineid: { ...held('fetched_machineid'), always: true },
  fetched_fileid: { ...held('fetched_fileid'), always: true },
  /** The fileid where the content is on this machine (bound as $machine), else NULL. */
  localfileid: held('iif(fetched_machineid = $machine, fetched_fileid, NULL)'),
  /** Links between it and a page that the crawl began with; NULL = its owner announced it. */
  hops: held('hops'),
  /** Where the content came from after redirects; NULL = furl. */
  finalurl: { ...held('finalurl'), free: true },
  /** X-Robots-Tag, as the server sent it. */
  robots: { ...held('robots'), free: true },
  status: { held: `iif(verified, 'ok', 'unverified')`, gone: `'deleted'`, always: true },
} satisfies Record<string, Column>;

export type ColumnName = keyof typeof TABLE;
export type ColumnValue = string | number | null;

export const COLUMNS: Readonly<Record<ColumnName, Column>> = TABLE;

/** True if every row of that table has a value. */
export function isAlways(name: ColumnName, side: TableSide): boolean {
  return COLUMNS[name].always === true && COLUMNS[name][side] !== 'NULL';
}
