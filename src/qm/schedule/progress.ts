/** A set that is being fetched: its state, how far it has been read, and what of it is where. */
import { transitions, type StateOf } from '../../lib/states.js';
import { rankOf, type SetClass } from '../../wire/origin.js';
import type { SetSource } from './untouched.js';

/** Columns of a row that the order needs. */
export interface PlacedRow {
  pos: number;
  /** How often it has failed. */
  tries: number;
}

export interface OrderedSet {
  psetid: number;
  /** Sets of a higher class come after all of a lower one. */
  class: SetClass;
  slot: number;
  firstpos: number;
  lastpos: number;
}

/** Where rows come from: QueueReader, or an array in a test. */
export interface RowSource<S extends OrderedSet, R extends PlacedRow> extends SetSource<S> {
  /** Rows after a place that have not failed. */
  next(set: S, afterPos: number, limit: number): R[];
  at(pos: number): R | undefined;
  leastTries(psetid: number): number | undefined;
  bad(psetid: number, tries: number, afterPos: number, limit: number): R[];
  /** Number of rows after a place that have not failed, counted as far as `most`. */
  count(set: S, afterPos: number, most: number): number;
  hasRows(set: S): boolean;
}

/** @throws Error for a transition that url-order.ts does not draw */
export const setBecomes = transitions('set', {
  reading: ['waiting'],
  waiting: ['reading', 'asleep', 'gone'],
  asleep: ['reading', 'waiting'],
  gone: [],
});

/** The states of a set that is begun, as url-order.ts draws them. */
export type BegunSetState = StateOf<typeof setBecomes>;

export interface SetProgress<S> {
  set: S;
  state: BegunSetState;
  cursor: number;
  read: boolean;
  /** Places taken and not yet settled. */
  out: Set<number>;
  /** Places that must be taken again, in order. */
  again: number[];
  /** Places with a host that did not answer: they are taken when nothing else is there. */
  behind: number[];
  /** Places that are not to be taken when they are read: they were out when the cursor went back. */
  skip: Set<number> | undefined;
  /** By number of tries: when urls that failed so often are due, monotonic milliseconds. */
  dueMs: Map<number, number>;
  /** When its next bad url is due, Infinity when it has none; undefined: look. */
  badMs: number | undefined;
}

export interface Taken<S, R> {
  set: S;
  row: R;
}

/** A set that is read from a place on. */
export function newProgress<S extends OrderedSet>(set: S, fromPos: number): SetProgress<S> {
  return {
    set,
    state: 'reading',
    cursor: fromPos - 1,
    read: false,
    out: new Set(),
    again: [],
    behind: [],
    skip: undefined,
    dueMs: new Map(),
    badMs: undefined,
  };
}

/** Takes a row. */
export function push<S, R extends PlacedRow>(progress: SetProgress<S>, row: R, taken: Taken<S, R>[]): void {
  progress.out.add(row.pos);
  taken.push({ set: progress.set, row });
}

/** A number, which rises with the order of sets: a text would be put together for every url. Slots are -1 to
 * 168. */
export function keyOf(set: OrderedSet): number {
  return rankOf(set) * 256 + set.slot + 1;
}
