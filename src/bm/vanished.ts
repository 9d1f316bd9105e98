/**
 * A worker vanished, a robot or, below a relay, a Bot Manager: what becomes of a request that it had.
 *
 *   recalled meanwhile         → answered with `recalled`
 *   `maxLosses` of them        → answered with code 605: it may be the request that ends them
 *   else                       → another worker goes on with it, in front of its lane; at a relay that has no
 *                                free slot it goes back to the source
 */
import type { FetchFailed, FetchResult } from '../wire/fetch.js';
import type { Distributor, Task } from './distribute.js';

/** A request, and how many vanished over it. */
interface Losable {
  losses: number;
  /** True if the worker was told to hand the task back if it has not begun. */
  recalled: boolean;
}

/**
 * The answer to a request whose worker vanished; undefined: another worker shall go on with it.
 * @param begun only what the worker can have begun may be to blame
 * @param what became of the workers, e.g. `robots ended`
 */
export function answerToVanished(
  task: Losable,
  begun: boolean,
  { id, maxLosses, what }: { id: number; maxLosses: number; what: string },
): FetchResult | undefined {
  if (task.recalled) return { id, status: 'recalled' };
  return mayGoOn(task, begun, maxLosses) ? undefined : tooManyLosses(id, task, what);
}

/** Counts a loss, or that it was handed back unasked. @returns whether another worker may go on with it */
export function mayGoOn(task: Pick<Losable, 'losses'>, begun: boolean, maxLosses: number): boolean {
  if (begun) task.losses++;
  return task.losses < maxLosses;
}

/** Takes out what no worker has a slot for now: another machine of the source may have one. */
export function* takeStranded<T extends Task>(
  distributor: Distributor<T>,
  lanes: readonly string[],
): Generator<T> {
  for (const lane of lanes) if (distributor.isStranded(lane)) yield* distributor.withdraw(() => true, lane);
}

function tooManyLosses(id: number, { losses }: Pick<Losable, 'losses'>, what: string): FetchFailed {
  return {
    id,
    status: 'error',
    code: 605,
    message: `${losses} ${what} while fetching this`,
    reach: 'url',
    wireBytes: 0,
    elapsedMs: 0,
  };
}
