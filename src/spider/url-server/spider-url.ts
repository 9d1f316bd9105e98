/** A url that a URL server has to have fetched. */
import { transitions, type StateOf } from '../../lib/states.js';

const urlBecomes = transitions('url', {
  waiting: ['out', 'failed'],
  out: ['waiting', 'done', 'failed'],
  done: [],
  failed: [],
});

/**
 *     waiting ──sent──▶ out ──DONE──▶ done
 *        ▲ │             │
 *        │ ╰─judged──╮   ├── the spider was silent, or its connection is lost: waiting again …
 *        ╰───────────┼───┤
 *                    ╰───┴── … or failed, when that happened too often, or robots.txt forbids it
 */
type UrlState = StateOf<typeof urlBecomes>;

/** A url of the list. */
export interface UrlTerms {
  /** Number of the url's line. */
  readonly number: number;
  readonly docId: number;
  /** Absolute, http or https, printable. */
  readonly url: string;
  readonly hostName: string;
}

export class SpiderUrl implements UrlTerms {
  readonly number: number;
  readonly docId: number;
  readonly url: string;
  readonly hostName: string;
  state: UrlState = 'waiting';
  /** Transactions that ended in silence. */
  silences = 0;
  /** Transactions that ended with their connection. */
  losses = 0;

  constructor({ number, docId, url, hostName }: UrlTerms) {
    this.number = number;
    this.docId = docId;
    this.url = url;
    this.hostName = hostName;
  }

  /** @throws Error for a transition that there is not */
  become(state: UrlState): void {
    this.state = urlBecomes(this.state, state, this.number);
  }
}

/** Why a url is not fetched. */
export type UrlFailure =
  | 'silent spiders'
  | 'lost connections'
  | 'forbidden by robots.txt'
  | 'robots.txt cannot be read';
