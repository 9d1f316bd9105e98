import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const PROCESSES = 3;
const DATABASES = 30;

/** What several processes that open the same new databases at the same moments say of it. */
async function openTogether(module: string, open: string): Promise<string[]> {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-wal-'));
  const script = `
    const { ${module === 'sqlite/open' ? 'openDatabase' : 'SessionStore'} } =
      await import(${JSON.stringify(new URL(`../../../src/db/${module}.js`, import.meta.url).href)});
    process.stdout.write('ready\\n');
    process.stdin.on('data', line => {
      const path = ${JSON.stringify(dir)} + '/' + String(line).trim() + '.db';
      try {
        ${open}.close();
        process.stdout.write('ok\\n');
      } catch (error) {
        process.stdout.write(error.message + '\\n');
      }
    });`;
  const children = Array.from({ length: PROCESSES }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] }),
  );
  const answers = () =>
    Promise.all(children.map(async child => String((await once(child.stdout, 'data'))[0]).trim()));
  try {
    assert.deepEqual(await answers(), Array<string>(PROCESSES).fill('ready'));
    const said: string[] = [];
    for (let i = 0; i < DATABASES; i++) {
      const next = answers();
      for (const child of children) child.stdin.write(`${i}\n`);
      said.push(...(await next));
    }
    return said;
  } finally {
    for (const child of children) child.kill('SIGKILL');
    rmSync(dir, { recursive: true });
  }
}

test('several processes make the same lcc.db at the same moment, and all succeed', async () => {
  assert.deepEqual(new Set(await openTogether('sqlite/open', 'openDatabase(path)')), new Set(['ok']));
});

test('several processes make the same database of the spool at the same moment, and all succeed', async () => {
  assert.deepEqual(new Set(await openTogether('spools/sessions', 'new SessionStore(path)')), new Set(['ok']));
});
