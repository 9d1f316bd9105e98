import type { OrderedSet, PlacedRow } from './progress.js';
import type { SetSource } from './untouched.js';

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
