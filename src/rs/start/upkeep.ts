/** Work of lccd-rs that is due by time, or when another process has written rs.db. */
import { DatabaseWatch } from '../../db/sqlite/watch.js';
import { isPassing } from '../../lib/errors.js';
import type { RsCore } from './core.js';

const TIDY_MS = 60_000;
/** Between two questions that keep the connection to the Queue Manager. */
const PING_MS = 60_000;

/**
 * @param logged logs rows of the audit that lccrs has added
 * @param tidyDoors is called every minute
 * @returns ends it
 */
export function startUpkeep(
  { db, options, clock, fail, transitions, sender, sessions, mail, feeds, push, keys }: RsCore,
  logged: () => void,
  tidyDoors: () => void,
): () => void {
  const ending = new AbortController();
  const tidyPairs = () => {
    transitions.tidy(options.keepMs, options.auditMs);
    if (transitions.mapHours()) sender.stir();
  };
  every(TIDY_MS, () => {
    tidyPairs();
    sessions.tidy();
    mail.tidy();
    push.tidy();
    void keys.tidy().catch(fail);
    tidyDoors();
  });
  // What was over while it was away.
  clock.after(0, () => carefully(tidyPairs));
  every(PING_MS, () => void sender.ask({ op: 'status' }).catch(fail));
  void watch().catch(fail);
  return () => ending.abort();

  /** What lccrs has decided is sent; sessions that somebody has taken out of rs.db end. */
  async function watch(): Promise<void> {
    const watcher = new DatabaseWatch(
      db.path,
      () => db.version(),
      clock,
      () => 'start lccd-rs again',
    );
    try {
      while (!ending.signal.aborted) {
        const seen = db.version();
        sessions.forget();
        logged();
        sender.stir();
        mail.stir();
        feeds.polling.stir();
        await watcher.changedSince(seen, ending.signal);
      }
    } finally {
      watcher.close();
    }
  }

  function every(delayMs: number, action: () => void): void {
    clock.after(delayMs, () => {
      carefully(action);
      if (!ending.signal.aborted) every(delayMs, action);
    });
  }

  function carefully(action: () => void): void {
    if (ending.signal.aborted) return;
    try {
      action();
    } catch (error) {
      if (!isPassing(error)) fail(error);
    }
  }
}
