/** A row of the queue, and how the record a CP sent becomes one and is read back. */
import type { UrlRecord } from '../../wire/url.js';
import type { Claim, Held, Said } from '../cache/held.js';
import type { SetClass } from '../../wire/origin.js';
import { AS_SERVED } from '../../wire/url.js';
import { isPrintable, mtimeOf, printedOf, secondsOfPrinted } from '../../wire/mtime.js';
import { resolveUrl } from '../../wire/urlprefix.js';
import { corrupt, isInteger, isIntegerOrNull, isText, isTextOrNull } from '../sqlite/row-checks.js';
import { placeOf } from './folders.js';

export const FLAG_IFABSENT = 1;
export const FLAG_DROP_OUTSIDE = 2;
/** Who announced it, where that was not its owner. */
export const FLAG_LINKS = 4;
const FLAG_SCAN = 8;
export const FLAG_AUDIT = 16;
/** Somebody says that something happened to it; by one of its provider's feeds; of a provider whose pushes
 * are worth little. */
export const FLAG_PUSH = 32;
export const FLAG_FEED = 64;
export const FLAG_SLOW = 128;
const CRAWL = FLAG_LINKS | FLAG_SCAN | FLAG_AUDIT;
export const UNASKED = CRAWL | FLAG_PUSH;

/** SQL: whether a row of qdb and one of lccurl, of the same provider and curl, are of one url. */
export const isSameUrl = (queued: string, held: string) =>
  `(${queued}.mimetype = ${held}.mimetype OR (${held}.served AND ${queued}.mimetype = '${AS_SERVED}'))`;

/** The flag of the urls of a set, by its class. */
export const FLAG_OF_CLASS: Readonly<Record<SetClass, number>> = {
  0: 0,
  1: FLAG_PUSH,
  2: FLAG_LINKS,
  3: FLAG_SCAN,
  4: FLAG_AUDIT,
  5: FLAG_PUSH | FLAG_SLOW,
};

/** `qpsdb.class` of a row's set. */
export const CLASS_OF_ROW = `CASE WHEN flags & ${UNASKED} = 0 THEN 0 WHEN flags & ${FLAG_SLOW} THEN 5
  WHEN flags & ${FLAG_PUSH} THEN 1 WHEN flags & ${FLAG_LINKS} THEN 2 WHEN flags & ${FLAG_SCAN} THEN 3 ELSE 4 END`;

/** The url as the CP meant it: absolute, numbers as numbers, null where nothing was said. */
export interface QueuedUrl extends Said {
  curl: string;
  mimetype: string;
  tod: string | null;
  flags: number;
  /** Links between it and where its provider's crawl began; null for what its owner announced. */
  hops: number | null;
}

/** Columns that sending a row needs. */
export interface WaitingRow extends Pick<
  QueuedUrl,
  'curl' | 'mimetype' | 'furl' | 'md5' | 'len' | 'mtime' | 'tod' | 'flags' | 'hops'
> {
  pos: number;
  pid: number;
  tries: number;
  gen: number;
  /** 1 fetch, 0 nothing: deleted while it waited. */
  op: 0 | 1;
  /** True if content is held; of one that is wanted as served that is not known. Nobody but its own fetch
   * makes it 1, or that of the same url as served; read again after whatever else changes the row. */
  held: 0 | 1;
}

/** All of a row. */
export interface QueueRow extends QueuedUrl {
  pos: number;
  pid: number;
  psetid: number;
  /** The last set that named it. */
  named: number;
  slot: number;
  tries: number;
  gen: number;
  op: 0 | 1;
}

/**
 * The state of a row as the database has it. What is taken, on its way or answered is known in memory only,
 * and is `ready` or `failed` here; a set without an entry in qpsdb is arriving, and none of its rows is taken
 * (docs/design/states.md).
 *
 *   ready  ──its hours exclude the present──▶ later ──one of its hours begins──▶ ready
 *   ready  ──a try failed──▶ failed       (at the end of its set; a further try that fails leaves it there)
 *   any    ──a set deletes it──▶ cancelled ──a set names it──▶ ready, or later, to be looked at
 */
type RowState = 'cancelled' | 'later' | 'failed' | 'ready';

/** @param slot left out: of a row that was read for its turn, which waits for no slot */
export function rowStateOf({ op, tries }: Pick<QueueRow, 'op' | 'tries'>, slot = -1): RowState {
  if (op === 0) return 'cancelled';
  if (slot >= 0) return 'later';
  return tries > 0 ? 'failed' : 'ready';
}

