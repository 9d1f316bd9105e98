/** Requests of the change feed that are refused: what is wrong, and what to do, for programs and people. */
import type { OutgoingHttpHeaders } from 'node:http';
import { LccError } from '../../lib/errors.js';
import type { LccCode } from '../../wire/codes.js';
import { Refusal } from '../../wire/refusal.js';
import type { HttpAnswer } from '../../web/answer.js';

/** Told to those that may come again: seconds. */
const RETRY_S = 5;

export class FeedRefusal extends Error {
  readonly answer: HttpAnswer;

  /** @param code of lcc-codes(7) @param advice what its sender should do */
  constructor(
    status: number,
    code: LccCode,
    what: string,
    advice: string,
    headers: OutgoingHttpHeaders = {},
  ) {
    super(what);
    this.name = 'FeedRefusal';
    const body = `${JSON.stringify({ code, what, do: advice })}\n`;
    this.answer = { status, type: 'application/json', body, headers };
  }
}

/** The feed cannot answer now. */
export function later(what: string, retryS = RETRY_S): FeedRefusal {
  return new FeedRefusal(503, 102, what, 'ask again later', { 'retry-after': String(retryS) });
}

/** The refusal that an error of reading stands for; undefined: a fault here, or nobody is there any more. */
export function refusalFor(error: unknown): FeedRefusal | undefined {
  if (error instanceof FeedRefusal) return error;
  if (error instanceof Refusal) return later(error.message);
  if (!(error instanceof LccError)) return undefined;
  if (error.code === 'data.refused')
    return new FeedRefusal(
      410,
      108,
      // The rest is for a reader with the cursor in a file.
      error.message.replace(/^cursor: |; full resync.*/gs, ''),
      'full resync: ask without cursor, then drop what was not told',
    );
  if (error.code === 'usage' || error.code === 'peer.protocol')
    return new FeedRefusal(
      400,
      104,
      error.message.replace(/^--/, ''),
      'put the request right; see lccd-cu(8)',
    );
  return undefined;
}
