/**
 * Redirects of urls that nobody announced: where one leads takes the place of the url in the queue, so that each is asked for
 * once. A site may lead on and on, each time elsewhere: only so far is it followed.
 */
import type { SentRequest } from '../../db/queue/results.js';
import type { FetchRedirect } from '../../wire/fetch.js';

/** Redirects one after the other. */
const MAX_CHAIN = 10;
/** Places with redirects that are remembered. */
const MAX_CHAINS = 100_000;

export class ReportedRedirects {
  /** By place in the queue. */
  readonly #chains = new Map<number, number>();

  /** What the result of a url is judged by. @param known its provider's roots; undefined: it is gone */
  sentOf<Sent extends SentRequest>(
    sent: Sent,
    { location }: FetchRedirect,
    known: { isInside: (url: string) => boolean } | undefined,
  ): Sent {
    const length = (this.#chains.get(sent.pos) ?? 0) + 1;
    const mayFollow = length <= MAX_CHAIN && known?.isInside(location) === true;
    if (mayFollow && this.#chains.size < MAX_CHAINS) this.#chains.set(sent.pos, length);
    return { ...sent, mayFollow };
  }

  /** The url is done with. */
  forget(pos: number): void {
    this.#chains.delete(pos);
  }
}
