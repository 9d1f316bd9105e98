import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newDir, open } from './spools.js';

test('a big entry is read into the same memory, piece after piece', async () => {
  const spool = open(newDir());
  const writer = spool.create({});
  const text = 'x'.repeat(100_000);
  for (let i = 0; i < 50; i++) writer.write(text);
  const { id } = await writer.commit('big');
  const memory = new Set<ArrayBufferLike>();
  let bytes = 0;
  for (const piece of spool.read(id).content) {
    memory.add(piece.buffer);
    bytes += piece.length;
  }
  assert.deepEqual([bytes, memory.size], [5_000_000, 1]);
  spool.close();
});