/** `qdb.mtime` as it is printed. */
const MTIME_TEXT = `strftime('%Y-%m-%dT%H:%M:%SZ', qdb.mtime, 'unixepoch')`;

/** Columns of qdb in the order of QueueRow. */
export const ROW_COLUMNS = `pos, pid, curl, mimetype, psetid, coalesce(named, psetid) AS named, slot, tries, gen, op, flags,
  subtype, burl, furl, md5, len, ${MTIME_TEXT} AS mtime, tod, hops`;

/** SELECT of raw rows for `waitingRow`; conditions follow. */
export const SELECT_WAITING = `SELECT qdb.pos, qdb.pid, qdb.tries, qdb.gen, qdb.op, qdb.curl, qdb.mimetype, qdb.furl,
  qdb.md5, qdb.len, qdb.mtime, lccurl.id IS NOT NULL, qdb.tod, qdb.flags, qdb.hops FROM qdb LEFT JOIN lccurl
  ON lccurl.pid = qdb.pid AND lccurl.curl = qdb.curl AND lccurl.mimetype = qdb.mimetype`;

/** The columns of SELECT_WAITING. Arrays cross from SQLite in half the time of objects. */
export type RawWaiting = [
  pos: number,
  pid: number,
  tries: number,
  gen: number,
  op: 0 | 1,
  curl: string,
  mimetype: string,
  furl: string | null,
  md5: string | null,
  len: number | null,
  /** Printed here: strftime() takes three times as long. */
  mtime: number | null,
  held: 0 | 1,
  tod: string | null,
  flags: number,
  hops: number | null,
];

/**
 * By index: taking an array apart by pattern goes through its iterator, and cost 5 µs a row.
 * @throws as SQLite for damage, for a row whose values are not of their columns' types
 */
export function waitingRow(raw: RawWaiting): WaitingRow {
  const pos = raw[0];
  const pid = raw[1];
  const op = raw[4];
  const curl = raw[5];
  const mimetype = raw[6];
  const furl = raw[7];
  const md5 = raw[8];
  const len = raw[9];
  const mtime = raw[10];
  const tod = raw[12];
  const isWhole =
    isText(curl) &&
    isText(mimetype) &&
    isTextOrNull(furl) &&
    isTextOrNull(md5) &&
    isTextOrNull(tod) &&
    isIntegerOrNull(len) &&
    (mtime === null || isPrintable(mtime)) &&
    isInteger(pid) &&
    isInteger(raw[13]) &&
    isIntegerOrNull(raw[14]);
  if (!isWhole) throw corrupt(`row ${pos} of qdb has a value of another type`);
  return {
    pos,
    pid,
    tries: raw[2],
    gen: raw[3],
    op,
    curl,
    mimetype,
    furl,
    md5,
    len,
    mtime: mtime === null ? null : printedOf(mtime),
    tod,
    flags: raw[13],
    hops: raw[14],
    held: raw[11],
  };
}

/** The same for a whole row. */
export function queueRow(row: QueueRow): QueueRow {
  const { pos, pid, curl, mimetype, subtype, burl, furl, md5, mtime, tod, len, flags, hops, tries, gen } =
    row;
  const isWhole =
    [curl, mimetype].every(isText) &&
    [subtype, burl, furl, md5, mtime, tod].every(isTextOrNull) &&
    [pid, flags, tries, gen].every(isInteger) &&
    isIntegerOrNull(len) &&
    isIntegerOrNull(hops);
  if (!isWhole) throw corrupt(`row ${pos} of qdb has a value of another type`);
  return row;
}

const OWNERS: Claim = { served: 0, hops: null };
const OWNERS_AS_SERVED: Claim = { served: 1, hops: null };

/** Whose content of that url is. What nobody announced leaves a row as it is; its owner's word makes it the
 * owner's. */
export function claimOf(
  { mimetype, flags, hops }: Pick<QueuedUrl, 'mimetype' | 'flags' | 'hops'>,
  held?: Claim,
): Claim {
  if ((flags & UNASKED) === 0) return mimetype === AS_SERVED ? OWNERS_AS_SERVED : OWNERS;
  return held ?? { served: mimetype === AS_SERVED ? 1 : 0, hops };
}

/** The type by which what is held is announced. */
export function typeAsked({ mimetype, served }: Pick<Held, 'mimetype' | 'served'>): string {
  return served === 1 ? AS_SERVED : mimetype;
}

/** The words on content that came for a row: a url that nobody announced has none that its owner alone can
 * say. */
