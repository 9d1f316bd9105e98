/** Rows as the changes of programs, and what programs ask for as a selection. */
import type { ColumnName, ColumnValue } from '../../db/cache/fields.js';
import type { Selection } from '../../db/cache/read.js';
import { cursorAt } from '../cursor.js';
import { sidesOf } from '../query.js';
import type { Change, ChangesOptions } from './types.js';

/** Why the content of a change is no more. */
export const REPLACED = 'it was replaced or deleted meanwhile, which comes as another change';
export const CHANGE_COLUMNS = [
  'op',
  'id',
  'pid',
  'curl',
  'mimetype',
  'subtype',
  'burl',
  'furl',
  'finalurl',
  'md5',
  'len',
  'mtime',
  'http_charset',
  'fetched_time',
  'deleted_time',
  'fetched_machineid',
  'localfileid',
  'fetched_fileid',
] as const satisfies readonly ColumnName[];

/** @param of a database: its store's id, and folder where it is here */
export function changeOf(
  [seq, ...values]: readonly ColumnValue[],
  of: { storeId: string; began: number; store: string | undefined },
): Change {
  const [
    op,
    id,
    pid,
    curl,
    mimetype,
    subtype,
    burl,
    furl,
    finalUrl,
    md5,
    len,
    mtime,
    charset,
    fetched,
    deleted,
    machineId,
    file,
  ] = values as [Change['op'], number, number, string, string, ...(string & number)[]];
  return {
    op,
    seq: Number(seq),
    id,
    pid,
    curl,
    mimetype,
    subtype: subtype ?? null,
    burl: burl ?? curl,
    furl: furl ?? null,
    finalUrl: finalUrl ?? null,
    md5: md5 ?? null,
    len: len ?? null,
    mtime: mtime ?? null,
    httpCharset: charset ?? null,
    time: new Date(Number(fetched ?? deleted) * 1000),
    machineId: machineId ?? null,
    file:
      of.store === undefined || file === null || file === undefined ? null : `${of.store}/${String(file)}`,
    cursor: cursorAt(of.storeId, Number(seq), of.began),
  };
}

export function selectionOf(options: ChangesOptions): Selection {
  const { since, until, pid, prefix, mime, deleted, cursor, follow } = options;
  const secondsOf = (time: Date | undefined) =>
    time === undefined ? undefined : Math.floor(Number(time) / 1000);
  const sides = sidesOf(deleted, cursor !== undefined || since !== undefined || follow === true);
  return { sides, since: secondsOf(since), until: secondsOf(until), pid, prefix, mime };
}
