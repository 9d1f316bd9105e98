/** Comparison of an announced content with what comes: its type, its end where only its connection says where
 * that is, and its length and md5 where these are enforced. */
import type { Completeness } from '../wire/fetch.js';
import { mimeMatcher } from '../wire/mime-patterns.js';
import { fail, type FetchFailure } from './failure.js';
import { essenceOf, type ResponseHead } from './head.js';
import type { FetchJob } from './job.js';

export function otherType({ mimetype }: FetchJob, { contentType }: ResponseHead): FetchFailure | undefined {
  const [announced, served] = [essenceOf(mimetype), essenceOf(contentType)];
  if (announced === undefined || served === undefined || !contradicts(announced, served)) return undefined;
  return fail('other-type', `${announced} was announced, ${served} is served`);
}

/** Content whose type the site does not say is application/octet-stream. */
export function unacceptedType(
  { accept }: FetchJob,
  { contentType }: ResponseHead,
): FetchFailure | undefined {
  if (accept === undefined) return undefined;
  const served = essenceOf(contentType) ?? 'application/octet-stream';
  return mimeMatcher(accept)(served) ? undefined : fail('unaccepted-type', `${served} is served`);
}

/** A content that has come. */
export interface EndedContent {
  length: number;
  /** Nothing but the end of the connection, a proper one, says that this is all. */
  isOpen: boolean;
  /** Lower-case hex; left out: not known yet. */
  md5?: string;
}

/** The md5 that a content must have to be kept; undefined: any. */
export function demandedMd5(job: FetchJob, arrived: EndedContent): string | undefined {
  const { enforce, md5, len, takesContradicted } = job;
  const mayBeCut = arrived.isOpen && takesContradicted !== true && len !== arrived.length;
  return enforce === true || mayBeCut ? md5?.toLowerCase() : undefined;
}

/**
 * Why a content that ended with its connection is not taken: half of it is as likely as an announcement that
 * is out of date. The md5 decides, or the length where none was announced; a length that is the announced one
 * is no half.
 */
export function contradiction(job: FetchJob, arrived: EndedContent): FetchFailure | undefined {
  if (job.takesContradicted === true || completenessOf(job, arrived) !== 'contradicted') return undefined;
  const { len } = job;
  const announced = len === undefined ? 'another md5 was' : `${len} ${len === 1 ? 'byte was' : 'bytes were'}`;
  return fail(
    'contradicted',
    `it ended with its connection after ${arrived.length} bytes; ${announced} announced`,
  );
}

export function completenessOf(
  { md5, len }: FetchJob,
  { isOpen, length, md5: found }: EndedContent,
): Completeness {
  if (!isOpen || len === length) return 'whole';
  if (md5 === undefined) return len === undefined ? 'unverified' : 'contradicted';
  if (found === undefined) return 'unverified';
  return md5.toLowerCase() === found ? 'whole' : 'contradicted';
}

/**
 * Content of another length or md5, where these are enforced; what may have been cut is tried again first.
 */
export function enforced(
  job: FetchJob,
  { length, isOpen, md5: found }: EndedContent,
): FetchFailure | undefined {
  const { enforce, md5, len, takesContradicted } = job;
  if (enforce !== true) return undefined;
  const kind = isOpen && takesContradicted !== true ? 'contradicted' : 'differs';
  if (len !== undefined && len !== length)
    return fail(kind, `${len} ${len === 1 ? 'byte was' : 'bytes were'} announced, ${length} came`);
  return md5 === undefined || found === undefined || md5.toLowerCase() === found
    ? undefined
    : fail(kind, `md5 ${md5} was announced, ${found} came`);
}

/** Types that servers give when they do not know. */
const UNKNOWN = new Set(['application/octet-stream', 'binary/octet-stream', 'application/unknown']);

/**
 * Tells if the type that a server serves contradicts what was announced. A CP knows the files it announces; a
 * server often knows less. Only two specific, different types contradict each other: an error page in the
 * place of a document, say.
 * @param announced and served essences: lower case, no parameters
 */
export function contradicts(announced: string, served: string): boolean {
  if (announced === served || UNKNOWN.has(served) || UNKNOWN.has(announced)) return false;
  const [said, got] = [family(announced), family(served)];
  if (said === got) return false;
  // Many a server calls every text it has no entry for text/plain: markdown, CSV, JSON, source. HTML it
  // knows.
  return !(got === 'text/plain' && announced !== 'text/html' && isText(announced, said));
}

function isText(announced: string, said: string): boolean {
  return announced.startsWith('text/') || said === 'xml' || said === 'json' || said === 'javascript';
}

/** One name for types registered, or once used, under several (RFC 9239, RFC 7303, RFC 8081, RFC 6648). */
function family(essence: string): string {
  const [type = '', subtype = ''] = essence.split('/');
  const name = subtype.replace(/^x-/, '');
  if (name === 'javascript' || name === 'ecmascript') return 'javascript';
  if (name === 'xml' || (name.endsWith('+xml') && name !== 'xhtml+xml' && name !== 'svg+xml')) return 'xml';
  if (name === 'json' || name.endsWith('+json')) return 'json';
  if (name === 'icon' || name === 'vnd.microsoft.icon') return 'icon';
  if (type === 'font' || name.startsWith('font-')) return `font/${name.replace(/^font-/, '')}`;
  return `${type}/${name}`;
}
