/** When a daemon ends: told by a signal, or because its parent, lccd, has ended. SIGHUP has it read files
 * again. */
import { Socket } from 'node:net';
import type { Log } from '../lib/log.js';

/** Resolves with the reason when a signal or the parent's end tells this process to stop. */
export function whenTold(
  env: NodeJS.ProcessEnv,
  log: Log,
  reloads: ReadonlySet<() => void>,
): Promise<string> {
  return new Promise(resolve => {
    process.on('SIGTERM', () => resolve('SIGTERM'));
    process.on('SIGINT', () => resolve('SIGINT'));
    process.on('SIGHUP', () => {
      if (reloads.size === 0) log.debug('SIGHUP ignored: nothing to reload');
      for (const reload of reloads) reload();
    });
    const parentFd = Number(env['LCC_PARENT_FD'] ?? '');
    if (Number.isInteger(parentFd) && parentFd > 2) {
      const pipe = new Socket({ fd: parentFd, readable: true, writable: false });
      pipe.on('error', () => undefined);
      pipe.on('close', () => resolve('the parent ended'));
      pipe.resume();
      pipe.unref();
    }
  });
}
