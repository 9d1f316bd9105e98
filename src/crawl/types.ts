/** Settings of lccscan, and the place of its choice. */

export interface ScanOptions {
  /** These providers alone; empty: all that are scanned, or audited. */
  pids: ReadonlySet<number>;
  /** Urls of a provider; undefined: its share of a day. */
  limit: number | undefined;
  /** Urls a day of a provider without an amount of its own, at least. */
  perDay: number;
  /** The same in percent of what it holds; the larger of the two counts. */
  percentPerDay: number;
}

/** A url that is asked for again. */
export interface ScanRequest {
  pid: number;
  curl: string;
  mimetype: string;
  furl?: string | undefined;
  /** Number of links between a page that nobody announced and the beginning of its crawl. */
  hops?: number | undefined;
}

export interface ScanCounts {
  providers: number;
  rows: number;
  chosen: number;
  overdue: number;
  known: number;
  /** Asked for, or announced, within the last hour: not looked at further. */
  recent: number;
}
