/** Reports of the readers of documents. */
import type { FeedFound, ItemFacts } from '../wire/feed.js';

export interface Found extends FeedFound {
  /** A page, or something else that is listed with it. */
  location(text: string, facts: LocationFacts): void;
  /** Another list, named by an index. */
  child(text: string): void;
  /** The document is one whose entries leave it by themselves, as news do. */
  isWindow: boolean;
  /** Bytes of the document, unpacked, so far. */
  bytes: number;
}

export interface LocationFacts extends ItemFacts {
  lastmod?: string | undefined;
}

/** Which urls besides those of pages are written. */
export interface Extras {
  images: boolean;
  videos: boolean;
  alternates: boolean;
  enclosures: boolean;
}
