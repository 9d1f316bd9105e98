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
      const robots = this.gate.news(url, result);
      return { sent, result: robots.failure, robots };
    }
    return result.status === 'redirect'
      ? { sent: this.#redirects.sentOf(sent, result, known), result }
      : { sent, result };
  }

  /** It is committed. @returns providers whose urls waited for it */
  over({ robots, sent }: Arrival, outcome: Outcome): Iterable<number> {
    if (outcome === 'done') this.#redirects.forget(sent.pos);
    return robots === undefined ? [] : this.gate.over(robots.origin);
  }

  /** It came back as if it had never been sent. @returns providers whose urls waited for it */
  cameBack({ isRobots, url }: Request): Iterable<number> {
    return isRobots === true ? this.gate.over(url) : [];
  }
}
