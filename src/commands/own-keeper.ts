/**
 * A keeper for a command that works in a kept home while lccd does not run: started for it, and stopped when
 * the engine has what was done.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../config/types.js';
import { keeperLock } from '../daemon/keeper-link.js';
import { whenOwned } from '../daemon/open-kept.js';
import { LccError } from '../lib/errors.js';
import { isLocked } from '../lib/lock.js';
import type { CommandContext } from './run.js';

/** Longest wait for the home; copies may have to be made. */
const OWN_MS = 600_000;
const PARENT_FD = 3;

/** @throws LccError `try.later` where this machine cannot have the home; as `work` */
export async function withKeeper<T>(
  { clock, env, launcher }: CommandContext,
  config: Config,
  work: () => Promise<T>,
): Promise<T> {
  const { home, settings, file } = config;
  if (settings.store.url === '' || isLocked(keeperLock(home.run))) return work();
  const path = join(dirname(realpathSync(launcher)), 'lccd-keep');
  const args = [path, '--quiet', ...(file === undefined ? [] : [`--config=${file}`])];
  const keeper = spawn(process.execPath, args, {
    env: { ...env, LCC_PARENT_FD: String(PARENT_FD) },
    // By the pipe it notices that this process has died.
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  const ended = once(keeper, 'close');
  const over = new AbortController();
  const owned = whenOwned(config, clock, over.signal);
  const cancel = clock.after(OWN_MS, () => over.abort());
  try {
    await Promise.race([
      owned,
      ended.then(() => {
        throw new LccError('try.later', 'lccd-keep ended; its message is above');
      }),
    ]);
    return await work();
  } finally {
    cancel();
    over.abort();
    await owned.catch(() => undefined);
    keeper.kill();
    await ended;
  }
}
