/** Ways of asking and of taking what comes that differ from program to program. */
export interface Manners {
  /** Codings that are asked for and decoded. */
  codings: 'all' | 'gzip';
  /** Caches on the way are asked to look whether theirs is what the site has. */
  asksFresh: boolean;
  /** True if the beginning of content beyond its limit is taken, and the outcome says so; otherwise such
   * content is a failure. */
  cutsContent: boolean;
  /** HTTP/0.9 and ICY are answers: a document without a status, and a status that is none of HTTP. */
  takesOldAnswers: boolean;
  /** A cookie that comes with a redirect goes back where it came from, within the fetch. */
  keepsCookies: boolean;
  /** Redirects may lead from https to http. */
  permitsDowngrade: boolean;
}

/** Those of a program that keeps what sites have, for others. */
export const MANNERS_OF_A_CACHE: Manners = {
  codings: 'all',
  asksFresh: true,
  cutsContent: false,
  takesOldAnswers: false,
  keepsCookies: true,
  permitsDowngrade: true,
};

/** Words of every request of an engine. `isKept`: the connection is for more than one. */
export interface Wording {
  userAgent: string;
  manners: Manners;
  isKept: boolean;
}
