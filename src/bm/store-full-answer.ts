/** Answers that no robot gave. */
import { STORE_FULL } from '../wire/codes.js';
import type { FetchFailed } from '../wire/fetch.js';

/** How long a source is asked to wait before it sends again what found the store full. */
const FULL_RETRY_MS = 30_000;

/**
 * The answer to a request there is no room for: the provider waits, and nothing of it is lost.
 * @param room what the disk has and needs
 */
export function storeFull(id: number, room: string): FetchFailed {
  return {
    id,
    status: 'error',
    code: STORE_FULL,
    message: `store full: ${room}; free some`,
    reach: 'provider',
    wireBytes: 0,
    elapsedMs: 0,
    retryAfterMs: FULL_RETRY_MS,
  };
}
