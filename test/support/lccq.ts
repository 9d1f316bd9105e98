/** The real lccq, and whatever reads what it writes, run on a cache of a test. */
import { dirname, join } from 'node:path';
import type { TestCache } from './cache.js';
import { asText, homeEnv, runBin, runProgram, type Done, type Ran } from './command.js';
import { ROOT } from './tree.js';

export const LCCQ = join(ROOT, 'bin/lccq');

/** @param ids user and group to run as */
export function runLccq(
  cache: TestCache,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  ids: { uid?: number; gid?: number } = {},
): Ran {
  return runBin('lccq', args, { env: homeEnv(cache.home, env), ...ids });
}

/** The same, its output as text. */
export function lccqSays(cache: TestCache, args: readonly string[], env?: NodeJS.ProcessEnv): Done {
  return asText(runLccq(cache, args, env));
}

/** What bash says of a line, with lccq on its PATH. @param env variables of the line */
export function shellSays(cache: TestCache, line: string, env: NodeJS.ProcessEnv = {}): Done {
  const PATH = `${dirname(LCCQ)}:${process.env['PATH']}`;
  return asText(
    runProgram('bash', ['-o', 'pipefail', '-c', line], {
      env: { ...process.env, LCC_HOME: cache.home, PATH, ...env },
    }),
  );
}
