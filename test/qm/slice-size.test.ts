import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SliceSize } from '../../src/qm/slice-size.js';

const MOST = 10_000;
/** A process that applies so many urls a millisecond. */
function settled(size: SliceSize, urlsPerMs: number): number {
  for (let slice = 0; slice < 30; slice++) size.took(size.urls, size.urls / urlsPerMs);
  return size.urls;
}

test('slices grow to what a quiet process may take its time for, and shrink when keys are scattered', () => {
  const size = new SliceSize(MOST, () => false);
  assert.equal(settled(size, 100_000), MOST);
  assert.equal(settled(size, 40), 1000);
});

test('slices are short while others wait, and long again when nobody does', () => {
  let isShared = true;
  const size = new SliceSize(MOST, () => isShared);
  const short = settled(size, 300);
  isShared = false;
  const long = settled(size, 300);
  assert.equal(long / short, 5);
});

test('the last slice of a set, which is smaller than others, says nothing of how large they may be', () => {
  const size = new SliceSize(MOST, () => false);
  const before = settled(size, 300);
  size.took(1, 1000);
  assert.equal(size.urls, before);
});
