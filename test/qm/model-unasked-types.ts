/** What the model of urls that nobody announced is made of. */
import type { Held as Words } from './model-types.js';

export const ANY = '*/*';
/** 0 its owner's, 1 pushed, 2 a link, 3 a scan, 4 an audit. */
export type Kind = 0 | 1 | 2 | 3 | 4;

export interface Url {
  curl: string;
  type: string;
  op: 'update' | 'delete';
  len?: number | undefined;
  /** Of a delete: that of the page that asks not to be kept, as its length. */
  md5?: number | undefined;
  ifabsent?: boolean | undefined;
  hops?: number | undefined;
}

export interface AnySet {
  id: number;
  kind: Kind;
  full: boolean;
}

export interface Row {
  place: number;
  set: number;
  kind: Kind;
  curl: string;
  type: string;
  named: number;
  gen: number;
  op: 0 | 1;
  len: number | undefined;
  md5?: undefined;
  ifabsent: boolean;
  hops: number | null;
  tries: number;
}

export interface Held {
  curl: string;
  type: string;
  served: 0 | 1;
  hops: number | null;
  named: number;
  file: string;
  belief: Words;
  /** Failures in a row since it was fetched last: how many, the last one, when the first and the last that counts were. */
  fails: number;
  failed: number;
  sinceS: number;
  checkedS: number;
  /** Visits since it came, and those that found another content; halved at 16. */
  visits: number;
  changes: number;
}

export interface Known {
  code: number;
  times: number;
  askedS: number;
  untilS: number;
  hops: number | null;
}

export type Result =
  | { is: 'ok'; len: number; type: string; file: string }
  | { is: 'unchanged' }
  | { is: 'redirect'; http: number; to: string; inside: boolean }
  | { is: 'error'; code: number; reach: 'real' | 'url' | 'provider' };

export const NO_WORDS: Words = { pid: 1, key: '', len: 0, wrong: {}, doubted: false, named: 0, file: '' };

export function neverFailed(nowS: number) {
  return { fails: 0, failed: 0, sinceS: 0, checkedS: nowS };
}

export function visited({ visits, changes }: Held, isChanged: boolean): Pick<Held, 'visits' | 'changes'> {
  const halves = visits + 1 >= 16 ? 2 : 1;
  const n = Math.floor((visits + 1) / halves);
  return { visits: n, changes: Math.min(n, Math.floor((changes + (isChanged ? 1 : 0)) / halves)) };
}

/** A further row of a page, which is not yet in the queue. */
export function viewOf(views: readonly Row[], curl: string, type: string): Row | undefined {
  return views.find(one => one.curl === curl && one.type === type);
}

/** Another look at what is held, and nothing new. */
export function isRefresh({ kind, hops, type }: Pick<Row, 'kind' | 'hops' | 'type'>): boolean {
  return kind === 1 ? type !== ANY : kind > 2 && hops === null;
}

/** Whether robots.txt says if it may be fetched. */
export function isGated(row: Pick<Row, 'kind' | 'hops' | 'type'>): boolean {
  return row.kind > 1 && !isRefresh(row);
}

/** The number and the places of a set that is made beside another one. */
export interface Beside {
  set: () => number;
  place: () => number;
  /** Urls in a slice. */
  sliceUrls: number;
}
