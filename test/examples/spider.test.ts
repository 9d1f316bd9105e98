/** Readers of records in other languages, as examples/spider has them: they agree with lccrec line by line. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { isLong } from '../support/long.js';
import { compileRecordReader, example, LCCREC, readBy, recordReaders } from '../support/record-readers.js';
import { damaged, dice, randomStream } from '../support/record-streams.js';
import { recordBytes } from '../support/store-server.js';

const dir = mkdtempSync(join(tmpdir(), 'lcc-readers-'));
after(() => rmSync(dir, { recursive: true }));

const READERS = recordReaders(dir);

describe('readers of records in C, Perl and Python', () => {
  it('are compiled without a warning', () => {
    compileRecordReader(dir);
    assert.equal(spawnSync('perl', ['-c', example('records.pl')]).status, 0);
  });

  it('print what lccrec prints, of records with everything in them', () => {
    const longest = recordBytes({
      docId: 1,
      url: `http:${'a'.repeat(65_530)}`,
      newUrl: `x:${'ÿ'.repeat(65_533)}`,
      doc: Buffer.alloc(300_000, 7),
    });
    const stream = Buffer.concat([
      randomStream('all', 500, 3000),
      longest,
      randomStream('more', 50, 100_000),
    ]);
    const wanted = readBy(LCCREC, stream);
    assert.equal(wanted.status, 0);
    assert.equal(wanted.stdout.split('\n').length, 552);
    for (const [name, command] of Object.entries(READERS))
      assert.deepEqual(readBy(command, stream), wanted, name);
  });

  it('stop at the same byte of a damaged stream, after the same lines', () => {
    const roll = dice('damage');
    const whole = randomStream('short', 12, 60);
    let refused = 0;
    for (let n = 0; refused < (isLong ? 20 : 4) && n < 100; n++) {
      const stream = damaged(whole, roll);
      const wanted = readBy(LCCREC, stream);
      if (wanted.status === 65) refused++;
      for (const [name, command] of Object.entries(READERS))
        assert.deepEqual(readBy(command, stream), wanted, `${name}, stream ${n}`);
    }
    assert.equal(refused, isLong ? 20 : 4);
  });
});
