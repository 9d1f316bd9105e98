/**
 * Workers that vanish over one request, one after the other: robots, to a relay Bot Managers. After `bm.max_losses` of them
 * it may be the request that ends them, and it is answered with code 605.
 */
import type { FetchFailed } from '../wire/fetch.js';

/** A request, and how many vanished over it. */
export interface Losable {
  losses: number;
}

/**
 * Counts a loss.
 * @param begun only what the worker can have begun may be to blame
 * @returns whether another worker may go on with it
 */
export function mayGoOn(task: Losable, begun: boolean, maxLosses: number): boolean {
  if (begun) task.losses++;
  return task.losses < maxLosses;
}

/** The answer when none may. @param what became of the workers, e.g. `robots ended` */
export function tooManyLosses(id: number, { losses }: Losable, what: string): FetchFailed {
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
