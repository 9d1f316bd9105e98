import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { tidyLines } from '../../src/text/tidy.js';

describe('lines of a text', () => {
  it('end without blanks, and are not joined or split, however long they are and whatever ends them', () => {
    const part = fc.oneof(
      fc.constantFrom('\n', '\r', '\r\n', '\f', ' ', '\t', '\u00a0', 'a', 'b c'),
      fc.nat(40_000).map(length => ' '.repeat(length)),
      fc.nat(40_000).map(length => 'w'.repeat(length)),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), parts => {
        const text = parts.join('');
        const lines = text.split(/\r\n|[\r\n\f]/).map(line => line.trimEnd());
        const first = lines.findIndex(line => line !== '');
        const expected = first < 0 ? [] : lines.slice(first, lines.findLastIndex(line => line !== '') + 1);
        assert.equal(tidyLines(text), expected.join('\n'));
      }),
    );
  });

  it('take time in proportion to a run of blanks that is followed by a word', () => {
    assert.equal(tidyLines(`${' '.repeat(8_000_000)}end`).length, 8_000_003);
  });
});
