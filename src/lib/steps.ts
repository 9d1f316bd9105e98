/**
 * Durable steps: the named instants between which a crash could lose or repeat something.
 *
 * Code that makes data durable calls `step(name)` right after each step took effect (file synced, renamed,
 * directory synced, transaction committed, acknowledgement sent). In production that is one comparison. Tests
 * use it in two ways, through the environment so that it reaches the real processes:
 *
 * - `LCC_STEP_LOG=FILE` appends `pid name` for every step, so that a test can assert the order of steps
 *   (kill -9 cannot prove an fsync happened; the order of steps can).
 * - `LCC_CRASH_AT=NAME[:N]` kills this process with SIGKILL at the N-th (default first) passing of step
 *   NAME. With `LCC_CRASH_ONCE=FILE` only when FILE does not exist yet, and makes it: a daemon that is
 *   restarted with the same environment lives.
 *
 * A test that runs many lives of a stage in one process watches its steps with `onStep`.
 */
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { sleepSync } from './sleep-sync.js';

const logFile = process.env['LCC_STEP_LOG'];
const crashAt = parseCrash(process.env['LCC_CRASH_AT']);
const crashOnceFile = process.env['LCC_CRASH_ONCE'];
let watcher: ((name: string) => void) | undefined;
let active = logFile !== undefined || crashAt !== undefined;
let passings = 0;

/** Marks that durable step `name` has just taken effect. Names are dotted: `uns.spool.synced`. */
export function step(name: string): void {
  if (active) record(name);
}

/** Calls `watch` at every step of this process from now on, in place of an earlier one; what it throws,
 * `step` throws. */
export function onStep(watch: (name: string) => void): void {
  watcher = watch;
  active = true;
}

function record(name: string): void {
  if (logFile !== undefined) appendFileSync(logFile, `${process.pid} ${name}\n`);
  if (crashAt !== undefined && crashAt.name === name && ++passings === crashAt.nth) {
    if (crashOnceFile !== undefined) {
      if (existsSync(crashOnceFile)) return;
      writeFileSync(crashOnceFile, name);
    }
    process.kill(process.pid, 'SIGKILL');
    // The signal is delivered before this returns to JavaScript on Linux; wait for it all the same.
    sleepSync();
  }
  watcher?.(name);
}

function parseCrash(text: string | undefined): { name: string; nth: number } | undefined {
  if (text === undefined || text === '') return undefined;
  const [name = '', nth = '1'] = text.split(':');
  return { name, nth: Number(nth) };
}
