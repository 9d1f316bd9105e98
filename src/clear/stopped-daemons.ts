/** Which daemons of cache clearing do not run: what is queued waits for them. */
import { isLocked } from '../lib/lock.js';
import type { ClearOptions } from './options.js';

export function stoppedDaemons({ lockPath }: Pick<ClearOptions, 'lockPath'>): string[] {
  return (['hard', 'soft'] as const)
    .filter(daemon => !isLocked(lockPath(daemon)))
    .map(daemon => `lccd-${daemon}`);
}
