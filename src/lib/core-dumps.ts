/** Contents of the core that the kernel writes of a process which ends by a signal. */
import { writeFileSync } from 'node:fs';

/** No memory of any kind, see core(5). */
const NOTHING = '0';

/** From now on a core of this process has no memory, and so nothing that is secret. Where the kernel has no
 * such filter, nothing changes. */
export function keepMemoryOutOfCores(): void {
  try {
    writeFileSync('/proc/self/coredump_filter', NOTHING);
  } catch {
    // Not Linux, or a /proc that is not there: cores are as the system has them.
  }
}
