/**
 * The view of a Registration Server on the whole LCC, for its operators: questions of qm-rs.ts that take a
 * look at the database and at other daemons. Answers have words as lccstat prints them, and numbers; neither
 * logins nor secrets.
 */

export type RsLook =
  | { op: 'overview' }
  /** Providers above a number whose number, or one of whose roots, has this text in it; '': all. */
  | { op: 'providers'; search: string; after: number };

/** Longest text to search for. */
export const MAX_SEARCH_LENGTH = 200;

export interface RsOverview {
  /** Milliseconds since 1970. */
  at_ms: number;
  /** For how long the database was looked at. */
  took_ms: number;
  /** A line about the queue, and what an operator should know, a sentence each. */
  summary: string;
  reasons: string[];
  /** Number of all providers. */
  providers: number;
  /**
   * The providers to look at: first those that something is wrong with, then those that were heard of last.
   */
  sites: RsProviderRow[];
  queue: RsQueue;
  daemons: RsDaemon[];
  /** All Bot Managers, those that are away last. */
  machines: RsMachine[];
}

export interface RsMachine {
  /** The id of the machine; of a Bot Manager with several machines, as a relay, all of them. */
  name: string;
  isHere: boolean;
  /** Fetches it can do at a time. */
  slots: number;
  /** Why it gets nothing for now, for how long it has been silent or away, for people; '': all is well. */
  note: string;
}

export interface RsQueue {
  /** Upper bounds of the age groups in minutes; one more group has what is older. */
  age_minutes: number[];
  total: { waiting: number; ages: number[]; exact: boolean };
  /** The longest queues first. */
  providers: RsProviderQueue[];
  left_off: { providers: number; waiting: number };
}

export interface RsProviderQueue {
  pid: number;
  waiting: number;
  ages: number[];
  /** False: the ages are estimates. */
  exact: boolean;
  /** State of the provider, in words for people. */
  state: string;
}

export type RsDaemon =
  | { name: string; problem: string }
  | {
      name: string;
      idle: boolean;
      up_s: number;
      rss_bytes: number;
      /** For people. */
      doing: string;
      /** Numbers, texts and truth values of its status, lists as their lengths. */
      figures: Readonly<Record<string, number | string | boolean>>;
    };

/** A set of a provider, as it was taken. */
export interface TakenSet {
  psetid: number;
  /** When a UNS accepted it, seconds. */
  at: number;
  isfull: 0 | 1;
  /** 0: not all of it yet. */
  complete: 0 | 1;
  /** 1: the fuse holds back what it would remove. */
  held: 0 | 1;
  queued: number;
  duplicate: number;
  unchanged: number;
  deleted: number;
}

/** Most sets shown of each provider. */
export const MAX_SETS_SHOWN = 30;

export interface RsProviderRow {
  pid: number;
  origin: 'operator' | 'rs';
  enabled: boolean;
  paused: boolean;
  /** The first of them, and how many there are. */
  root: string;
  roots: number;
  waiting: number;
  /** Not yet received by the provider. */
  errors: number;
  files: number;
  bytes: number;
  /** Why a full set is wanted; null: none is. */
  full_set_wanted: string | null;
  /** When it connected last, milliseconds since 1970; 0: never. */
  connected_ms: number;
  /** When it connected, or a set of it was taken, last. */
  heard_ms: number;
  /** True if the provider is crawled, and announces nothing. */
  crawled: boolean;
  /** Time until which a site that does not answer is left alone; 0: it answers. */
  left_alone_until_ms: number;
  /** The last ones, the newest first. */
  sets: TakenSet[];
}

export interface RsProviderPage {
  /** Ascending. */
  providers: RsProviderRow[];
  /** `after` of the next page; null: this is the last. */
  next: number | null;
}
