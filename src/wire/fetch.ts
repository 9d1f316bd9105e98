/** Requests to a robot and its answers: the values behind the messages of fetch-messages.ts. */

/** Most of a content that a result may carry itself. */
export const MAX_INLINE_BYTES = 512_000;

/**
 * How much is known of the end of a content that came. One that is known to be cut (its connection was reset,
 * or closed without the goodbye of TLS, or before the end that was announced) is no content, but a failure of
 * kind `cut`.
 *
 * `whole`: the answer says where it ends, or its length or md5 is what was announced. `unverified`: it ended
 * with its connection, in good order, and nothing says more. `contradicted`: so it did, and something else
 * was announced.
 */
export type Completeness = 'whole' | 'unverified' | 'contradicted';

/**
 * A url to be fetched, and its terms: the same from the Queue Manager down to the engine that asks the site.
 */
export interface FetchTerms {
  /** Absolute fetch URL, http or https. */
  url: string;
  /** Where redirects may lead: a hop outside is a failure (code 609). None: to any permitted address. */
  roots: readonly string[];
  /** The announced type: asked for first, and another one is a failure (code 607). */
  mimetype?: string;
  /** Types taken, as `type/subtype`, `type/*` or `*` + `/*`: the body of another is not read (code 303). Left
   * out: any. */
  accept?: readonly string[];
  /** A redirect is reported and not followed, unless it leads to the same page under its canonical name. */
  redirects?: 'report';
  /** The result contains this many bytes from the beginning of the content, and no file is made; up to five
   * redirects lead anywhere. */
  inline?: number;
  /** Validators of the content held, as the server once sent them: with any of them the request is
   * conditional. */
  lastModified?: string;
  etag?: string;
  /** Announced values: they confirm or contradict a body that ends by close; with `enforce` any difference is
   * a failure (code 612). */
  md5?: string;
  len?: number;
  enforce?: boolean;
  /** Content that contradicts what was announced is taken, too; otherwise it is a failure that passes (code
   * 605). */
  takesContradicted?: boolean;
  /** Limits where they are tighter than the engine's. */
  maxBytes?: number;
  timeoutMs?: number;
  /** User-Agent, instead of the engine's. */
  userAgent?: string;
  /** `user:password` (RFC 7617) for the origin of `url`, and for no other that a redirect leads to. */
  login?: string;
}

/** A request of a source to a Bot Manager. */
export interface FetchRequest extends FetchTerms {
  /** Unique on the connection it is sent over. */
  id: number;
  /** Requests of one lane are carried out one after the other, in order; the QM uses `pid` (or `pid.n` if
   * parallel). */
  lane: string;
}

/** A request of a Bot Manager, or a person, to a robot. */
export interface RobotRequest extends FetchTerms {
  /** Unique on the connection it is sent over. */
  id: number;
  /** Missing: a request that waits for no other. */
  lane?: string;
  /** Absolute path; whole once the result says `ok` (file-sink.ts). `''` with `inline`. */
  file: string;
}

/** How far an error reaches (semantics.md, rule 11). `provider`: the site as a whole does not answer. `url`:
 * this url, for now. `real`: asking again will not help. */
export type ErrorReach = 'provider' | 'url' | 'real';

export interface FetchOk {
  readonly id: number;
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
  /** As the server sent it: a validator. */
  lastModified?: string;
  /** Last-Modified that is no validator yet: the second in which it changed was not over. */
  modifiedNow?: string;
  etag?: string;
  /** The URL the content came from, when redirects led elsewhere. */
  finalUrl?: string;
  /** X-Robots-Tag: what the site says of its use, in its words. */
  robots?: string;
  completeness: Completeness;
  /** Where it is stored. */
  machineId: string;
  fileId: string;
}

/** As a robot answers; the Bot Manager that named the file hands it on with the place. */
export type RobotOk = Omit<FetchOk, 'machineId' | 'fileId'>;

/** The result as the source gets it: under its id, with the place. It is the same object, since a copy of
 * each shows in what a page costs. */
export function storedAt(result: RobotOk, id: number, machineId: string, fileId: string): FetchOk {
  const stored = result as RobotOk & { id: number; machineId: string; fileId: string };
  stored.id = id;
  stored.machineId = machineId;
  stored.fileId = fileId;
  return stored;
}

export interface FetchUnchanged {
  readonly id: number;
  status: 'unchanged';
  wireBytes: number;
  elapsedMs: number;
  http: 304;
  lastModified?: string;
  etag?: string;
}

export interface FetchFailed {
  readonly id: number;
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

/** The site sent it elsewhere, and that had to be reported. */
export interface FetchRedirect {
  readonly id: number;
  status: 'redirect';
  http: number;
  /** Absolute, http or https, without a fragment. */
  location: string;
  wireBytes: number;
  elapsedMs: number;
}

/** The content itself, or its beginning: nothing is stored. */
export interface FetchInline {
  readonly id: number;
  status: 'inline';
  http: number;
  content: Uint8Array;
  /** There is more of it. */
  isCut: boolean;
  wireBytes: number;
  elapsedMs: number;
  lastModified?: string;
  etag?: string;
  finalUrl?: string;
}

/** Not begun, and given back because its lane was recalled: as if it had never been asked for. */
export interface FetchRecalled {
  readonly id: number;
  status: 'recalled';
}

/** The outcome of a fetch that was carried out. */
export type FetchDone = FetchOk | FetchUnchanged | FetchFailed | FetchRedirect;
export type FetchResult = FetchDone | FetchInline | FetchRecalled;
export type RobotDone = RobotOk | FetchUnchanged | FetchFailed | FetchRedirect | FetchInline;
export type RobotResult = RobotDone | FetchRecalled;

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

/** True if only those robots understand a request that say so. */
export function isForUnasked({ redirects, inline }: FetchTerms): boolean {
  return redirects !== undefined || inline !== undefined;
}
