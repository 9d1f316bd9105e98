/** A small daemon of its own kind (fixtures/echo-daemon.ts), as a process, on homes that go away. */
import { spawn, type StdioOptions } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Daemon } from '../support/daemon.js';
import { atEnd } from '../support/at-end.js';

const PROGRAM = fileURLToPath(new URL('../fixtures/echo-daemon.js', import.meta.url));
const homes: string[] = [];
const daemons: Daemon[] = [];
atEnd(async () => {
  for (const daemon of daemons) await daemon.stop('SIGKILL');
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

export function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'lcc-daemon-'));
  homes.push(home);
  return home;
}

/** @param stdio the third is read */
export function startEcho(
  home: string,
  endpoints: string[],
  env: NodeJS.ProcessEnv = {},
  stdio: StdioOptions = ['ignore', 'ignore', 'pipe'],
): Daemon {
  const child = spawn(process.execPath, [PROGRAM, ...endpoints], {
    stdio,
    env: { ...process.env, LCC_HOME: home, ...env },
  });
  const daemon = new Daemon('echo', child);
  daemons.push(daemon);
  return daemon;
}
