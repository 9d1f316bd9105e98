/** Programs that are started in a group of their own (`detached`), and end with all they have started. */

/** Kills the leader of a group, and whatever it has started. @param pid undefined: it was never started */
export function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}
