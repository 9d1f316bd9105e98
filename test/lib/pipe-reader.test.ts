import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { watchReader } from '../../src/lib/pipe-reader.js';

it('tells when the last reader of a pipe has gone, also of one that is full, and writes nothing', () => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-pipe-'));
  try {
    const path = join(dir, 'pipe');
    execFileSync('mkfifo', [path]);
    const readers = [0, 1].map(() => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
    const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    const isGone = watchReader(writer);
    assert.ok(isGone !== undefined);
    assert.equal(isGone(), false);
    closeSync(readers[0] ?? -1);
    assert.equal(isGone(), false);
    assert.throws(() => readSync(readers[1] ?? -1, Buffer.alloc(1)), { code: 'EAGAIN' });
    assert.throws(
      () => {
        for (;;) writeSync(writer, Buffer.alloc(4096));
      },
      { code: 'EAGAIN' },
    );
    assert.equal(isGone(), false);
    closeSync(readers[1] ?? -1);
    // The machine may stand still for as long as one look waits.
    let looks = 0;
    while (!isGone()) assert.ok(++looks < 1000, 'a pipe that has lost its reader is never told of');
    closeSync(writer);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

it('tells nothing of files and of descriptors that are not open', () => {
  const file = openSync(import.meta.filename, 'r');
  assert.equal(watchReader(file), undefined);
  closeSync(file);
  assert.equal(watchReader(file + 1000), undefined);
});
