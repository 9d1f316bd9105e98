/** What is asked of a robot and what it answers: the values behind the messages of `qm-bm` and `bm-bot`. */

export interface FetchRequest {
  /** Unique on the connection it is sent over. */
  id: number;
  /** Requests of one lane are carried out one after the other, in order; the QM uses `pid` (or `pid.n` if parallel). */
  lane: string;
  /** Absolute fetch URL, http or https. */
  url: string;
  /** The provider's roots, for redirects: a hop outside them is code 609. */
  roots: readonly string[];
  /** What the CP announced, for code 607. */
  mimetype?: string;
  /** Validators of the content held: asked conditionally when any is given. As the server once sent them. */
  lastModified?: string;
  etag?: string;
  /** Announced md5 and length: they confirm a body that ends by close; with `enforce` anything else is code 612. */
  md5?: string;
  len?: number;
  enforce?: boolean;
  /** Limits of this provider, where they are tighter than the robot's own. */
  maxBytes?: number;
  timeoutMs?: number;
  /** User-Agent, instead of the robot's own. */
  userAgent?: string;
  /** `user:password` (RFC 7617) for the origin of `url`, and for no other that a redirect leads to. */
  login?: string;
}

/**
 * How far an error reaches (semantics.md, rule 11). `provider`: the site as a whole does not answer. `url`: this url,
 * for now. `real`: asking again will not help.
 */
export type ErrorReach = 'provider' | 'url' | 'real';

export interface FetchOk {
  id: number;
  status: 'ok';
  /** Lower-case hex, of the content as stored (decoded). */
  md5: string;
  /** Bytes, of the content as stored (decoded). */
  len: number;
  /** Bytes received over the wire, headers and all hops included: what bandwidth limits count. */
  wireBytes: number;
  elapsedMs: number;
  http: number;
  mimetype?: string;
  /** The encoding the server names (lib/charset.ts). */
  charset?: string;
  lastModified?: string;
  etag?: string;
  /** The URL the content came from, when redirects led elsewhere. */
  finalUrl?: string;
  /** False: the body ended by close and neither length nor md5 confirm that it is whole. */
  verified: boolean;
  /** Where it is stored; filled in by the Bot Manager that named the file. */
  machineId?: string;
  fileId?: string;
}

export interface FetchUnchanged {
  id: number;
  status: 'unchanged';
  wireBytes: number;
  elapsedMs: number;
  http: 304;
  lastModified?: string;
  etag?: string;
}

export interface FetchFailed {
  id: number;
  status: 'error';
  /** An HTTP status or 6xx of codes.ts. */
  code: number;
  message: string;
  reach: ErrorReach;
  wireBytes: number;
  elapsedMs: number;
  /** From a Retry-After header, capped by the robot at a day. */
  retryAfterMs?: number;
}

/** Not begun, and given back because its lane was recalled: as if it had never been asked for. */
export interface FetchRecalled {
  id: number;
  status: 'recalled';
}

/** What became of a fetch that was carried out. */
export type FetchDone = FetchOk | FetchUnchanged | FetchFailed;
export type FetchResult = FetchDone | FetchRecalled;

export interface DeleteRequest {
  id: number;
  machineId: string;
  fileId: string;
}

export interface DeleteResult {
  id: number;
  /** `ok` also when it was gone already; `away`: no Bot Manager for that machine is connected. */
  status: 'ok' | 'away';
}
