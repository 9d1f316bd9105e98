import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { loadConfig } from '../../src/config/load.js';
import { fullDiskTrap } from '../../src/config/full-disk-trap.js';
import { mountSmall } from '../support/disk.js';

let home: string;
beforeEach(() => (home = mkdtempSync(join(tmpdir(), 'lcc-trap-'))));
afterEach(() => rmSync(home, { recursive: true }));

/** The warning when store and spool stop at a percentage, or at a number of bytes. */
function trap(store: number, spool: number, by: 'percent' | 'bytes' = 'percent'): string | undefined {
  const others = by === 'percent' ? { bytes: '10000GB' } : { percent: '90' };
  const of = (whose: string, value: number) =>
    Object.entries({ [by]: String(value), ...others }).map(([unit, text]) => [
      `${whose}.min_free_disk_${unit}`,
      text,
    ]);
  const overrides = Object.fromEntries([...of('bm', store), ...of('uns', spool)]) as Record<string, string>;
  return fullDiskTrap(loadConfig({ env: { LCC_HOME: join(home, 'not-made-yet') }, overrides }));
}

describe('a disk that store and spool share', () => {
  it('could not be emptied when sets are refused before storing stops', () => {
    assert.match(
      trap(5, 10) ?? '',
      /^bm\.min_free_disk_percent = 5 % \(command line\) must keep more free than uns\.min_free_disk_percent = 10 % \(/,
    );
    assert.match(trap(10, 10) ?? '', /share a disk/);
    assert.match(
      trap(1024, 2048, 'bytes') ?? '',
      /^bm\.min_free_disk_bytes = 1 KB .* than uns\.min_free_disk_bytes = 2 KB/,
    );
  });

  it('can be emptied when storing stops first, as it does by default, or sets are taken to the last', () => {
    assert.equal(trap(11, 10), undefined);
    assert.equal(trap(0, 0), undefined);
    assert.equal(trap(2048, 1024, 'bytes'), undefined);
    assert.equal(fullDiskTrap(loadConfig({ env: { LCC_HOME: home } })), undefined);
  });

  it('is none where the store has one of its own', t => {
    const store = join(home, 'not-made-yet/store');
    mkdirSync(store, { recursive: true });
    const unmount = mountSmall(store, '1m');
    if (unmount === undefined) return t.skip('mounting needs root');
    try {
      assert.equal(trap(5, 10), undefined);
    } finally {
      unmount();
    }
  });
});
