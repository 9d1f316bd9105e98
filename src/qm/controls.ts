/** The operator's hand on the Queue Manager: controls of its control socket, which lccctl(8) speaks to. */
import type { QueueStore } from '../db/queue/store.js';
import type { Kept } from '../daemon/kept.js';
import type { Control } from '../daemon/types.js';
import type { Clock } from '../lib/clock.js';
import { LccError } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import type { Dispatcher } from './dispatch.js';
import { hostOf } from './hosts-of.js';

/** Answer to a control. */
export interface Controlled {
  /** Providers it was about. */
  providers: number;
  /** Those of them for which it changed something. */
  changed: number;
  /** Until when the bandwidth of the whole LCC keeps the provider waiting all the same, milliseconds since
   * 1970. */
  lcc_until_ms?: number;
  /** Those that it was said of and did not reach, for they are moved to another home. */
  moving?: readonly number[];
}

/** Providers in an answer to `fetching`, `failures` and `retrying`. */
const MAX_FETCHING = 1000;

/** `fetching`, `failures`, `retrying`, `waiting`; `pause`, `resume`, `flush`, `want-full`, `release`,
 * `discard`, each with an optional pid: without one, all. */
export function controlsOf(
  store: QueueStore,
  dispatcher: Pick<
    Dispatcher,
    'fetching' | 'failures' | 'retrying' | 'waiting' | 'delayed' | 'wholeDueAtMs' | 'reload' | 'forgetDelays'
  >,
  log: Log,
  clock: Pick<Clock, 'nowMs'>,
  kept: Kept,
): Record<string, Control> {
  const control = (
    verb: string,
    change: (pid: number | undefined) => number,
    then: (pid: number | undefined) => void = pid => dispatcher.reload(pid),
    demand: (pid: number) => void = () => undefined,
  ): Record<string, Control> => ({
    [verb]: (operands): Controlled | Promise<Controlled> => {
      const pid = pidOf(operands);
      if (pid !== undefined) {
        if (store.providers.count(pid) === 0)
          throw new LccError('usage', `no provider ${pid}; see lccpidb list`);
        store.moving.requireStaying(pid);
        demand(pid);
      }
      const moving = pid === undefined ? store.moving.all() : [];
      const pids = moving.length === 0 ? [pid] : store.moving.staying();
      const providers = moving.length === 0 ? store.providers.count(pid) : pids.length;
      const changed = changing(() =>
        store.transaction(() => pids.reduce<number>((sum, one) => sum + change(one), 0)),
      );
      log.info('operator command', { control: verb, pid, providers, changed });
      then(pid);
      const lccUntilMs = verb === 'flush' ? dispatcher.wholeDueAtMs : null;
      const done = {
        providers,
        changed,
        ...(lccUntilMs === null ? undefined : { lcc_until_ms: lccUntilMs }),
        ...(moving.length === 0 ? undefined : { moving }),
      };
      // safeguard: the answer of a control waiting for the engine
      return kept.isKept ? kept.shipped('lcc').then(() => done) : done;
    },
  });
  const { providers, held } = store;
  return {
    fetching: () => dispatcher.fetching(MAX_FETCHING),
    failures: () => dispatcher.failures(MAX_FETCHING),
    retrying: () => dispatcher.retrying(MAX_FETCHING),
    waiting: () => dispatcher.waiting(MAX_FETCHING),
    ...control('pause', pid => providers.setPaused(true, pid)),
    ...control('resume', pid => providers.setPaused(false, pid)),
    ...control(
      'want-full',
      pid => providers.wantFullSet('operator', pid),
      undefined,
      pid => {
        if (!providers.hasPassword(pid))
          throw new LccError(
            'usage',
            `provider ${pid} has no password, and so nobody who sends a full set: give the seeds of its crawl again (lcclinks --seeds)`,
          );
      },
    ),
    ...control(
      'flush',
      pid => {
        const origins = pid === undefined ? undefined : providers.roots(pid).map(hostOf);
        store.robots.expire(Math.floor(clock.nowMs() / 1000), origins);
        const known = store.flushKnown(pid);
        // Not all of them are written.
        return new Set([...dispatcher.delayed(pid), ...providers.forgetDelays(pid), ...known]).size;
      },
      pid => dispatcher.forgetDelays(pid),
    ),
    ...control('release', pid => held.release(pid)),
    ...control('discard', pid => held.discard(pid)),
  };
}

/** @throws LccError `io.full` that says what to do */
function changing(change: () => number): number {
  try {
    return change();
  } catch (error) {
    if (!(error instanceof LccError) || error.code !== 'io.full') throw error;
    const what = `${error.message}: nothing is changed; free some room on that disk and say it again`;
    throw new LccError('io.full', what, { cause: error });
  }
}

function pidOf(operands: readonly string[]): number | undefined {
  const [text, ...more] = operands;
  if (text === undefined) return undefined;
  const pid = Number(text);
  if (!Number.isSafeInteger(pid) || pid <= 0 || more.length > 0)
    throw new LccError('usage', `"${operands.join(' ')}": give one provider's number, or none for all`);
  return pid;
}
