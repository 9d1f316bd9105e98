/** The thread behind RsLooks: reads queue and providers out of the database, which may take seconds where
 * there are millions of sets. */
import { AGE_MINUTES } from '../db/queue/ages.js';
import { readQueueShape, readQueueSummary, type QueueShape, type QueueSummary } from '../db/queue/shape.js';
import { readProviderPage, readSites } from '../db/providers/listing.js';
import { openReadOnly } from '../db/sqlite/open.js';
import type { Slots } from '../config/hours.js';
import { serveThread } from '../lib/thread.js';
import type { RsProviderPage, RsProviderRow } from '../wire/rs-looks.js';

const QUEUES_SHOWN = 100;
const PROVIDERS_SHOWN = 100;
const SITES_SHOWN = 50;

export type DatabaseLook =
  | { op: 'overview'; nowMs: number }
  | { op: 'providers'; search: string; after: number };

export interface QueueLook {
  summary: QueueSummary;
  shape: QueueShape;
  ageMinutes: readonly number[];
  sites: RsProviderRow[];
  tookMs: number;
}

/** Serves the thread's owner until ended; with a connection of its own each time, which keeps no log from
 * being moved. */
export function serveLooks(): void {
  serveThread(
    ({ path, slots }: { path: string; slots: Slots }) =>
      (look: DatabaseLook): QueueLook | RsProviderPage => {
        const begunMs = performance.now();
        const db = openReadOnly(path);
        try {
          if (look.op === 'providers') return readProviderPage(db, look.search, look.after, PROVIDERS_SHOWN);
          const { nowMs } = look;
          const nowS = Math.floor(nowMs / 1000);
          const summary = readQueueSummary(db, nowMs, slots);
          const shape = readQueueShape(db, nowS, QUEUES_SHOWN);
          const sites = readSites(db, nowS, SITES_SHOWN);
          return { summary, shape, ageMinutes: AGE_MINUTES, sites, tookMs: performance.now() - begunMs };
        } finally {
          db.close();
        }
      },
  );
}
