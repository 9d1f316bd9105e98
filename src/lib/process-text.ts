/** Processes in messages, and what they have open. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** With the name of its program, or of the script that runs: `lccd-qm (process 4711)`. */
export function processText(pid: string): string {
  const [program = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  const script = /(^|\/)node(js)?$/.test(program) ? args.find(arg => !arg.startsWith('-')) : undefined;
  const name = basename(script ?? program);
  return name === '' ? `process ${pid}` : `${name} (process ${pid})`;
}

/** True if it has something open: a path, or `socket:[INODE]`. One of another user does not tell. */
export function hasOpen(pid: string, isIt: (target: string) => boolean): boolean {
  const dir = `/proc/${pid}/fd`;
  try {
    return readdirSync(dir).some(fd => {
      try {
        return isIt(readlinkSync(`${dir}/${fd}`));
      } catch {
        return false; // closed meanwhile
      }
    });
  } catch {
    return false;
  }
}
