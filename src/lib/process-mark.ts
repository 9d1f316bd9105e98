/** A mark of a process that differs from that of every other, also of a later one with its number: the
 * number, and when it began. */
import { readFileSync } from 'node:fs';
import { errnoOf } from './errors.js';

const MARK = /^(\d+)-(\d+)$/;
/** The field of /proc/PID/stat, counted from the one after the name, that has the beginning in clock ticks
 * since boot. */
const BEGINNING = 19;

export function ownMark(): string {
  return `${process.pid}-${beginningOf(process.pid) ?? 0}`;
}

/** True if the process of a mark made on this machine still runs; yes where that cannot be known. */
export function isRunning(mark: string): boolean {
  const [, pid = '0', beginning] = MARK.exec(mark) ?? [];
  const now = beginningOf(Number(pid));
  return now === undefined ? answers(Number(pid)) : String(now) === beginning;
}

function beginningOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name of the program may hold anything, blanks and brackets too.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[BEGINNING]);
  } catch {
    return undefined;
  }
}

function answers(pid: number): boolean {
  if (pid === 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) !== 'ESRCH';
  }
}
