import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ByteLines } from '../../src/lib/byte-lines.js';
import { amount } from '../support/long.js';

/** All lines of some bytes, read in pieces. */
function linesOf(lines: ByteLines, bytes: Buffer, sizes: readonly number[]): (string | undefined)[] {
  const read: (string | undefined)[] = [];
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const size = sizes[n % sizes.length] ?? 1;
    // The piece is overwritten after it was read, as by a reader that uses one buffer.
    const piece = Buffer.from(bytes.subarray(at, at + size));
    read.push(...lines.read(piece));
    piece.fill(0);
    at += size;
  }
  return [...read, ...lines.end()];
}

describe('lines of bytes', () => {
  it('are those of the whole text, however it is cut, and too long ones are passed over', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'é', '\r', '\n', '\n', '\0', ' '),
      maxLength: 80,
    });
    fc.assert(
      fc.property(
        text,
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        fc.nat(8),
        (text, sizes, most) => {
          const bytes = Buffer.from(text, 'latin1');
          const expected = text
            .split('\n')
            .map(line => line.replace(/\r$/, ''))
            .map(line => (line.length > most ? undefined : line));
          if (text === '' || text.endsWith('\n')) expected.pop();
          assert.deepEqual(linesOf(new ByteLines(most), bytes, sizes), expected);
        },
      ),
      { numRuns: amount(500, 2000) },
    );
  });

  it('keep nothing of a line that has become too long', () => {
    const lines = new ByteLines(10);
    for (let n = 0; n < 1000; n++) assert.deepEqual([...lines.read(Buffer.alloc(1000, 'x'))], []);
    assert.equal(lines.pendingBytes, 1_000_000);
    assert.deepEqual([...lines.read(Buffer.from('\nshort\n'))], [undefined, 'short']);
    assert.equal(lines.pendingBytes, 0);
  });
});
