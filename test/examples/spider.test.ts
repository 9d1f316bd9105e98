/** Readers of records in other languages, as examples/spider has them: they agree with lccrec line by line. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { damaged, dice, randomStream } from '../support/record-streams.js';
import { recordBytes } from '../support/store-server.js';
import { ROOT } from '../support/tree.js';

const dir = mkdtempSync(join(tmpdir(), 'lcc-readers-'));
after(() => rmSync(dir, { recursive: true }));

const example = (name: string) => join(ROOT, 'examples/spider', name);
const READERS: Record<string, string[]> = {
  c: [join(dir, 'records')],
  perl: ['perl', example('records.pl')],
  python: ['python3', example('records.py')],
};
const LCCREC = [process.execPath, join(ROOT, 'bin/lccrec'), '--tsv'];

interface Reading {
  stdout: string;
  status: number | null;
  /** What stands in the error for the offset. */
  offset: string | undefined;
}

function readBy([command = '', ...args]: string[], stream: Buffer): Reading {
  const { stdout, stderr, status, error } = spawnSync(command, args, {
    input: stream,
    encoding: 'latin1',
    maxBuffer: 100_000_000,
  });
  assert.equal(error, undefined);
  return { stdout, status, offset: /byte (\d+):/.exec(stderr)?.[1] };
}

describe('readers of records in C, Perl and Python', () => {
  it('are compiled without a warning', () => {
    const flags = ['-std=c99', '-O2', '-Wall', '-Wextra', '-Werror', '-pedantic'];
    const { status, stderr } = spawnSync('cc', [...flags, '-o', join(dir, 'records'), example('records.c')], {
      encoding: 'utf8',
    });
    assert.equal(stderr, '');
    assert.equal(status, 0);
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
    for (let n = 0; refused < 8 && n < 40; n++) {
      const stream = damaged(whole, roll);
      const wanted = readBy(LCCREC, stream);
      if (wanted.status === 65) refused++;
      for (const [name, command] of Object.entries(READERS))
        assert.deepEqual(readBy(command, stream), wanted, `${name}, stream ${n}`);
    }
    assert.equal(refused, 8);
  });
});
