/** Ways of asking and of taking what comes that differ from program to program. */
export interface Manners {
  /** Codings that are asked for and decoded. */
  codings: 'all' | 'gzip';
  /** Caches on the way are asked to look whether theirs is what the site has. */
  asksFresh: boolean;
  /** Of content beyond its limit the beginning is taken, and the outcome says so; otherwise it is a failure. */
  cutsContent: boolean;
  /** An answer over http that is no HTTP/1.1 is asked for once more as HTTP/1.0, and read as far as it can be. */
  isLenient: boolean;
  /** Redirects may lead from https to http. */
  permitsDowngrade: boolean;
}

/** Those of a program that keeps what sites have, for others. */
export const MANNERS_OF_A_CACHE: Manners = {
  codings: 'all',
  asksFresh: true,
  cutsContent: false,
  isLenient: false,
  permitsDowngrade: true,
};

/** What is said in every request of an engine. `isKept`: the connection is for more than one. */
export interface Wording {
  userAgent: string;
  manners: Manners;
  isKept: boolean;
}
