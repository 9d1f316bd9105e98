/**
 * Commits that find no room are tried again every second by their callers. The log says so when that begins,
 * now and then while it lasts, and when it is over: when for a while no commit has failed and the disk has a
 * little room.
 */
import type { Clock } from '../lib/clock.js';
import type { Log } from '../lib/log.js';

/** Longer than any caller waits before it tries again. */
const QUIET_MS = 5000;
const REMIND_MS = 10 * 60_000;

export interface FullDisk {
  /** The last report of SQLite, while it lasts. */
  readonly reason: string | undefined;
  /** A commit found no room. */
  failed(error: string): void;
  stop(): void;
}

/** @param hasRoom asks the disk */
export function fullDiskOf(clock: Clock, log: Log, hasRoom: () => boolean): FullDisk {
  let reason: string | undefined;
  let failures = 0;
  let [sinceMs, lastMs, saidMs] = [0, 0, 0];
  let cancel: (() => void) | undefined;
  const look = (): void => {
    cancel = clock.after(QUIET_MS, () => {
      if (clock.monotonicMs() - lastMs < QUIET_MS || !hasRoom()) return look();
      reason = undefined;
      log.info('disk has room again', { after_s: Math.round((lastMs - sinceMs) / 1000), failures });
    });
  };
  return {
    get reason() {
      return reason;
    },
    failed(error) {
      lastMs = clock.monotonicMs();
      const isNew = reason === undefined;
      failures = isNew ? 1 : failures + 1;
      if (isNew) {
        sinceMs = lastMs;
        look();
      }
      if (isNew || lastMs - saidMs >= REMIND_MS) {
        log.error('disk full; free space on it', { error, failures });
        saidMs = lastMs;
      }
      reason = error;
    },
    stop: () => cancel?.(),
  };
}
