/** Counts of what pushes were worth, by provider, day and door (table pushday), and the score of each door:
 * what strangers say by one costs the others nothing. They are apart from what an owner's announcements are
 * worth (docs/design/push.md). */
import type { Db } from '../sqlite/open.js';
import { DailyStore, dateOf, dayOf } from './days.js';

/** Door that a push came by: IndexNow, or a feed. */
export type PushedBy = 'indexnow' | 'feed';

/** Outcome of a look: what is held had changed, or is new; had not; is gone; a url is not to be had that is
 * not held either; `busy` says nothing. */
export type PushLook = 'changed' | 'same' | 'gone' | 'failed' | 'busy';

const COUNTED = ['fetched', 'changed', 'same', 'gone', 'failed'] as const;

export type PushCounts = Record<(typeof COUNTED)[number], number>;

/** `day` is of those since 1970. */
export type PushDay = PushCounts & { pid: number; day: number; door: PushedBy };

/** Looks of which a score is made at least, and the days that they may be of. */
const LEAST_LOOKS = 100;
const MOST_DAYS = 30;
/** Below this a provider's pushes by the door wait, and are few. */
const LOW_SCORE = 50;

/** Worth of the pushes of a provider by a door: 0 to 100, the share of those looks that found what was pushed
 * changed, new or gone; null: there are too few. */
export interface PushScore {
  score: number | null;
  slow: boolean;
}

export type PushScores = Record<PushedBy, PushScore>;

/** The view of a provider on its pushes. */
export interface ShownPushes {
  scores: PushScores;
  /** The days with any, the newest first. */
  days: ({ day: string; door: PushedBy } & Omit<PushCounts, 'failed'>)[];
}

export class PushDays extends DailyStore<{ pid: number; day: number; door: PushedBy }, keyof PushCounts> {
  readonly #select = this.sql.rows<[pid: number, day: number], PushDay>(
    `SELECT pid, day, door, ${COUNTED.join(', ')} FROM pushday WHERE pid = ? AND day > ? ORDER BY day DESC, door DESC`,
  );

  constructor(db: Db) {
    super(db, 'pushday', ['pid', 'day', 'door'], COUNTED);
  }

  /** Counts one. Inside a transaction. */
  count(pid: number, door: PushedBy, look: PushLook, nowS: number): void {
    this.add({ pid, day: dayOf(nowS), door }, look === 'busy' ? ['fetched'] : ['fetched', look]);
  }

  /** Worth of a provider's pushes. */
  of(pid: number, nowS: number): ShownPushes {
    const all = this.#select(pid, dayOf(nowS) - MOST_DAYS);
    const scores = { indexnow: scoreOf(all, 'indexnow'), feed: scoreOf(all, 'feed') };
    const days = all.map(({ pid: _pid, day, failed: _failed, ...rest }) => ({ day: dateOf(day), ...rest }));
    return { scores, days };
  }

  /** True if its pushes by a door wait. */
  isSlow(pid: number, door: PushedBy, nowS: number): boolean {
    return scoreOf(this.#select(pid, dayOf(nowS) - MOST_DAYS), door).slow;
  }
}

/** The score of the last days that have enough looks together. */
function scoreOf(days: readonly PushDay[], by: PushedBy): PushScore {
  let [looks, right] = [0, 0];
  for (const { door, changed, same, gone, failed } of days) {
    if (door !== by) continue;
    looks += changed + same + gone + failed;
    right += changed + gone;
    if (looks >= LEAST_LOOKS) break;
  }
  const score = looks < LEAST_LOOKS ? null : Math.round((100 * right) / looks);
  return { score, slow: score !== null && score < LOW_SCORE };
}

/** `indexnow 12 of 100, slow; feed 98 of 100` */
export function scoresText(scores: Partial<PushScores>): string {
  const known = Object.entries(scores).flatMap(([door, { score, slow }]) =>
    score === null ? [] : `${door} ${score} of 100${slow ? ', slow' : ''}`,
  );
  return known.length === 0 ? 'too few for a score' : known.join('; ');
}
