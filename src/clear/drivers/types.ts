/**
 * A driver is a table for one kind of rail: its requests, and the answers that count as done. A driver keeps
 * nothing and sends nothing; the address, the login, and the consequences of an answer are the same for all
 * of them.
 */
import type { BodyToSend, Method } from '../../fetch/job.js';
import type { PageVerb } from '../outcomes.js';

/** A page as drivers see it. */
export interface PageToClear {
  /** Path of the page. */
  url: string;
  contentId: string;
}

/** One request to a rail. */
export interface RailRequest {
  method: Method;
  /** Below the url of the rail. */
  path: string;
  /** Names in lower case and values by turns; the Host of the rail comes to them (engine.ts). */
  headers: readonly string[];
  body?: BodyToSend;
  verb: PageVerb;
  /** Statuses that mean success, where they are others than the verb's (outcomes.ts). */
  done?: readonly number[];
  /** Statuses that mean success where readers are answered the same: the cache has taken the answer in the
   * page's place. */
  asReaders?: { statuses: readonly number[]; headers: readonly string[] };
  /** True if the page is a file: a folder in its place, or a file where its folder has to be, never lets it
   * be done. */
  isOfFile?: true;
}

/** One way to deal with pages: several in a request, where the rail takes that. */
export interface Way {
  ask: (pages: readonly PageToClear[]) => RailRequest;
  /** Most of a request; left out: one page. */
  most?: { pages: number; chars: number };
  /** Characters that a page adds to a request. */
  charsOf?: (page: PageToClear) => number;
}

export interface Driver {
  /** The page is not there, or not served, any more. */
  clear: Way;
  /** How new content comes: the page is put there, or the rail is told to get it; undefined: not at all. */
  renew: 'put' | Way | undefined;
  /** Pages are found by the Host that they are asked for with, besides their path. */
  isByHost?: true;
  /** True if folders are made before a page is put, where they are missing. */
  makesFolders: boolean;
  /** Requests a second, where the rail limits them. */
  rate?: { perS: number; burst: number };
}

/** A rail, as its driver sees it. */
export interface DriverRail {
  name: string;
  /** The values of `opts`. */
  opts: Readonly<Record<string, unknown>>;
}
