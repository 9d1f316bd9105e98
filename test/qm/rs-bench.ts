/** Operations of a Registration Server on a Bench. */
import { UrlLives } from '../../src/db/queue/url-life.js';
import { loadConfig } from '../../src/config/load.js';
import { silentLog } from '../../src/lib/log.js';
import { RsOperations, rsBoundsOf, type RsBounds } from '../../src/qm/rs-operations.js';
import type { Bench } from './support.js';

/** @param told is given `changed PID` and `flushed PID` */
export function rsOperationsOf(
  { db, store, clock, dir }: Bench,
  told: string[] = [],
  overrides: Record<string, string> = {},
  bounds: Partial<RsBounds> = {},
): RsOperations {
  const lives = new UrlLives(db);
  return new RsOperations({
    db,
    store,
    clock,
    log: silentLog,
    bounds: { ...rsBoundsOf(loadConfig({ env: { LCC_HOME: dir }, overrides }).settings.rs), ...bounds },
    changed: pid => void told.push(`changed ${pid}`),
    flushed: pid => void told.push(`flushed ${pid}`),
    livesOf: (pid, url) => lives.all(pid, url, { nowMs: clock.nowMs(), slots: 24 }, one => `state of ${one}`),
    controls: {
      pause: pid => void store.providers.setPaused(true, pid),
      resume: pid => void store.providers.setPaused(false, pid),
      flush: pid => void store.providers.forgetDelays(pid),
      'want-full': pid => void store.providers.wantFullSet('operator', pid),
    },
  });
}
