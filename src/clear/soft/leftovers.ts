/** Leftovers of an earlier life of the daemon: names on rails, and entries of backlogs whose content is not
 * there any more. */
import type { BacklogRow } from '../../db/clear/backlog.js';
import type { ClearDatabase } from '../../db/clear/database.js';
import type { GeneratedPage } from '../../db/clear/soft.js';
import type { Clock } from '../../lib/clock.js';
import { isPutOn } from '../drivers/index.js';
import type { Commits } from '../rails/commits.js';
import type { Fleet } from '../rails/fleet.js';
import { countdown } from '../rails/tiers.js';
import type { PageBody } from '../rails/unit.js';
import type { Bodies } from './bodies.js';
import { removeNames, untold } from './put-and-remove.js';

/** Removes all names up to the last one of the earlier life from the rails, a thousand at a time. */
export function removeLeftNames(db: ClearDatabase, fleet: Fleet, commits: Commits): void {
  const untilMs = db.numbers.last('last_stamp');
  const next = (after: GeneratedPage | undefined): void => {
    const names = db.read(() => db.soft.generated(after, untilMs));
    const last = names.at(-1);
    if (last === undefined) return;
    const over = countdown(names.length, () => {
      commits.add(
        () => {
          for (const name of names) db.soft.forgetGenerated(name);
        },
        () => next(last),
      );
    });
    for (const { target, url, tsUrl } of names) removeNames(fleet.railsOf(target), url, [tsUrl], over);
  };
  next(undefined);
}

/** @returns what gives the body with which an entry of a backlog is replayed; undefined: the content is not
 * there any more, and the page is published again instead */
export function replayedBodies(
  db: ClearDatabase,
  bodies: Pick<Bodies, 'find'>,
  commits: Commits,
  clock: Clock,
): (row: BacklogRow) => PageBody | undefined {
  /** Entries whose pages are being published again. */
  const again = new Set<string>();
  const publishAgain = ({ rail, url, contentId, seq }: BacklogRow, target: string) => {
    const key = `${rail}\0${url}`;
    if (again.has(key)) return;
    again.add(key);
    commits.add(
      () => {
        if (db.backlog.settle(rail, url, seq) && db.targets.get(target) !== undefined)
          db.soft.publish({ url, target, contentId }, clock.nowMs());
      },
      () => again.delete(key),
    );
  };
  return row => {
    const { rail, bodySha, seq } = row;
    const setup = db.rails.get(rail);
    if (setup === undefined) return undefined;
    if (!isPutOn(setup)) return untold(seq);
    const bytes = bodySha === null || bodySha === '' ? undefined : bodies.find(bodySha);
    if (bodySha !== null && bytes !== undefined) return { bytes, sha: bodySha, seq };
    publishAgain(row, setup.target);
    return undefined;
  };
}
