import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LccError } from '../../src/lib/errors.js';
import { Lines } from '../../src/lib/lines.js';

const tooLong = () => new LccError('limit', 'too long');

describe('lines', () => {
  it('come as their ends do, whole and byte by byte', () => {
    const bytes = Buffer.from('one\n\ntwo äöü€\r\nthree\nrest');
    for (const size of [bytes.length, 1]) {
      const lines = new Lines(100, tooLong);
      const read: string[] = [];
      for (let at = 0; at < bytes.length; at += size) read.push(...lines.read(bytes.subarray(at, at + size)));
      assert.deepEqual(read, ['one', '', 'two äöü€', 'three']);
    }
  });

  it('are as many as there are in a piece', () => {
    const lines = new Lines(100, tooLong);
    for (let piece = 0; piece < 3; piece++)
      assert.deepEqual(lines.read(Buffer.from('line\n'.repeat(1000))), Array<string>(1000).fill('line'));
  });

  it('are refused when they are too long, with an end or without', () => {
    for (const end of ['', '\n', '\nmore\n']) {
      const lines = new Lines(10, tooLong);
      assert.deepEqual(lines.read(Buffer.from(`${'x'.repeat(10)}\n`)), ['x'.repeat(10)]);
      assert.throws(() => lines.read(Buffer.from('x'.repeat(11) + end)), tooLong());
    }
    const lines = new Lines(10, tooLong);
    lines.read(Buffer.from('x'.repeat(6)));
    assert.throws(() => lines.read(Buffer.from('x'.repeat(6))), tooLong());
  });
});
