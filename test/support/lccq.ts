/** The real lccq, and whatever reads what it writes, run on a cache of a test. */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { errnoOf } from '../../src/lib/errors.js';
import type { TestCache } from './cache.js';
import { ROOT } from './tree.js';

export const LCCQ = join(ROOT, 'bin/lccq');

export interface Ran {
  status: number | null;
  stdout: Buffer;
  stderr: string;
}

/** @param ids user and group to run as */
export function runLccq(
  cache: TestCache,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  ids: { uid?: number; gid?: number } = {},
): Ran {
  return run(LCCQ, args, { env: { ...process.env, LCC_HOME: cache.home, LCC_CONFIG: '', ...env }, ...ids });
}

export interface Said {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** The same, its output as text. */
export function lccqSays(cache: TestCache, args: readonly string[], env?: NodeJS.ProcessEnv): Said {
  return asText(runLccq(cache, args, env));
}

/** What bash says of a line, with lccq on its PATH. @param env variables of the line */
export function shellSays(cache: TestCache, line: string, env: NodeJS.ProcessEnv = {}): Said {
  const PATH = `${dirname(LCCQ)}:${process.env['PATH']}`;
  return asText(
    run('bash', ['-o', 'pipefail', '-c', line], {
      env: { ...process.env, LCC_HOME: cache.home, PATH, ...env },
    }),
  );
}

function asText({ status, stdout, stderr }: Ran): Said {
  return { status, stdout: stdout.toString(), stderr };
}

/** Any program; its output whole. */
export function run(
  program: string,
  args: readonly string[],
  options: {
    env?: NodeJS.ProcessEnv;
    input?: string | Uint8Array;
    cwd?: string;
    uid?: number;
    gid?: number;
  } = {},
): Ran {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    ...options,
    maxBuffer: 256 * 1024 * 1024,
  });
  // Who ends without having read all his input does what he should; some versions of Node call it an error.
  if (error !== undefined && errnoOf(error) !== 'EPIPE') throw error;
  return { status, stdout, stderr: stderr.toString() };
}
