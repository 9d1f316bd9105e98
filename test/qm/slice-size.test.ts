import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FEW_URLS, SliceSize } from '../../src/qm/slice-size.js';

const MOST = 40_000;
const ALONE_MS = 100;

/** A process that applies `urlsPerMs` and writes `pagesPerUrl`. */
function settled(size: SliceSize, urlsPerMs: number, pagesPerUrl: number): number {
  for (let slice = 0; slice < 30; slice++)
    size.took(size.urls, size.urls / urlsPerMs, size.urls * pagesPerUrl);
  return size.urls;
}
const alone = () => new SliceSize({ most: MOST, aloneMs: ALONE_MS, isShared: () => false });

test('slices grow as long as urls have pages of their own, for as long as a quiet process may take its time', () => {
  const size = alone();
  assert.equal(settled(size, 100_000, 1), MOST);
  assert.equal(settled(size, 40, 1), 40 * ALONE_MS);
});

test('where urls share pages some thousand are a slice, however fast they are applied', () => {
  assert.equal(settled(alone(), 100_000, 0.05), FEW_URLS);
});

test('slices are short while others wait, at once, and long again when nobody does', () => {
  let isShared = false;
  const size = new SliceSize({ most: MOST, aloneMs: ALONE_MS, isShared: () => isShared });
  const long = settled(size, 100, 1);
  isShared = true;
  assert.ok(size.urls < long);
  const short = settled(size, 100, 1);
  assert.equal(long / short, 20);
  // The slice that was collected when they came says nothing against short ones.
  size.took(long, long / 100, long);
  assert.equal(size.urls, short);
  isShared = false;
  assert.equal(size.urls, long);
});

test('the last slice of a set, which is smaller than others, says nothing of how large they may be', () => {
  const size = alone();
  const before = settled(size, 300, 1);
  size.took(1, 1000, 1);
  assert.equal(size.urls, before);
});
