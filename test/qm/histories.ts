/** Many random histories, one after the other, in this process. */
import fc from 'fast-check';
import { history, type Event, type Setting } from './history.js';
import { Turns } from './life.js';
import { OneDatabase } from './one-database.js';
import { Pair } from './pair.js';

/** One history. @throws what goes wrong in it */
export async function runHistory(setting: Setting, events: readonly Event[]): Promise<void> {
  await inOneProcess(async lead => lead(setting, events));
}

/** @throws the first history that goes wrong, shrunk unless told otherwise, with the seed and path that repeat it */
export async function runHistories(options: { seed: number; runs: number; shrink?: boolean }): Promise<void> {
  await inOneProcess(lead =>
    fc.assert(
      fc.asyncProperty(history, ([setting, events]) => lead(setting, events)),
      { seed: options.seed, numRuns: options.runs, endOnFailure: options.shrink === false },
    ),
  );
}

type Lead = (setting: Setting, events: readonly Event[]) => Promise<void>;

async function inOneProcess(work: (lead: Lead) => Promise<void>): Promise<void> {
  const database = new OneDatabase();
  const turns = new Turns();
  turns.install();
  try {
    await work(async (setting, events) => {
      turns.forget();
      const pair = new Pair(database, turns, setting);
      for (const event of events) await pair.run(event);
      await pair.drain();
    });
  } finally {
    turns.restore();
    database.db.close();
  }
}
