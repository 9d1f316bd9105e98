/** The real bin/lccpidb on homes that are removed when the tests are over. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { ROOT } from './tree.js';

const parent = mkdtempSync(join(tmpdir(), 'lcc-pidb-'));
let homes = 0;
after(() => rmSync(parent, { recursive: true }));

/** One that is not there yet. */
export const newHome = () => join(parent, `home${++homes}`);

export function lccpidb(home: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'bin/lccpidb'), args, {
    env: { ...process.env, LCC_HOME: home, LCC_CONFIG: '' },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}
