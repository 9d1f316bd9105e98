/** What the model of the Queue Manager is made of. */

export interface Terms {
  pid: number;
  priority: 0 | 1 | 2;
  parallel: number;
  filesmax: number;
  spacemax: number;
  /** 24 characters 0/1, '' = always. */
  mask: string;
  /** Its roots name several hosts. */
  isSpread: boolean;
}

export interface Url {
  /** Conceptual url and mimetype. */
  key: string;
  op: 'update' | 'delete';
  /** What the CP says of the content; undefined: nothing. */
  len?: number | undefined;
  /** Its md5, as the length of the content that has it. */
  md5?: number | undefined;
  /** When it was changed last, in hours. */
  mtime?: number | undefined;
  ifabsent?: boolean | undefined;
  /** Hours in which it may be fetched, such as `22-1`; undefined: any. */
  tod?: string | undefined;
}

/** What a CP says of content; contents of one length are the same. */
export type Words = Pick<Url, 'len' | 'md5' | 'mtime'>;

export interface ProviderSet {
  id: number;
  pid: number;
  full: boolean;
}

/** A set with removals that the fuse holds back. */
export interface FusedSet extends ProviderSet {
  /** The same for identical sets. */
  digest: string;
  released: boolean;
}

export interface Row {
  place: number;
  set: number;
  pid: number;
  key: string;
  /** The last set that named it. */
  named: number;
  /** Raised by every submission. */
  gen: number;
  op: 0 | 1;
  len: number | undefined;
  md5: number | undefined;
  mtime: number | undefined;
  /** The most that was announced for it while it waited. */
  most: number;
  tod: string | undefined;
  tries: number;
  /** A failed url is not tried again before (monotonic milliseconds). */
  dueMs: number;
  /** Being fetched, or its result is not written yet. */
  out: boolean;
  heard: boolean;
  /** It was deleted or had other hours, or its hour has come: the turn of its place may be over. */
  passed: boolean;
  /** It was sent after others and given back: it need not wait for those again. */
  early: boolean;
  /** Of a host that did not answer, where there are others: its place says nothing. */
  behind: boolean;
}

export interface Held {
  pid: number;
  key: string;
  len: number;
  /** What the CP said when it was fetched and was not so, and whether that is believed. */
  wrong: Words;
  doubted: boolean;
  /** When its CP said that it was changed; undefined: never. */
  mtime?: number | undefined;
  named: number;
  file: string;
}

export interface Provider extends Terms {
  paused: boolean;
  wanted: boolean;
  /** Errors not yet delivered: those kept, oldest first, and the number of all. */
  errors: { code: number; key: string }[];
  nurlerrs: number;
  /** It has several hosts, and the one that was asked last did not answer. */
  silent: boolean;
  /** Failures of the site as a whole in a row, and until when it is left alone (monotonic, and by the wall clock). */
  failures: number;
  untilMs: number;
  untilWallMs: number;
  /** After a jump of the wall clock a provider without urls may be remembered by that alone (monotonic). */
  afterJumpMs: number;
  /** By how much the wall clock may be ahead of the last look at it. */
  aheadMs: number;
  /** The same as a restart finds it. */
  saved: Saved;
}

export interface Saved extends Pick<Provider, 'failures' | 'untilMs' | 'untilWallMs' | 'aheadMs'> {
  /** Until when, if somebody looked at the clock as soon as it was set (monotonic); `untilMs` is if nobody did. */
  latestMs: number;
  /** As `untilWallMs`, if it was written by the other clock: that of its beginning, or that of its writing. */
  leastWallMs: number;
}
export const NOTHING_SAVED: Saved = {
  failures: 0,
  untilMs: 0,
  latestMs: 0,
  leastWallMs: 0,
  untilWallMs: 0,
  aheadMs: 0,
};

/** The monotonic clock, and the wall clock, which jumps. */
export interface Now {
  ms: number;
  wallMs: number;
}

/** A row as it was when it was sent. */
export interface Sent {
  place: number;
  gen: number;
  pid: number;
  conditional: boolean;
  failures: number;
}

export type Result =
  | { is: 'ok'; len: number; file: string }
  | { is: 'unchanged' }
  | { is: 'error'; code: number; reach: 'real' | 'url' | 'provider'; retryAfterMs?: number };

export interface Rules {
  retries: number;
  retryDelayMs: number;
  backoffMinMs: number;
  backoffMaxMs: number;
  errorsKept: number;
  /** A full set may remove this number of urls, or this share. */
  fuse: { percent: number; urls: number };
}
