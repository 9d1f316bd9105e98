/** Spools in directories that are removed when the tests are over. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { Spool } from '../../src/lib/spool.js';

/** Entries up to this size are read whole. */
export const SMALL_BYTES = 256 * 1024;

const dirs: string[] = [];
after(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

export function newDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-spool-'));
  dirs.push(dir);
  return dir;
}

export function open(dir: string): Spool {
  const fail = (error: unknown) => assert.fail(`failed: ${String(error)}`);
  return new Spool({ dir, steps: 'test.spool', fail });
}

export async function put(spool: Spool, label: string, ...texts: string[]) {
  const writer = spool.create({ label });
  for (const text of texts) writer.write(text);
  return writer.commit(label);
}
