/** Results of urls that nobody announced, and of the requests for a robots.txt in their place, on their way to the database. */
import type { Outcome } from '../../db/queue/results.js';
import type { FetchDone, FetchInline } from '../../wire/fetch.js';
import type { Request } from '../in-flight.js';
import type { Arrival } from '../results.js';
import { Gate, type GateOptions } from './gate.js';
import { ReportedRedirects } from './reported-redirects.js';

export class Unasked {
  readonly gate: Gate;
  readonly #redirects = new ReportedRedirects();

  constructor(options: GateOptions) {
    this.gate = new Gate(options);
  }

  /** What is to be taken up of a result. @param known the provider's roots; undefined: it is gone */
  arrivalOf(
    { arrival: sent, url, isRobots }: Request,
    result: FetchDone | FetchInline,
    known: { isInside: (url: string) => boolean } | undefined,
  ): Arrival {
    if (isRobots === true || result.status === 'inline') {
      return { sent, result: undefined, news: this.gate.news(url, result) };
    }
    if (sent.set.class === 0) return { sent, result };
    const news = this.gate.heard(url, result);
    // An origin that does not answer is the affair of what nobody announced alone.
    // safeguard: what nobody announced delaying nothing that an owner did
    if (result.status === 'error' && result.reach === 'provider') return { sent, result: undefined, news };
    return result.status === 'redirect'
      ? { sent: this.#redirects.sentOf(sent, result, known), result, news }
      : { sent, result, news };
  }

  /** It is committed. @returns providers whose urls waited for it */
  over({ news, sent }: Arrival, outcome: Outcome): Iterable<number> {
    if (outcome === 'done') this.#redirects.forget(sent.pos);
    return news?.robots === undefined ? [] : this.gate.over(news.origin);
  }

  /** It came back as if it had never been sent. @returns providers whose urls waited for it */
  cameBack({ isRobots, url }: Request): Iterable<number> {
    return isRobots === true ? this.gate.over(url) : [];
  }
}
