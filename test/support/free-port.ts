/**
 * Ports for servers of tests that are started later. A port is one process's until that ends: between the look and the start of
 * the server another test, in a process of its own, would find it free, too.
 */
import { chmodSync, mkdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errnoOf } from '../../src/lib/errors.js';
import { isRunning, ownMark } from '../../src/lib/process-mark.js';

/** A link for each port that is somebody's, to the mark of the process: in the folder that test processes do not have for themselves. */
const CLAIMS = join(process.env['LCC_TEST_SHARED'] ?? tmpdir(), 'lcc-test-ports');
/** Below the ephemeral range, so that no client socket sits on one later. */
const FIRST = 20_000;
const COUNT = 12_000;

const claimed = new Set<string>();
process.on('exit', () => {
  for (const path of claimed) rmSync(path, { force: true });
});

/** A port nobody listens on. */
export function freePort(): Promise<number> {
  return freePorts(1);
}

/** Ports one after the other that nobody listens on. @returns the first */
export async function freePorts(count: number): Promise<number> {
  // Tests of any user are welcome.
  if (mkdirSync(CLAIMS, { recursive: true }) !== undefined) chmodSync(CLAIMS, 0o1777);
  for (let attempt = 0; attempt < 100; attempt++) {
    const first = FIRST + Math.floor(Math.random() * (COUNT - count));
    let found = 0;
    while (found < count && claim(join(CLAIMS, String(first + found))) && (await isFree(first + found)))
      found++;
    if (found === count) return first;
  }
  throw new Error(`no free port between ${FIRST} and ${FIRST + COUNT}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise<boolean>(resolve => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, () => server.close(() => resolve(true)));
  });
}

function claim(path: string): boolean {
  try {
    // A link has what it says from the moment it is there.
    symlinkSync(ownMark(), path);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
    dropIfKilled(path);
    return false;
  }
  claimed.add(path);
  return true;
}

/** Of a process that was killed; the next process that claims it finds nothing there. */
function dropIfKilled(path: string): void {
  try {
    if (!isRunning(readlinkSync(path))) rmSync(path, { force: true });
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}
