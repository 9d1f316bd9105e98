import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { fileIdOf, folderOf, nameOf } from '../../../src/db/names/naming.js';

describe('names of files', () => {
  it('keeps 256 consecutive ids in one folder', () => {
    assert.equal(fileIdOf({ id: 0, gen: 0 }), '00/00/00000000.0');
    assert.equal(fileIdOf({ id: 255, gen: 3 }), '00/00/000000ff.3');
    assert.equal(fileIdOf({ id: 256, gen: 0 }), '00/01/00000100.0');
    assert.equal(folderOf(256 * 65_536), '00/00');
    assert.equal(fileIdOf({ id: 2 ** 40, gen: 12 }), '00/00/10000000000.12');
  });

  it('reads back every name it writes', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 45), fc.nat(1_000_000), (id, gen) => {
        assert.deepEqual(nameOf(fileIdOf({ id, gen })), { id, gen });
      }),
    );
  });

  it('gives no two names one path', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 45), fc.nat(99), fc.nat(2 ** 45), fc.nat(99), (a, m, b, n) => {
        assert.equal(fileIdOf({ id: a, gen: m }) === fileIdOf({ id: b, gen: n }), a === b && m === n);
      }),
    );
  });

  for (const path of [
    '../../etc/passwd',
    '/etc/passwd',
    '00/00/../00000000.0',
    '00/00/00000000.0/..',
    '00/01/00000000.0',
    '00/00/00000000.00',
    '00/00/00000000',
    '00/00/000000FF.0',
    '00/00/00000000.0\n',
    'names.db',
    '',
  ]) {
    it(`is no name of a file: ${JSON.stringify(path)}`, () => assert.equal(nameOf(path), undefined));
  }
});
