/** Pushes of a provider by each door, day by day: how many were sent and refused here, and what the looks at
 * them found, as the Queue Manager has counted. */
import type { PushedDay } from '../../db/rs/push.js';
import type { RsDatabase } from '../../db/rs/database.js';
import { MOST_REFUSALS } from '../../db/rs/push.js';
import { dateOf } from '../../db/truth/days.js';
import type { PushScores, ShownPushes } from '../../db/truth/pushes.js';
import type { PushDoor } from '../../wire/push.js';

/** Counts of a day in UTC and a door. */
export type PushRow = { day: string; door: PushDoor } & typeof NONE;

export type PushView = ReturnType<typeof pushView>;

/** Days that are shown; each has a row for each door. */
const DAYS_SHOWN = 30;
const ROWS = 3 * DAYS_SHOWN;
/** Urls, or pings, and how many of them were refused; looks, and those that found a change, none, or nothing
 * any more. */
const NONE = { sent: 0, refused: 0, fetched: 0, changed: 0, same: 0, gone: 0 };

/** @param provider the provider as the Queue Manager describes it; one of an earlier version leaves out both
 * fields */
export function pushView(
  { push }: Pick<RsDatabase, 'push'>,
  pid: number,
  provider: { push?: string; pushes?: ShownPushes } | undefined,
) {
  const { scores = {} as Partial<PushScores>, days: looks = [] } = provider?.pushes ?? {};
  return {
    /** Open doors. */
    doors: provider?.push ?? '',
    scores,
    /** The newest first. */
    days: pushRows(push.days(pid, ROWS), looks),
    refusals: push.refusals(pid, MOST_REFUSALS),
  };
}

function pushRows(sent: readonly PushedDay[], looks: ShownPushes['days']): PushRow[] {
  const rows = new Map<string, PushRow>();
  const rowOf = (day: string, door: PushDoor) => {
    const key = `${day} ${door}`;
    const row = rows.get(key) ?? { day, door, ...NONE };
    rows.set(key, row);
    return row;
  };
  for (const { day, door, ...counts } of sent) Object.assign(rowOf(dateOf(day), door), counts);
  for (const { day, door, ...counts } of looks) Object.assign(rowOf(day, door), counts);
  const order = ({ day, door }: PushRow) => `${day} ${door}`;
  return [...rows.values()].toSorted((a, b) => (order(a) < order(b) ? 1 : -1)).slice(0, ROWS);
}
