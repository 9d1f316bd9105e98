import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import fc from 'fast-check';
import { SmallPieces } from '../../src/fetch/small-pieces.js';

function given(lengths: readonly number[]) {
  const content = randomBytes(lengths.reduce((sum, length) => sum + length, 0));
  const taken: Uint8Array[] = [];
  const pieces = new SmallPieces(piece => void taken.push(piece));
  let from = 0;
  for (const length of lengths) pieces.write(content.subarray(from, (from += length)));
  pieces.flush();
  return { content, taken };
}

it('all bytes come in their order, whatever pieces they are in', () => {
  const lengths = fc.array(fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 40_000 })), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(lengths, all => {
      const { content, taken } = given(all);
      assert.ok(Buffer.concat(taken).equals(content));
    }),
  );
});

it('a hundred thousand pieces of a byte are a few calls; a single small piece is given on as it is', () => {
  assert.equal(given(Array<number>(100_000).fill(1)).taken.length, Math.ceil(100_000 / (16 * 1024)));
  const piece = Buffer.from('a page');
  const taken: Uint8Array[] = [];
  const pieces = new SmallPieces(one => void taken.push(one));
  pieces.write(piece);
  pieces.flush();
  pieces.flush();
  assert.deepEqual(taken, [piece]);
  assert.equal(taken[0], piece);
});
