/** Owners of homes, looked up for as long as a daemon runs. */
import { pause, type Clock } from '../../lib/clock.js';
import { LccError, messageOf } from '../../lib/errors.js';
import type { Log } from '../../lib/log.js';
import type { OwnedHome } from './map.js';

interface OwnersOptions {
  homes: () => Promise<readonly OwnedHome[]>;
  /** Between two looks. */
  everyMs: number;
  stop: AbortSignal;
  clock: Clock;
  log: Log;
}

/** Passes on each answer. Ends with `stop`; an engine that refuses is asked again, and is in the log once. */
export async function watchOwners(
  { homes, everyMs, stop, clock, log }: OwnersOptions,
  heard: (homes: readonly OwnedHome[]) => void,
): Promise<void> {
  let isTold = false;
  while (!stop.aborted) {
    try {
      heard(await homes());
      isTold = false;
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      if (!isTold && !stop.aborted)
        log.warn('owners of homes not known; as they were', { reason: messageOf(error) });
      isTold = true;
    }
    await pause(clock, everyMs, stop);
  }
}
