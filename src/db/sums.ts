/**
 * Checksums of rows. SQLite's own check missed 112 of 400 single-bit flips that changed data: what the Queue Manager acts
 * upon and what content users are shown is therefore summed, and a row that does not agree with its sum is not believed.
 *
 *     row of the queue ──FNV──▶ qdb.sum
 *     url text ──CRC──▶ url sum ──+ content text──▶ lccurl.sum
 *     deletion text ──CRC──▶ tombstone.sum, oldpath.sum
 *
 * A CRC goes on where it stopped: the sum of the row that content gets is made of the url sum that was taken when its row
 * of the queue was checked and sent. Damage between the two is carried along, and found by whoever reads.
 *
 * A row without a sum (NULL) is from before there were any, and is believed if its columns are of their types: a flipped
 * bit in what SQLite says of a row's columns takes the last ones away, and moves others. A row of the queue that asks for
 * nothing (op 0) has the complement of its sum, so that SQL can make it without knowing the row. Of deletions those up to
 * a number of the change sequence may be without (counter `unsummed`): what is after it, and has none, is damaged.
 */
import { crc32 } from 'node:zlib';

/** FNV-1a over UTF-16 units. Each step is a bijection, so no single change of a unit goes unseen. */
const FNV_START = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;
/** What no unit of a text is: the places of fields tell them apart. */
const FIELD = 0x10000;

/** What a row of the queue and a row of lccurl have in common. */
export interface SummedUrl {
  pid: number;
  curl: string;
  mimetype: string;
  subtype: string | null;
  burl: string | null;
  furl: string | null;
}

export interface SummedWaiting extends SummedUrl {
  md5: string | null;
  len: number | null;
  /** As printed. */
  mtime: string | null;
  tod: string | null;
  flags: number;
}

export interface SummedContent {
  id: number;
  seq: number;
  md5: string;
  len: number;
  mtime: string | null;
  saidmd5: string | null;
  saidlen: number | null;
  etag: string | null;
  lastmodified: string | null;
  verified: number;
  fetched_time: number;
  fetched_machineid: string;
  fetched_fileid: string;
}

/** A deletion, as content users are told it. */
export interface SummedDeletion {
  seq: number;
  /** Of the row of lccurl. */
  id: number;
  pid: number;
  curl: string;
  mimetype: string;
  burl: string | null;
  deleted_time: number;
  moved: number;
}

/** A file that a row no longer points to. */
export interface SummedOldPath {
  seq: number;
  pid: number;
  mimetype: string;
  machineid: string;
  fileid: string;
  left_time: number;
}

/** `qdb.sum` of a row that is to be fetched: the hot path of absorbing, half the price of a CRC, which wants a text. */
export function waitingSum(pid: number, row: Omit<SummedWaiting, 'pid'>): number {
  const { curl, mimetype, subtype, burl, furl, md5, len, mtime, tod, flags } = row;
  let sum = hashNumber(hashNumber(FNV_START, pid), flags);
  sum = hashText(hashText(sum, 0, curl), 1, mimetype);
  if (subtype !== null) sum = hashText(sum, 2, subtype);
  if (burl !== null) sum = hashText(sum, 3, burl);
  if (furl !== null) sum = hashText(sum, 4, furl);
  if (md5 !== null) sum = hashText(sum, 5, md5);
  if (mtime !== null) sum = hashText(sum, 6, mtime);
  if (tod !== null) sum = hashText(sum, 7, tod);
  return len === null ? sum : hashNumber(sum ^ FIELD, len);
}

/** Of a row as it was read: the sum of its url, undefined when the row does not agree with its `sum`. */
export function checkWaiting(row: SummedWaiting & { op: number; sum: number | null }): number | undefined {
  if (row.sum === null) return isWhole(row) ? urlSumOf(row) : undefined;
  const sum = waitingSum(row.pid, row);
  return row.sum === (row.op === 1 ? sum : ~sum) ? urlSumOf(row) : undefined;
}

/** Signed, as all sums here: V8 keeps larger numbers in objects of their own. */
export function urlSumOf(url: SummedUrl): number {
  return crc32(urlText(url.pid, url)) | 0;
}

