import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { joinCrc, MAX_JOINED_BYTES } from '../../src/db/joined-sums.js';

test('the checksum of texts end to end follows from those of each', () => {
  const text = fc.uint8Array({ maxLength: MAX_JOINED_BYTES, size: 'max' });
  fc.assert(
    fc.property(fc.array(text, { maxLength: 5 }), texts => {
      let joined = 0;
      for (const one of texts) joined = joinCrc(joined, crc32(one), one.length);
      assert.equal(joined, crc32(Buffer.concat(texts)));
    }),
    { numRuns: 50 },
  );
  for (const length of [0, 1, 2, 255, 256, 1023, 1024, MAX_JOINED_BYTES]) {
    const [a, b] = [Buffer.from('first'), Buffer.alloc(length, 0xa5)];
    assert.equal(joinCrc(crc32(a), crc32(b), length), crc32(Buffer.concat([a, b])), String(length));
  }
});
