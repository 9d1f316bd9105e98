/** Where a URL server has its urls from, and who wants to know what became of them. */
import type { SpiderUrl, UrlFailure, UrlTerms } from './spider-url.js';

export interface UrlSource {
  /** Urls, some at a time: the next are asked for when there is room. Ends where there will be no more. */
  batches(): AsyncIterable<UrlTerms[]>;
  /** A url has come to its end. @param failure why it was not fetched; left out: a spider has said DONE */
  ended(url: SpiderUrl, failure: UrlFailure | undefined): void;
  /** Nothing more is begun. */
  drain?(): void;
  /** What is known is kept; nothing more comes. */
  close(): Promise<void>;
}
