/**
 * Ports for servers of tests that are started later. A port is one process's until that ends: between the look and the start of
 * the server another test, in a process of its own, would find it free, too.
 */
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errnoOf } from '../../src/lib/errors.js';

/** A file for each port that is somebody's, with the number of the process. */
const CLAIMS = join(tmpdir(), 'lcc-test-ports');
/** Below the ephemeral range, so that no client socket sits on one later. */
const FIRST = 20_000;
const COUNT = 12_000;

const claimed = new Set<string>();
process.on('exit', () => {
  for (const path of claimed) rmSync(path, { force: true });
});

/** A port nobody listens on. */
export async function freePort(): Promise<number> {
  // Tests of any user are welcome.
  if (mkdirSync(CLAIMS, { recursive: true }) !== undefined) chmodSync(CLAIMS, 0o1777);
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (!claim(join(CLAIMS, String(port)))) continue;
    const free = await new Promise<boolean>(resolve => {
      const server = createServer();
      server.once('error', () => resolve(false));
      server.listen(port, () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
  throw new Error(`no free port between ${FIRST} and ${FIRST + COUNT}`);
}

function claim(path: string): boolean {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
    // Of one that was killed; whoever claims it next begins with nothing there.
    if (isDead(path)) rmSync(path, { force: true });
    return false;
  }
  claimed.add(path);
  return true;
}

function isDead(path: string): boolean {
  try {
    process.kill(Number(readFileSync(path, 'utf8')), 0);
    return false;
  } catch (error) {
    return errnoOf(error) === 'ESRCH';
  }
}
