/** Settings of lcclinks. */
import type { PathTest } from '../lib/glob.js';

/** Which `nofollow` counts: of pages and of single links, of pages alone, none. */
export type NofollowRule = 'all' | 'page' | 'none';

/** What no site needs to have otherwise. */
export const LINK_LIMITS = {
  /** Bytes of a link; a longer one is a trap. */
  maxLinkBytes: 2000,
  /** Characters of a value in a page that is looked at. */
  maxValueLength: 8192,
  /** Time for the links of a page; those found by then count. */
  pageTimeoutMs: 2000,
  /** Segments of the path of a link. */
  maxSegments: 20,
  /** Places of one segment in the path of a link. */
  maxRepeats: 3,
  /** Parameters of the query of a link. */
  maxParameters: 12,
  /** Held pages of one content before the links of such a page are left. */
  maxCopies: 8,
  /** Links remembered as sent, 8 bytes each, a power of two. */
  sentPlaces: 1 << 20,
};

export interface ExpandOptions extends Readonly<typeof LINK_LIMITS> {
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
  /** Held or waiting urls that differ in their query alone. */
  maxQueries: number;
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
