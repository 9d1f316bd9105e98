import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Md5Lanes } from '../../src/lib/md5-lanes.js';

const lanes = Md5Lanes.start() ?? assert.fail();
const md5 = (content: Buffer) => createHash('md5').update(content).digest('hex');

function hashTogether(contents: readonly Buffer[]): string[] {
  for (const content of contents) {
    assert.ok(lanes.hasRoom(content.length));
    content.copy(lanes.memory, lanes.at);
    lanes.add(content.length);
  }
  return lanes.digests();
}

test('gives the md5 of every content, alone, of every length around the ends of blocks', () => {
  for (let bytes = 0; bytes <= 260; bytes++) {
    const content = randomBytes(bytes);
    assert.deepEqual(hashTogether([content]), [md5(content)], `${bytes} bytes`);
  }
});

test('gives them in order whatever the number and the lengths of those hashed together', () => {
  for (let count = 0; count < 60; count++) {
    const lengths = Array.from({ length: count }, () => Math.floor(Math.random() ** 4 * 17_000));
    const contents = lengths.map(bytes => randomBytes(bytes));
    assert.deepEqual(hashTogether(contents), contents.map(md5), `of ${lengths.join()} bytes`);
  }
});

test('takes 2 MiB, and says when it is full', () => {
  const mibs = randomBytes(2 * 1024 * 1024);
  assert.deepEqual(hashTogether([mibs]), [md5(mibs)]);
  const contents = [];
  while (lanes.hasRoom(0)) {
    contents.push(Buffer.alloc(0));
    lanes.add(0);
  }
  assert.deepEqual(lanes.digests(), contents.map(md5));
  assert.ok(lanes.hasRoom(2 * 1024 * 1024));
  lanes.add(2 * 1024 * 1024);
  assert.ok(!lanes.hasRoom(256 * 1024));
  lanes.digests();
});
