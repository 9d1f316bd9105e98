/** Decides if the content of an answer is taken, and how it is coded. */
import { otherType, unacceptedType } from './announced.js';
import { codingOf, type Coding } from './decode.js';
import { fail, type FetchFailure } from './failure.js';
import type { ResponseHead } from './head.js';
import type { FetchJob } from './job.js';
import type { Manners } from './manners.js';

/** @returns its coding, or why it is not taken */
export function takenAs(head: ResponseHead, job: FetchJob, { codings }: Manners): Coding | FetchFailure {
  const { transferCoding, contentCoding } = head;
  if (transferCoding !== undefined && transferCoding !== 'chunked') {
    const isOdd = transferCoding.split(',').every(each => /^\s*(?:chunked|identity|)\s*$/.test(each));
    return fail(isOdd ? 'framing' : 'coding', `transfer coding ${transferCoding} was not asked for`);
  }
  const coding = job.isRaw === true ? 'identity' : codingOf(contentCoding, codings);
  if (coding === undefined) return fail('coding', `content coding ${contentCoding} was not asked for`);
  return otherType(job, head) ?? unacceptedType(job, head) ?? coding;
}