/** `lccurl.sum`. @param urlSum of the row's url */
export function contentSum(urlSum: number, content: SummedContent): number {
  return crc32(contentText(content), urlSum >>> 0) | 0;
}

/** The columns of lccurl that are texts. A flipped bit in what SQLite says of one makes it a blob, with the same sum. */
const CONTENT_TEXTS = [
  ...(['curl', 'mimetype', 'subtype', 'burl', 'givenfurl', 'md5', 'mtime', 'saidmd5', 'etag'] as const),
  ...(['lastmodified', 'fetched_machineid', 'fetched_fileid'] as const),
];

/** Whether a row of lccurl agrees with its sum. */
export function isSoundContent(
  pid: number,
  row: Omit<SummedUrl, 'pid' | 'furl'> & SummedContent & { givenfurl: string | null; sum: number | null },
): boolean {
  if (CONTENT_TEXTS.some(column => isBlob(row[column]))) return false;
  if (row.sum === null) {
    const { md5, fetched_machineid, fetched_fileid, len, fetched_time, seq } = row;
    return (
      [md5, fetched_machineid, fetched_fileid].every(value => typeof value === 'string') &&
      [len, fetched_time, seq].every(value => typeof value === 'number')
    );
  }
  const { curl, mimetype, subtype, burl, givenfurl: furl } = row;
  return row.sum === contentSum(urlSumOf({ pid, curl, mimetype, subtype, burl, furl }), row);
}

/** `tombstone.sum`. */
export function deletionSum(row: SummedDeletion): number {
  const { seq, id, pid, curl, mimetype, burl, deleted_time, moved } = row;
  const text = `${seq} ${id} ${pid} ${curl} ${mimetype} ${deleted_time} ${moved}`;
  return crc32(burl === null ? text : `${text}\nb${burl}`) | 0;
}

/** `oldpath.sum`. */
export function oldPathSum({ seq, pid, mimetype, machineid, fileid, left_time }: SummedOldPath): number {
  return crc32(`${seq} ${pid} ${mimetype} ${machineid} ${fileid} ${left_time}`) | 0;
}

/** A row of pierr. */
export interface ErrorRow {
  errseq: number;
  pid: number;
  code: number;
  text: string;
  attrs: string;
  sum: number | null;
}

/** `pierr.sum`. */
export function errorSum({ errseq, pid, code, text, attrs }: Omit<ErrorRow, 'sum'>): number {
  return crc32(`${errseq} ${pid} ${code} ${attrs}\n${text}`) | 0;
}

/**
 * One without a sum is from before there were any; damage that takes the sum away moves the other columns, too. A text that
 * damage has made a blob has the same sum: whoever is told of it would stumble over its kind.
 */
export function isSoundError(row: ErrorRow): boolean {
  const { code, text, attrs, sum } = row;
  if (![text, attrs].every(value => typeof value === 'string')) return false;
  if (sum !== null) return sum === errorSum(row);
  return Number.isSafeInteger(code) && /^( |$)/.test(attrs);
}

/** Whether a text made by one of the `…_SUM_TEXT` below has that sum. */
export function isSoundText(text: string | Uint8Array, sum: number | null): boolean {
  return sum === null ? text.length === 0 : sum === (crc32(text) | 0);
}

