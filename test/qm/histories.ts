/** Many random histories, one after the other, in this process. */
import fc from 'fast-check';
import { history } from './history.js';
import { Turns } from './life.js';
import { OneDatabase } from './one-database.js';
import { Pair } from './pair.js';

/** @throws the first history that goes wrong, shrunk unless told otherwise, with the seed and path that repeat it */
export async function runHistories(options: { seed: number; runs: number; shrink?: boolean }): Promise<void> {
  const database = new OneDatabase();
  const turns = new Turns();
  turns.install();
  try {
    await fc.assert(
      fc.asyncProperty(history, async ([setting, events]) => {
        turns.forget();
        const pair = new Pair(database, turns, setting);
        for (const event of events) await pair.run(event);
        await pair.drain();
      }),
      {
        seed: options.seed,
        numRuns: options.runs,
        endOnFailure: options.shrink === false,
      },
    );
  } finally {
    turns.restore();
    database.db.close();
  }
}
