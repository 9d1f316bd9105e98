/** All processes of an LCC, however they were started. */
import { readdirSync, readFileSync } from 'node:fs';
import { until } from './until.js';

/** Kills everything that runs on this home, as a machine that stops does, and waits until it is gone. */
export async function killAll(home: string): Promise<void> {
  const killed = new Set<number>();
  await until(`all that runs on ${home} is gone`, () => {
    const pids = processesOf(home);
    for (const pid of pids) killed.add(pid);
    if ([...killed].every(isGone)) return true;
    pids.forEach(pid => send(pid, 'SIGKILL'));
    return false;
  });
}

/** A signal to everything that runs on this home: SIGSTOP freezes a machine, SIGCONT wakes it. */
export function signalAll(home: string, signal: NodeJS.Signals): void {
  for (const pid of processesOf(home)) send(pid, signal);
}

/** Living processes with that home in their environment, but not this one. */
function processesOf(home: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter(pid => {
      try {
        return (
          pid > 0 && readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`LCC_HOME=${home}`)
        );
      } catch {
        // It has ended, or is another user's.
        return false;
      }
    });
}

/** One that ends loses its environment before it lets go of its files: those keep a disk from being read-only. */
function isGone(pid: number): boolean {
  try {
    if (readdirSync(`/proc/${pid}/task`).length > 1) return false;
    const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(/\) (?=[^)]*$)/);
    return /^[ZX]/.test(rest);
  } catch {
    return true;
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended by itself.
  }
}
