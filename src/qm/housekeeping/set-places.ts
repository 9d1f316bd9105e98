import type { Db } from '../../db/sqlite/open.js';
import { lookAtPlaces } from '../../db/queue/place-checks.js';
import { askToRetell, isRetoldFor, retellReason, retellSets } from '../../db/queue/sets-from-urls.js';
import { LccError } from '../../lib/errors.js';
import type { Log } from '../../lib/log.js';
import type { Chore } from '../housekeeping.js';

/** Pages looked at before anything is fetched: 10 000 sets, some 50 ms. */
const START_PAGES = 10;
/** From one page to the next; a million sets take ten minutes. */
const PAGE_PAUSE_MS = 500;
const ROUND_PAUSE_MS = 3_600_000;

export interface SetPlacesOptions {
  db: Db;
  log: Log;
  /** Ends the Queue Manager. */
  fail: (error: unknown) => void;
  startPages?: number;
}

/**
 * Checks whether the sets of the queue (qpsdb) agree with its urls: the first of them at the start, where the
 * sets are derived again when they do not, the others afterwards, round after round. A disagreement found
 * then is noted, and ends the Queue Manager: its memory is about the sets as they were. The next start
 * derives the sets again, once for the same reason.
 */
export class SetPlaces implements Chore {
  readonly #options: SetPlacesOptions;
  #round: ReturnType<typeof lookAtPlaces> | undefined;
  #told: string | undefined;

  constructor(options: SetPlacesOptions) {
    this.#options = options;
  }

  /** Before anything is fetched. */
  begin(): void {
    const { db, log, startPages = START_PAGES } = this.#options;
    const reason = retellReason(db) ?? this.#firstWrong(startPages);
    if (reason === undefined) return;
    const sets = db.transaction(() => retellSets(db, reason)).immediate();
    log.warn('sets of the queue: built again from its urls', { reason, sets });
  }

  run(): number {
    this.#round ??= lookAtPlaces(this.#options.db);
    const { done, value: reason } = this.#round.next();
    if (done !== true && reason === undefined) return PAGE_PAUSE_MS;
    this.#round = undefined;
    if (reason !== undefined) this.#found(reason);
    return ROUND_PAUSE_MS;
  }

  #firstWrong(pages: number): string | undefined {
    const round = lookAtPlaces(this.#options.db);
    for (let page = 0; page < pages; page++) {
      const { value: reason, done } = round.next();
      if (done === true) return undefined;
      if (reason !== undefined) return reason;
    }
    this.#round = round;
    return undefined;
  }

  #found(reason: string): void {
    const { db, log, fail } = this.#options;
    if (isRetoldFor(db, reason)) {
      if (this.#told !== reason)
        log.error('sets of the queue: disagree with its urls; stop lccd and run lccfsck --repair', {
          reason,
        });
      this.#told = reason;
      return;
    }
    db.transaction(() => askToRetell(db, reason)).immediate();
    fail(
      new LccError(
        'data.malformed',
        `the sets of the queue do not agree with its urls (${reason}); restarting to build them again`,
      ),
    );
  }
}
