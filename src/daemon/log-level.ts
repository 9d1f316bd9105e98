/** Level of a daemon's log: all but details; -q leaves errors only, -v adds the details. */
import type { Level } from '../lib/log.js';

export function logLevelOf({ quiet, verbose }: { quiet: boolean; verbose: boolean }): Level {
  if (quiet) return 'error';
  return verbose ? 'debug' : 'info';
}
