import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectGarbage } from '../../src/lib/memory.js';
import { TextParts } from '../../src/text/text-parts.js';

test('a text of two million parts takes the memory of its characters', () => {
  const heapBytes = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const parts = new TextParts();
  const beforeBytes = heapBytes();
  const count = 2_000_000;
  for (let i = 0; i < count; i++) parts.add(String.fromCodePoint(97 + (i % 26)));
  const bytes = heapBytes() - beforeBytes;
  assert.ok(bytes < 3 * count, `${bytes} bytes`);
  assert.equal(parts.take().length, count);
});
