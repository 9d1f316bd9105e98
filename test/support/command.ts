/** The real commands, each run to its end. */
import { spawnSync, type SpawnSyncOptions } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './tree.js';

export interface Done {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `bin/NAME` on a home. @param options its input, if any, or whose process it is */
export function runCommand(
  home: string,
  name: string,
  args: readonly string[],
  { env, ...options }: Pick<SpawnSyncOptions, 'input' | 'uid' | 'gid' | 'env'> = {},
): Done {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'bin', name), ...args], {
    input: '',
    ...options,
    env: { ...process.env, LCC_HOME: home, LCC_CONFIG: '', ...env },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}
