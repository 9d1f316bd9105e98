/** What was announced of a content against what comes: its type, and its length and md5 where these are enforced. */
import { mimeMatcher } from '../wire/mime-patterns.js';
import { fail, type FetchFailure } from './failure.js';
import { essenceOf, type ResponseHead } from './head.js';
import type { FetchJob } from './job.js';
import { contradicts } from './mimetype.js';

export function otherType({ mimetype }: FetchJob, { contentType }: ResponseHead): FetchFailure | undefined {
  const [announced, served] = [essenceOf(mimetype), essenceOf(contentType)];
  if (announced === undefined || served === undefined || !contradicts(announced, served)) return undefined;
  return fail('other-type', `${announced} was announced, ${served} is served`);
}

/** What the site does not say the type of is application/octet-stream. */
export function unacceptedType(
  { accept }: FetchJob,
  { contentType }: ResponseHead,
): FetchFailure | undefined {
  if (accept === undefined) return undefined;
  const served = essenceOf(contentType) ?? 'application/octet-stream';
  return mimeMatcher(accept)(served) ? undefined : fail('unaccepted-type', `${served} is served`);
}

export function otherLength({ enforce, len }: FetchJob, length: number): FetchFailure | undefined {
  if (enforce !== true || len === undefined || len === length) return undefined;
  return fail('differs', `${len} ${len === 1 ? 'byte was' : 'bytes were'} announced, ${length} came`);
}

/** The md5 that a content must have; undefined: any. */
export function demandedMd5({ enforce, md5 }: FetchJob): string | undefined {
  return enforce === true ? md5?.toLowerCase() : undefined;
}

export function otherMd5({ enforce, md5 }: FetchJob, found: string): FetchFailure | undefined {
  if (enforce !== true || md5 === undefined || md5.toLowerCase() === found) return undefined;
  return fail('differs', `md5 ${md5} was announced, ${found} came`);
}
