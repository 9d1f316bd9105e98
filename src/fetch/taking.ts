/** Whether the content of an answer is taken, and how it is coded. */
import { codingOf, type Coding } from './decode.js';
import { fail, type FetchFailure } from './failure.js';
import { essenceOf, type ResponseHead } from './head.js';
import type { FetchJob } from './job.js';
import type { Manners } from './manners.js';
import { contradicts } from './mimetype.js';

/** @returns its coding, or why it is not taken */
export function takenAs(
  head: ResponseHead,
  { mimetype }: FetchJob,
  { codings }: Manners,
): Coding | FetchFailure {
  const { transferCoding, contentCoding, contentType } = head;
  if (transferCoding !== undefined && transferCoding !== 'chunked') {
    const isOdd = transferCoding.split(',').every(each => /^\s*(?:chunked|identity|)\s*$/.test(each));
    return fail(isOdd ? 'framing' : 'coding', `transfer coding ${transferCoding} was not asked for`);
  }
  const coding = codingOf(contentCoding, codings);
  if (coding === undefined) return fail('coding', `content coding ${contentCoding} was not asked for`);
  const essence = essenceOf(contentType);
  const announced = essenceOf(mimetype);
  if (announced !== undefined && essence !== undefined && contradicts(announced, essence))
    return fail('other-type', `${announced} was announced, ${essence} is served`);
  return coding;
}
