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
  const pids = processesOf(home);
  for (const pid of pids) send(pid, signal);
  if (signal === 'SIGSTOP') pids.forEach(requireStopped);
}

const STOP_MS = 10_000;

/** Returns when SIGSTOP has come to each thread: one takes the signal, and others may answer until it has. */
export function requireStopped(pid: number): void {
  const endMs = performance.now() + STOP_MS;
  while (!isStopped(pid)) {
    if (performance.now() > endMs) throw new Error(`process ${pid} is not stopped within ${STOP_MS} ms`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  }
}

function isStopped(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every(tid => /^[TZX]/.test(stateIn(`/proc/${pid}/task/${tid}`)));
  } catch {
    // A thread, or the process, has ended meanwhile.
    return isGone(pid);
  }
}

/** Of a process or a thread: its state and all that follows it. */
function stateIn(folder: string): string {
  const [, rest = ''] = readFileSync(`${folder}/stat`, 'latin1').split(/\) (?=[^)]*$)/);
  return rest;
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
    return /^[ZX]/.test(stateIn(`/proc/${pid}`));
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
