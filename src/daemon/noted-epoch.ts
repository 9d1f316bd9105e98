/** The epoch in which a machine last served a kept home, in a file beside what is this machine's own. */
import { writeFileDurably } from '../lib/durable.js';
import { readIfThere } from '../lib/read-if-there.js';

/** True if another machine may have had the home since. @param unknown what holds where nothing is noted */
export function wasElsewhere(file: string, epoch: number, unknown: boolean): boolean {
  const noted = readIfThere(file)?.trim();
  return noted === undefined ? unknown : noted !== String(epoch);
}

/** To be called when all that follows from it is done. */
export function noteEpoch(file: string, epoch: number): void {
  if (wasElsewhere(file, epoch, true)) writeFileDurably(file, `${epoch}\n`);
}
