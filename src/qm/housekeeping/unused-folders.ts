import type { QueueStore } from '../../db/queue/store.js';
import type { Chore } from '../housekeeping.js';

/** Between two steps, and between two rounds. */
const PAUSE_MS = 500;
const ROUND_PAUSE_MS = 60_000;

/** Forgets folders that none of the urls that wait is in any more. */
export function unusedFolders(store: QueueStore): Chore {
  const { folders } = store;
  let after = 0;
  return {
    run() {
      const page = folders.after(after);
      after = page.at(-1)?.id ?? 0;
      const unused = page.filter(({ isUsed }) => isUsed === 0);
      if (unused.length > 0)
        store.transaction(() => {
          for (const { id } of unused) folders.forget(id);
        });
      return page.length > 0 ? PAUSE_MS : ROUND_PAUSE_MS;
    },
  };
}
