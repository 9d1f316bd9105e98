import { MOST_BETWEEN_AUDITS_S, type SettledUrl } from '../../db/truth/audits.js';
import { isDoubted } from '../../db/truth/reader.js';
import { sampleSize } from '../../db/truth/sample-size.js';
import type { QueueStore } from '../../db/queue/store.js';
import type { WaitingSet } from '../../db/queue/sets.js';
import { lowerShare, upperShare } from '../../lib/binomial.js';
import type { Clock } from '../../lib/clock.js';
import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';
import { codeText, SILENT_CHANGE, SILENT_END } from '../../wire/codes.js';
import type { Chore } from '../housekeeping.js';

const EVERY_MS = 5000;
const DAY_S = 86_400;
/** Days until the next audit, by the share that may be silent at most. */
const NEXT_DAYS = [
  { upTo: 0.05, days: MOST_BETWEEN_AUDITS_S / DAY_S },
  { upTo: 0.2, days: 7 },
] as const;
const SOON_DAYS = 1;
/** With a larger share silent at least, all that its provider has is asked for. */
const MUCH = 0.2;
/** A provider whose score is too low is audited this many times as often as others. */
const RATE_OF_LIARS = 5;

export interface AuditsOptions {
  store: QueueStore;
  clock: Clock;
  log: Log;
  /** A set was made that may be fetched now. */
  onSet: (set: WaitingSet) => void;
}

/** Upkeep of audits: urls that are looked at twice, changes that nobody announced within the hour, and the
 * time of the next audit. */
export function audits({ store, clock, log, onSet }: AuditsOptions): Chore {
  return {
    run() {
      const nowS = Math.floor(clock.nowMs() / 1000);
      if (!store.audits.hasAny()) return EVERY_MS;
      const { settled, sets, over } = store.transaction(() => {
        const settled = store.audits.settle(nowS);
        for (const url of settled) tell(store, url);
        const rows = store.audits.toAskAgain(nowS).flatMap(({ id }) => store.content.row(id) ?? []);
        return { settled, sets: store.refetch.auditAgain(rows), over: endAudits(store, nowS) };
      });
      if (settled.length + sets.length + over.length > 0) step('qm.audit.settled');
      for (const set of sets) onSet(set);
      for (const audit of over) log.info('audit over', audit);
      return EVERY_MS;
    },
  };
}

function tell(store: QueueStore, { pid, curl, mimetype, isDead }: SettledUrl): void {
  const code = isDead === 1 ? SILENT_END : SILENT_CHANGE;
  store.errors.add(pid, { curl, mimetype }, code, codeText(code));
}

/** Plans the next audit of those whose sample is complete. */
function endAudits(store: QueueStore, nowS: number) {
  return store.audits.progress().flatMap(({ pid, held, settled, silent, failed, open }) => {
    const size = Math.min(sampleSize(held, silent), Math.max(0, held - failed));
    if (open > 0 || settled < size) return [];
    const [least, most] = [lowerShare(silent, settled), upperShare(silent, settled)];
    const days = NEXT_DAYS.find(({ upTo }) => most <= upTo)?.days ?? SOON_DAYS;
    store.audits.over(
      pid,
      nowS + Math.floor((days * DAY_S) / (store.scores(nowS, pid).some(isDoubted) ? RATE_OF_LIARS : 1)),
      silent,
    );
    if (least > MUCH) store.providers.wantFullSet('silent changes', pid);
    return [{ pid, settled, silent, least_percent: percent(least), most_percent: percent(most) }];
  });
}

function percent(share: number): number {
  return Math.round(share * 1000) / 10;
}
