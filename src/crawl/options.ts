/** Settings of lcclinks. */
import type { PathTest } from '../lib/glob.js';

/** Which `nofollow` counts: of pages and of single links, of pages alone, none. */
export type NofollowRule = 'all' | 'page' | 'none';

export interface ExpandOptions {
  /** Also what a browser loads to show a page. */
  assets: boolean;
  nofollow: NofollowRule;
  /** Urls that are left out. */
  excluded: readonly PathTest[];
  maxHops: number;
  /** The name by which pages speak to our robot, in lower case. */
  robotName: string;
  maxPageBytes: number;
  maxPageLinks: number;
  maxLinkBytes: number;
  /** Characters of a value in a page. */
  maxValueLength: number;
  pageTimeoutMs: number;
  maxSegments: number;
  maxRepeats: number;
  maxParameters: number;
  maxQueries: number;
  maxCopies: number;
  /** Links remembered as sent, a power of two. */
  sentPlaces: number;
}

/** A link as it goes out. */
export interface FoundLink {
  pid: number;
  curl: string;
  /** Where that is another. */
  furl: string | undefined;
  hops: number;
}

/** A page that asks not to be kept. */
export interface UnwantedPage {
  pid: number;
  curl: string;
  mimetype: string;
  md5: string | undefined;
}
