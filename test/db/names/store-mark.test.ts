import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { hasContent, markStore } from '../../../src/db/names/store-mark.js';

test('a store has content when there is a page in it, not when folders were made for such that never came', t => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-store-'));
  t.after(() => rmSync(dir, { recursive: true }));
  assert.ok(!hasContent(join(dir, 'none')));
  assert.ok(!hasContent(dir));
  markStore(dir, 'here');
  mkdirSync(join(dir, '00/00'), { recursive: true });
  mkdirSync(join(dir, '00/01'));
  writeFileSync(join(dir, '00/notes'), '');
  writeFileSync(join(dir, '00/00/00000001.1.2.tmp'), 'half');
  assert.ok(!hasContent(dir));
  writeFileSync(join(dir, '00/01/00000100.1'), 'a page');
  assert.ok(hasContent(dir));
});