export function saidOf(row: QueuedUrl, held: Held | undefined): Said {
  if ((row.flags & UNASKED) === 0 || held === undefined) return row;
  const { subtype, burl, givenfurl: furl } = held;
  const { md5, len, mtime } = row;
  return { subtype, burl, furl, md5, len, mtime };
}

/** Fields that say why a row is asked for. */
type Asked = Pick<QueuedUrl, 'flags' | 'hops' | 'mimetype'>;

/** True if a row asks again for what is held, and for nothing new: a scan's or an audit's of what its owner
 * announced, or a push of a row that is held. */
export function isRefreshOnly({ flags, hops, mimetype }: Asked): boolean {
  if ((flags & FLAG_PUSH) !== 0) return mimetype !== AS_SERVED;
  return (flags & (FLAG_SCAN | FLAG_AUDIT)) !== 0 && hops === null;
}

/** True if robots.txt says if it may be fetched: what nobody announced, but for another look at what its
 * owner did. What is pushed is fetched as what its owner announces. */
export function isGated(url: Asked): boolean {
  return (url.flags & CRAWL) !== 0 && !isRefreshOnly(url);
}

/** True if what nobody announced need not be fetched: it is wanted only if absent, and is there or known not
 * to be; or it is to look again at what its owner announced, and that is gone. */
export function isNeedless(url: Asked, held: Claim | undefined, isKnown: () => boolean): boolean {
  if (held === undefined && isRefreshOnly(url)) return true;
  return (url.flags & FLAG_IFABSENT) !== 0 && (held !== undefined || isKnown());
}

/** True if nothing is said of a url but its length and its time. */
export function isPlain({ flags, subtype, burl, furl, md5, tod }: QueuedUrl): boolean {
  return flags === 0 && md5 === null && subtype === null && burl === null && furl === null && tod === null;
}

/** `qdb.mtime` of what is printed so. */
export function secondsOf(mtime: string | null): number | null {
  return mtime === null ? null : secondsOfPrinted(mtime);
}

/** @param urlprefix of its set @param origin flag of its set, 0: its owner's, which has no hops */
export function queuedUrl(record: UrlRecord, urlprefix: string, origin = 0): QueuedUrl {
  const resolve = (url: string) => resolveUrl(urlprefix, url);
  return {
    curl: resolve(record.curl),
    mimetype: record.mimetype,
    subtype: record.subtype ?? null,
    burl: record.burl === undefined || record.burl === '' ? (record.burl ?? null) : resolve(record.burl),
    furl: record.furl === undefined || record.furl === '' ? null : resolve(record.furl),
    md5: record.md5 === undefined || record.md5 === '' ? null : record.md5.toLowerCase(),
    len: lengthOf(record.len),
    mtime: record.mtime === undefined ? null : (mtimeOf(record.mtime) ?? null),
    tod: record.tod ?? null,
    flags:
      origin |
      (record.ifabsent === 'yes' ? FLAG_IFABSENT : 0) |
      (record.outofroot === 'drop' ? FLAG_DROP_OUTSIDE : 0),
    // A push is not the owner's word: the page counts as one at which a crawl begins.
    hops: origin === 0 ? null : (origin & FLAG_PUSH) !== 0 ? 0 : lengthOf(record.hops),
  };
}

/** All that the CP said of a url, as a record: what its errors are reported with. */
export function recordOfRow(row: QueuedUrl): UrlRecord {
  const record: UrlRecord = { curl: row.curl, mimetype: row.mimetype };
  if (row.subtype !== null) record.subtype = row.subtype;
  if (row.burl !== null) record.burl = row.burl;
  if (row.furl !== null) record.furl = row.furl;
  if (row.md5 !== null) record.md5 = row.md5;
  if (row.len !== null) record.len = String(row.len);
  if (row.mtime !== null) record.mtime = row.mtime;
  if (row.tod !== null) record.tod = row.tod;
  if (row.flags & FLAG_IFABSENT) record.ifabsent = 'yes';
  if (row.flags & FLAG_DROP_OUTSIDE) record.outofroot = 'drop';
  return record;
}

function lengthOf(text: string | undefined): number | null {
  if (text === undefined || text === '') return null;
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** A row asks for nothing from now on; it stays until its turn. Parameters: set that says so, pid, curl,
 * mimetype. */
// safeguard: a delete during the fetch winning
export const CANCEL_ROW = `UPDATE queued SET op = 0, gen = gen + 1, named = ?
  WHERE pos = ${placeOf()} AND op = 1`;
