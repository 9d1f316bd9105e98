/** Waiting for a rail: `--wait` of lccrail. */
import type { ClearDatabase } from '../db/clear/database.js';
import type { Clock } from '../lib/clock.js';

const POLL_MS = 50;

/** Work that a rail still lacks: pages of its backlog, pages not published yet, and requests that are not
 * carried out. */
interface RailLack {
  pages: number;
  published: number;
  requests: number;
}

/**
 * Waits until a rail lacks nothing: its backlog is empty, and what was queued or published before the call is
 * on it.
 * @param sleep resolves after a time in milliseconds, and keeps the process alive until then
 * @returns what it still lacks when the time is over; undefined when it lacks nothing
 */
export async function waitForRail(
  db: ClearDatabase,
  clock: Clock,
  rail: string,
  timeoutMs: number,
  sleep: (delayMs: number) => Promise<void>,
): Promise<RailLack | undefined> {
  const endMs = clock.monotonicMs() + timeoutMs;
  const { target, lastId, lastSeq } = db.read(() => ({
    target: db.rails.get(rail)?.target ?? '',
    lastId: db.queue.lastId(),
    lastSeq: db.numbers.last('publish_seq'),
  }));
  for (;;) {
    const lack = db.read(() => ({
      pages: db.backlog.waitingOf(rail),
      published: db.soft.waitingCountOf(target, lastSeq),
      requests: db.queue.countBetween(0, lastId),
    }));
    if (lack.pages + lack.published + lack.requests === 0) return undefined;
    const leftMs = endMs - clock.monotonicMs();
    if (leftMs <= 0) return lack;
    await sleep(Math.min(POLL_MS, leftMs));
  }
}
