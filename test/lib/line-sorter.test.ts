import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { LineSorter } from '../../src/lib/line-sorter.js';

const dir = mkdtempSync(join(tmpdir(), 'sorter-'));
after(() => rmSync(dir, { recursive: true }));

const line = fc
  .uint8Array({ maxLength: 12 })
  .map(b => Buffer.from(b).toString('latin1').replaceAll('\n', ' '));

test('sorts any lines by their bytes, the same from memory and from runs on disk', () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 60 }), fc.integer({ min: 33, max: 400 }), (lines, runBytes) => {
      const sorter = new LineSorter(join(dir, 'x'), runBytes);
      for (const one of lines) sorter.add(one);
      assert.equal(sorter.isEmpty, lines.length === 0);
      const expected = lines.map(l => Buffer.from(l, 'latin1')).sort((a, b) => Buffer.compare(a, b));
      assert.deepEqual(
        [...sorter.sorted()],
        expected.map(b => b.toString('latin1')),
      );
      sorter.close();
      assert.deepEqual(readdirSync(dir), []);
    }),
    { numRuns: 50 },
  );
});
