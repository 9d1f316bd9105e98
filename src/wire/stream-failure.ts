/**
 * The last line of a stream whose writer has failed, and has said why: what reads it adds no words of its
 * own, and ends with the same status. A release that does not know the line takes the stream for cut.
 */
import { FAILURES, FailedBefore } from '../lib/errors.js';

/** The target of the instruction, another than that of the beginning and the end. */
export const FAILED = 'lcc-failed';

export function streamFailure(status: number): string {
  return `<?${FAILED} status="${status}"?>\n`;
}

/** The error of a reader. @param body of the instruction */
export function failureOf(body: string, where: string): FailedBefore {
  const status = Number(/\bstatus="(\d{1,3})"/.exec(body)?.[1]);
  return new FailedBefore(
    where,
    FAILURES.find(known => known === status),
  );
}
