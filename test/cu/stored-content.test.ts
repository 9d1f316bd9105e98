import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFileSync, chmodSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { openStored, WHOLE_BYTES, type StoredContent } from '../../src/cu/stored-content.js';

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'lcc-content-'));
  file = join(dir, 'file');
});
afterEach(() => rmSync(dir, { recursive: true }));

const md5 = (bytes: Uint8Array) => createHash('md5').update(bytes).digest('hex');

function opened(bytes: Uint8Array): StoredContent {
  writeFileSync(file, bytes);
  const result = openStored(file, md5(bytes));
  assert.ok(result.ok);
  return result.content;
}

describe('stored content', () => {
  for (const length of [0, 1, WHOLE_BYTES, WHOLE_BYTES + 1, 3_000_000]) {
    it(`of ${length} bytes is read whole and in pieces`, () => {
      const bytes = Buffer.alloc(length, 'lcc ');
      const content = opened(bytes);
      assert.equal(content.length, length);
      assert.ok(content.bytes().equals(bytes));
      let at = 0;
      for (const chunk of content.chunks()) {
        assert.ok(bytes.subarray(at, at + chunk.length).equals(chunk));
        at += chunk.length;
      }
      assert.equal(at, length);
      content.close();
    });
  }

  it('stays readable when its file is freed', () => {
    const bytes = Buffer.alloc(2_000_000, 'x');
    const content = opened(bytes);
    rmSync(file);
    assert.ok(content.bytes().equals(bytes));
    content.close();
  });

  for (const [what, alter] of [
    ['longer', () => appendFileSync(file, 'x')],
    ['shorter', () => truncateSync(file, 1_999_999)],
    ['another', () => writeFileSync(file, Buffer.alloc(2_000_000, 'y'), { flag: 'r+' })],
  ] as const) {
    it(`that gets ${what} after it was verified cuts the stream`, () => {
      const content = opened(Buffer.alloc(2_000_000, 'x'));
      alter();
      assert.throws(
        () => {
          for (const chunk of content.chunks()) assert.ok(chunk.length > 0);
        },
        { code: 'data.cut' },
      );
      content.close();
    });
  }

  it('that is missing, altered or no file is none, and says why', () => {
    assert.deepEqual(openStored(file, md5(Buffer.of())), { ok: false, why: 'missing' });
    writeFileSync(file, 'x');
    assert.deepEqual(openStored(file, md5(Buffer.of())), { ok: false, why: 'altered: its md5 differs' });
    assert.deepEqual(openStored(dir, md5(Buffer.of())), { ok: false, why: 'not readable (EISDIR)' });
  });

  it('that cannot be read for now is not taken for missing', () => {
    writeFileSync(file, 'x');
    chmodSync(file, 0);
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(65534);
    try {
      assert.throws(() => openStored(file, md5(Buffer.from('x'))), {
        code: 'try.later',
        message: `${file}: cannot be read now (EACCES); put that right and run again`,
      });
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  });
});
