import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const MODULE = new URL('../../src/db/spool-database.js', import.meta.url).href;

test('several processes open and leave a new database at the same time, and all succeed', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-spool-database-'));
  try {
    const script = `
      const { openSpoolDatabase } = await import(${JSON.stringify(MODULE)});
      for (let i = 0; i < 40; i++)
        openSpoolDatabase(${JSON.stringify(dir)} + '/' + i + '.db', 'CREATE TABLE IF NOT EXISTS t(x)', 'FULL').close();`;
    const children = Array.from({ length: 4 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'ignore', 'pipe'] }),
    );
    const ends = await Promise.all(
      children.map(async child => {
        let stderr = '';
        child.stderr.on('data', chunk => (stderr += String(chunk)));
        const [status] = (await once(child, 'close')) as [number | null];
        return { status, stderr };
      }),
    );
    assert.deepEqual(
      ends,
      ends.map(() => ({ status: 0, stderr: '' })),
    );
  } finally {
    rmSync(dir, { recursive: true });
  }
});
