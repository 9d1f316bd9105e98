import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { firstLineOf } from '../../src/lib/first-line.js';

const dir = mkdtempSync(join(tmpdir(), 'lcc-first-line-'));
after(() => rmSync(dir, { recursive: true }));

test('the first line is read without its end, whatever follows it', () => {
  const file = join(dir, 'file');
  for (const [text, line] of [
    ['secret\nmore', 'secret'],
    ['secret\r\n', 'secret'],
    ['secret', 'secret'],
    ['\uFEFFs\u00e9cret\n', 's\u00e9cret'],
    ['', ''],
    ['\nsecret', ''],
    ['x'.repeat(4096), 'x'.repeat(4096)],
    ['x'.repeat(4097), undefined],
    [`${'x'.repeat(100_000)}\n`, undefined],
  ] as const) {
    writeFileSync(file, text);
    assert.equal(firstLineOf(file), line);
  }
});

test('a file without end is read no further than a line may be long', () => {
  assert.equal(firstLineOf('/dev/zero'), undefined);
});
