import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatBytes } from '../../src/lib/bytes-text.js';

test('as much of a size is told as a person reads', () => {
  const sizes = [0, 1023, 1024, 15 * 1024, 2 ** 31, 2 ** 60];
  const texts = ['0 bytes', '1023 bytes', '1.0 KB', '15 KB', '2.0 GB', '1048576 TB'];
  assert.deepEqual(sizes.map(formatBytes), texts);
});
