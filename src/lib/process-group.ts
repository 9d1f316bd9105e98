/** Programs that end with all they have started, a group of their own (`detached`), and their output. */
import type { Readable } from 'node:stream';
import type { Clock } from './clock.js';

/** After the end of a program, until its output must be here. */
const LEFT_BEHIND_MS = 1000;

/** Kills the leader of a group, and whatever it has started. @param pid undefined: it was never started */
export function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}

/**
 * Closes the output of a program that has ended, a second later: another one that it has left behind may hold
 * the other end for ever.
 */
export function closeOutput(output: Readable | null, clock: Pick<Clock, 'after'>, closed = () => {}): void {
  clock.after(LEFT_BEHIND_MS, () =>
    // This process may have stood still for that second: a whole turn of the event loop reads what is there.
    setImmediate(() =>
      setImmediate(() => {
        output?.destroy();
        closed();
      }),
    ),
  );
}
