/** Bounds of reading lists. */
import { formatAmount, KB, MB, type Unit } from '../config/amounts.js';
import type { NamedLimit } from '../lib/unpack.js';

export type SourceLimit = NamedLimit;

const bound = (most: number, unit: Unit = 'count'): NamedLimit => ({ most, text: formatAmount(most, unit) });

export const SOURCE_LIMITS = {
  /** Sitemaps, indexes and feeds of a run; indexes listed in each other; urls that a document lists. */
  documents: bound(50_000),
  depth: bound(3),
  entries: bound(1_000_000),
  /** Of a document, decoded; of a feed, which is read as a whole. */
  documentBytes: bound(256 * MB, 'bytes'),
  feedBytes: bound(16 * MB, 'bytes'),
  /** Of a piece of markup or text. */
  tokenBytes: bound(MB, 'bytes'),
  /** Of a url that is written. */
  urlBytes: bound(2 * KB, 'bytes'),
};
export type SourceLimits = typeof SOURCE_LIMITS;
