import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LccError } from '../../src/lib/errors.js';
import { newDir, open, put, SMALL_BYTES, verify } from './spools.js';
import { amount } from '../support/long.js';

describe('a damaged entry', () => {
  /** Whether reading the altered file is refused, or gives back exactly what was written. */
  async function survives(alter: (file: Buffer) => Buffer, pieces = 40_000): Promise<void> {
    const dir = newDir();
    const spool = open(dir);
    const text = 'some text é '.repeat(pieces);
    const { id, bytes } = await put(spool, 'x', text);
    const path = join(dir, 'new', id);
    const file = readFileSync(path);
    const altered = alter(file);
    writeFileSync(path, altered);
    if (!altered.equals(file)) {
      if (bytes <= SMALL_BYTES)
        assert.throws(() => spool.readSmall({ id, label: 'x', bytes }), { code: 'data.malformed' });
      assert.throws(
        () => verify(spool, id),
        error => error instanceof LccError && error.code === 'data.malformed',
      );
    }
    spool.close();
  }

  it('is never believed, whichever bit was flipped', async () => {
    const dir = newDir();
    const spool = open(dir);
    const { id, bytes } = await put(spool, 'x', 'some text é '.repeat(12_000));
    const path = join(dir, 'new', id);
    const file = readFileSync(path);
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes - 1), fc.nat(7), async (at, bit) => {
        const altered = Buffer.from(file);
        altered.writeUInt8(altered.readUInt8(at) ^ (1 << bit), at);
        writeFileSync(path, altered);
        assert.throws(() => verify(spool, id), { code: 'data.malformed' });
        assert.throws(() => spool.readSmall({ id, label: 'x', bytes }), { code: 'data.malformed' });
      }),
      { numRuns: amount(60, 300) },
    );
    spool.close();
  });

  it('is not believed when it was cut or lengthened, however small', async () => {
    for (const pieces of [0, 1, 12_000]) {
      await survives(file => file.subarray(0, file.length - 1), pieces);
      await survives(file => file.subarray(0, file.length - 8), pieces);
      await survives(file => file.subarray(0, 11), pieces);
      await survives(file => file.subarray(0, 7), pieces);
      await survives(file => Buffer.concat([file, Buffer.from([0])]), pieces);
      await survives(file => Buffer.concat([file, file.subarray(-8)]), pieces);
    }
  });

  it('is not believed when it was cut, lengthened, or two frames changed places', async () => {
    const frame = 64 * 1024;
    await survives(file => file.subarray(0, file.length - 1));
    await survives(file => file.subarray(0, frame));
    await survives(file => file.subarray(0, 8));
    await survives(file => Buffer.concat([file, Buffer.from([0])]));
    await survives(file => Buffer.concat([file, file.subarray(-8)]));
    await survives(file => {
      const header = file.indexOf('some text') - 8;
      const first = file.subarray(header, header + file.readUInt32BE(header) + 8);
      const next = header + first.length;
      const second = file.subarray(next, next + file.readUInt32BE(next) + 8);
      return Buffer.concat([file.subarray(0, header), second, first, file.subarray(next + second.length)]);
    });
  });

  it('names the file and the place', async () => {
    const dir = newDir();
    const spool = open(dir);
    const { id, bytes } = await put(spool, 'x', 'text');
    const path = join(dir, 'new', id);
    writeFileSync(path, readFileSync(path).subarray(0, -3));
    const named = { message: new RegExp(`${id}: damaged at byte \\d+: the file ends`) };
    assert.throws(() => verify(spool, id), named);
    assert.throws(() => spool.readSmall({ id, label: 'x', bytes }), named);
    spool.close();
  });
});