function isBlob(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** What SQLite promises of columns; a damaged row does not keep to it. */
function isWhole({ curl, mimetype, flags, op }: SummedWaiting & { op: number }): boolean {
  return (
    [curl, mimetype].every(value => typeof value === 'string') && [flags, op].every(Number.isSafeInteger)
  );
}

function urlText(pid: number, { curl, mimetype, subtype, burl, furl }: Omit<SummedUrl, 'pid'>): string {
  let text = `${pid} ${curl} ${mimetype}`;
  if (subtype !== null) text += `\ns${subtype}`;
  if (burl !== null) text += `\nb${burl}`;
  if (furl !== null) text += `\nf${furl}`;
  return text;
}

function hashText(sum: number, field: number, text: unknown): number {
  let hash = Math.imul(sum ^ (FIELD + field), FNV_PRIME);
  // A damaged row may have a blob or a number where its text was.
  if (typeof text !== 'string') return hash;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
  return hash;
}

/** All 53 bits of it. */
function hashNumber(sum: number, value: number): number {
  const low = Math.imul(sum ^ (value | 0), FNV_PRIME);
  return Math.imul(low ^ Math.trunc(value / 2 ** 32), FNV_PRIME);
}

function contentText(row: SummedContent): string {
  let text =
    `\n${row.id} ${row.seq} ${row.md5} ${row.len} ${row.verified} ${row.fetched_time}` +
    ` ${row.fetched_machineid} ${row.fetched_fileid}`;
  if (row.mtime !== null) text += `\nm${row.mtime}`;
  if (row.saidmd5 !== null) text += `\n5${row.saidmd5}`;
  if (row.saidlen !== null) text += `\nl${row.saidlen}`;
  if (row.etag !== null) text += `\ne${row.etag}`;
  if (row.lastmodified !== null) text += `\nt${row.lastmodified}`;
  return text;
}

const tagged = (tag: string, column: string) => `'\n${tag}' || ${column}`;

/** `text`, another one where one of the columns is a blob: none is less than the empty one, and all else is. */
const unlessBlob = (columns: readonly string[], text: string) =>
  `iif(${columns.map(column => `${column} >= x''`).join(' OR ')}, 'damaged', ${text})`;

/** Characters that these texts themselves put between values, or that values which nobody wrote freely hold. */
export const SUM_TEXT_OWN = /[\w\s./:+-]/;

/**
 * SQL for what `lccurl.sum` is the CRC-32 of, '' for a whole row without one. SQLite would take a test for NULL of a column
 * that is declared otherwise for settled: hence typeof(). concat() takes NULL as ''.
 */
export const CONTENT_SUM_TEXT = unlessBlob(
  CONTENT_TEXTS,
  `iif(sum IS NULL, iif(typeof(md5) = 'text' AND typeof(fetched_machineid) = 'text'
  AND typeof(fetched_fileid) = 'text' AND typeof(len) = 'integer' AND typeof(fetched_time) = 'integer'
  AND typeof(seq) = 'integer' AND seq <= (SELECT value FROM counter WHERE name = 'seq'), '', 'damaged'), concat(pid, ' ', curl, ' ', mimetype, ${tagged('s', 'subtype')}, ${tagged('b', 'burl')},
  ${tagged('f', 'givenfurl')}, '\n', id, ' ', seq, ' ', md5, ' ', len, ' ', verified, ' ', fetched_time, ' ',
  fetched_machineid, ' ', fetched_fileid, ${tagged('m', 'mtime')}, ${tagged('5', 'saidmd5')},
  ${tagged('l', 'saidlen')}, ${tagged('e', 'etag')}, ${tagged('t', 'lastmodified')}))`,
);

const BEFORE_SUMS = "seq <= (SELECT value FROM counter WHERE name = 'unsummed')";

/** The same for `tombstone.sum`. */
export const DELETION_SUM_TEXT = unlessBlob(
  ['curl', 'mimetype', 'burl'],
  `iif(sum IS NULL, iif(${BEFORE_SUMS} AND typeof(id) = 'integer' AND typeof(pid) = 'integer'
  AND typeof(curl) = 'text' AND typeof(mimetype) = 'text' AND typeof(deleted_time) = 'integer', '', 'damaged'),
  concat(seq, ' ', id, ' ', pid, ' ', curl, ' ', mimetype, ' ', deleted_time, ' ', moved, ${tagged('b', 'burl')}))`,
);

/** The same for `oldpath.sum`. */
export const OLD_PATH_SUM_TEXT = unlessBlob(
  ['mimetype', 'machineid', 'fileid'],
  `iif(sum IS NULL, iif(${BEFORE_SUMS} AND typeof(pid) = 'integer'
  AND typeof(mimetype) = 'text' AND typeof(machineid) = 'text' AND typeof(fileid) = 'text' AND typeof(left_time) = 'integer',
  '', 'damaged'), concat(seq, ' ', pid, ' ', mimetype, ' ', machineid, ' ', fileid, ' ', left_time))`,
);
