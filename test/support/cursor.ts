/** A cache of its own for every test, and a cursor on it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'node:test';
import { TestCache } from './cache.js';

export let cache: TestCache;
/** The path of its file, which is not there yet. */
export let cursor: string;
beforeEach(() => {
  cache = new TestCache();
  cursor = join(cache.home, 'test.cursor');
});
afterEach(() => cache.close());

/** The number of the change sequence that it has come to. */
export function cursorSeq(): number | undefined {
  return existsSync(cursor) ? Number(readFileSync(cursor, 'utf8').split(/\s/)[3]) : undefined;
}
