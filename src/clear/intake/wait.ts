/** Waiting until requests are done: their rows are gone, wherever the rails that were down have them. */
import type { ClearDatabase } from '../../db/clear/database.js';
import type { Clock } from '../../lib/clock.js';
import type { IdRange, RequestIntake } from './request-intake.js';

/** `rejected`: at least one could not be carried out, or is given up on a rail. */
export type WaitResult = { state: 'done' | 'waiting' | 'rejected'; waiting: number; problems: string[] };

const POLL_MS = 50;
const MAX_PROBLEMS = 10;
const PAGE_ROWS = 1000;

/**
 * @param timeoutMs Infinity: as long as it takes
 * @param sleep resolves after a time in milliseconds, and keeps the process alive until then
 */
export async function waitForRequests(
  db: ClearDatabase,
  clock: Clock,
  intake: RequestIntake,
  timeoutMs: number,
  sleep: (delayMs: number) => Promise<void>,
): Promise<WaitResult> {
  const endMs = clock.monotonicMs() + timeoutMs;
  for (;;) {
    const waiting = db.read(() => waitingOf(db, intake.ranges));
    if (waiting === 0) {
      const problems = db.read(() => [...rejectedOf(db, intake.ranges), ...deadOf(db, intake.contentIds)]);
      const some = problems.slice(0, MAX_PROBLEMS);
      return { state: problems.length > 0 ? 'rejected' : 'done', waiting, problems: some };
    }
    const leftMs = endMs - clock.monotonicMs();
    if (leftMs <= 0) return { state: 'waiting', waiting, problems: [] };
    await sleep(Math.min(POLL_MS, leftMs));
  }
}

function waitingOf(db: ClearDatabase, ranges: readonly IdRange[]): number {
  return ranges.reduce((sum, { first, last }) => sum + db.queue.countBetween(first, last), 0);
}

function rejectedOf(db: ClearDatabase, ranges: readonly IdRange[]): string[] {
  return ranges.flatMap(({ first, last }) =>
    db.queue
      .rejections(first - 1, MAX_PROBLEMS + 1)
      .filter(({ id }) => id <= last)
      .map(({ contentId, error }) => `${contentId}: ${error}`),
  );
}

/** Pages that are given up on a rail, of requests with these ids. */
function deadOf(db: ClearDatabase, contentIds: ReadonlySet<string>): string[] {
  const problems: string[] = [];
  if (!db.backlog.counts().some(({ dead }) => dead > 0)) return problems;
  for (let after = { rail: '', url: '' }; problems.length <= MAX_PROBLEMS;) {
    const rows = db.backlog.list(after, PAGE_ROWS);
    for (const { rail, url, dead, contentId, lastError } of rows)
      if (dead === 1 && contentIds.has(contentId))
        problems.push(`${url}: given up on rail ${rail}: ${lastError}`);
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_ROWS) break;
    after = last;
  }
  return problems;
}
