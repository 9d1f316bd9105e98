import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decoded } from '../../src/lib/unpack.js';

test('a document whose encoding is not known is let go: nothing more is read of it', async () => {
  let isLetGo = false;
  async function* pieces() {
    try {
      yield Buffer.from('<?xml version="1.0" encoding="x-none"?><urlset/>'.padEnd(2000));
      yield Buffer.from('more');
    } finally {
      isLetGo = true;
    }
  }
  await assert.rejects(decoded(pieces()).next(), /its encoding x-none is not known/);
  assert.ok(isLetGo);
});
