import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import fc from 'fast-check';
import { decodePiece, encodePiece, PIECE_PAGES } from '../../src/keep/piece.js';

function pieceOf(numbers: readonly number[], pageBytes = 4096) {
  return {
    pageBytes,
    filePages: 1000,
    pages: new Map(numbers.map(number => [number, randomBytes(pageBytes)])),
  };
}

it('a piece comes back from the engine as it was', () => {
  const piece = pieceOf(Array.from({ length: PIECE_PAGES }, (_, i) => i * 3 + 1));
  assert.deepEqual(decodePiece(encodePiece(piece), 'lcc 7.0'), piece);
});

it('a piece with any byte changed or cut is refused, unless it still says the same', () => {
  const piece = pieceOf([1, 2, 900], 512);
  const data = encodePiece(piece);
  fc.assert(
    fc.property(fc.nat(data.length - 1), fc.integer({ min: 1, max: 255 }), fc.boolean(), (at, bits, cut) => {
      const changed = Buffer.from(cut ? data.subarray(0, at) : data);
      if (!cut) changed[at] = (changed[at] ?? 0) ^ bits;
      try {
        // Some bits of what is deflated mean nothing.
        assert.deepEqual(decodePiece(changed, 'lcc 7.0'), piece);
      } catch (error) {
        assert.match(String(error), /^LccError: lcc 7\.0: damaged in the engine/);
      }
    }),
    { examples: [[0, 248, false]] },
  );
});
