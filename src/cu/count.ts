/** How many records there would be: `lccq --count`. */
import type { CacheReader } from '../db/cache/read.js';
import { kindOf, selectionOf } from './query.js';
import type { Query } from './types.js';

export function countOf(reader: CacheReader, query: Query): number {
  const kind = kindOf(query.format);
  const selection = selectionOf(query);
  if (kind === 'rows') return Math.min(reader.count(selection), query.limit ?? Infinity);
  let count = 0;
  for (const _ of reader[kind](selection, ['seq'])) if (++count === query.limit) break;
  return count;
}
