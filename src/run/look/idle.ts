/** The state of rest of an LCC, from the statuses of its daemons. */
import { figureOf } from '../../daemon/figures.js';
import type { Clock } from '../../lib/clock.js';
import { EXIT, type ExitStatus } from '../../lib/errors.js';
import type { Look } from '../../daemon/ask.js';

/** Time between two looks. */
const PAUSE_MS = 100;
/** An LCC that has just been started gets that long to answer for the first time. */
const FIRST_ANSWER_MS = 5000;
/** A daemon that works answers within this, also when the time is up. */
const LAST_LOOK_MS = 1000;
/** A user that waits this long wants to know what for. */
const LONG_MS = 10_000;
/** The one that knows what is queued: without it nobody can say that nothing is. */
const KNOWS_THE_QUEUE = 'lccd-qm';

/** All that left a socket answer, the QM among them, and say that they have nothing to do. */
function isIdle(looks: readonly Look[]): boolean {
  return looks.some(look => look.name === KNOWS_THE_QUEUE) && isAtRest(looks);
}

/**
 * The same after the queue was read: urls that the QM did not have when it said that it is idle have come
 * since.
 * @param urls that were found waiting
 */
export function isIdleWith(looks: readonly Look[], urls: number): boolean {
  const qm = looks.find(look => look.name === KNOWS_THE_QUEUE);
  const known = qm !== undefined && 'status' in qm ? figureOf(qm.status, 'rows_queued') : 0;
  return isIdle(looks) && urls <= known;
}

/** All that left a socket answer and say that they have nothing to do; what is queued elsewhere they cannot
 * know. */
function isAtRest(looks: readonly Look[]): boolean {
  return looks.every(look => 'status' in look && look.status.idle);
}

/**
 * State of an LCC in a word; nobody can give it for one that fetches nothing for want of its Queue Manager.
 * @param urls that were found waiting
 * @param isOutpost its Queue Manager is on another machine
 */
export function wordFor(
  looks: readonly Look[],
  urls: number,
  isOutpost: boolean,
): 'idle' | 'busy' | 'no Queue Manager' | 'not running' {
  if (!looks.some(look => 'status' in look)) return 'not running';
  if (!isOutpost && !looks.some(look => look.name === KNOWS_THE_QUEUE)) return 'no Queue Manager';
  return (isOutpost ? isAtRest(looks) : isIdleWith(looks, urls)) ? 'idle' : 'busy';
}

/**
 * Waits until the LCC is idle in two consecutive looks by the same processes: what arrived between two
 * daemons during the first look is seen by the second.
 * @param look asks all daemons, which takes `totalMs` at most
 * @param limitMs Infinity: as long as it takes
 * @param isLong told what was seen, every ten seconds that it takes
 * @param taken the last change, where a consumer that may give the LCC work has taken all up to it: asked
 * after each look that found it idle, and the same at both; undefined: the consumer has not taken all
 * @returns `ok`; `tempfail` when the time is up; `unavailable` when no daemon answers at all
 */
export async function untilIdle(
  look: (totalMs: number) => Promise<readonly Look[]>,
  clock: Clock,
  limitMs: number,
  isLong: (looks: readonly Look[]) => void = () => undefined,
  taken: () => number | undefined = () => 0,
): Promise<ExitStatus> {
  const startMs = clock.monotonicMs();
  let everAnswered = false;
  let before = '';
  let longMs = LONG_MS;
  for (;;) {
    const looks = await look(Math.max(LAST_LOOK_MS, startMs + limitMs - clock.monotonicMs()));
    everAnswered ||= looks.some(one => 'status' in one);
    const idle = isIdle(looks);
    const change = idle ? taken() : undefined;
    const state = `${looks.map(one => ('status' in one ? one.status.pid : 0)).join(' ')} ${change}`;
    if (change !== undefined && state === before) return EXIT.ok;
    const isFirstSight = change !== undefined && before === '';
    before = change === undefined ? '' : state;
    const waitedMs = clock.monotonicMs() - startMs;
    if (!everAnswered && waitedMs >= Math.min(FIRST_ANSWER_MS, limitMs)) return EXIT.unavailable;
    // An LCC that is idle as the time ends is looked at once more.
    if (waitedMs >= limitMs && !isFirstSight) return EXIT.tempfail;
    if (waitedMs >= longMs) {
      longMs += LONG_MS;
      isLong(looks);
    }
    await new Promise<void>(resolve => clock.after(PAUSE_MS, resolve));
  }
}
