/** Who listens at a port of this machine, as far as /proc tells: of another user's processes root alone. */
import { readdirSync, readFileSync } from 'node:fs';
import { hasOpen, processText } from './process-text.js';

/** State of a TCP socket that listens. */
const LISTENING = '0A';

/** The words on a port that is taken. */
export function inUse(port: number): string {
  return `address in use by ${holderOfPort(port)}; stop that one, or listen at another`;
}

/** The process that listens, for a message; `another process` where that cannot be known, or where there are
 * several. */
function holderOfPort(port: number): string {
  try {
    const sockets = ['tcp', 'tcp6'].flatMap(kind => listenersAt(kind, port));
    const pids = readdirSync('/proc').filter(
      pid => /^\d+$/.test(pid) && hasOpen(pid, target => sockets.includes(target)),
    );
    if (pids.length === 1) return processText(pids[0]!);
  } catch {
    // Not to be found out here.
  }
  return 'another process';
}

/** Sockets as the descriptors of a process name them. */
function listenersAt(kind: string, port: number): string[] {
  const ending = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync(`/proc/net/${kind}`, 'latin1')
    .split('\n')
    .map(line => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(ending) === true && state === LISTENING)
    .map(fields => `socket:[${fields[9]}]`);
}
