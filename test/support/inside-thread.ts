/** The thread of inside.ts: runs one command after the other, as a launcher would. */
import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { CommandSpec, Surroundings } from '../../src/commands/run.js';
import { systemClock } from '../../src/lib/clock.js';
import { RUNNING, type InsideRun } from './inside.js';

interface Bundle {
  command: CommandSpec;
  runCommand: (spec: CommandSpec, surroundings: Surroundings) => Promise<number>;
}

/** `EXIT.software`: an error that nobody has caught. */
const SOFTWARE = 70;

const state = workerData as Int32Array;
const load = createRequire(import.meta.url);
const ownEnv = { ...process.env };
let stderr = 2;
const ENDED = new Error('ended');

/** Only the first end of a run counts. */
function endAs(status: number): void {
  if (Atomics.compareExchange(state, 0, RUNNING, status) !== RUNNING) return;
  Atomics.notify(state, 0);
  parentPort?.postMessage('ended', []);
}

for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (error: unknown) => {
    // The end of a run is thrown, and met here when the next one may have begun.
    if (error === ENDED) return;
    writeSync(stderr, error instanceof Error ? (error.stack ?? error.message) : String(error));
    endAs(SOFTWARE);
  });

parentPort?.on('message', ({ bundle, launcher, args, env, ...io }: InsideRun) => {
  stderr = io.stderr;
  // Left by the run before.
  for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal);
  // For the programs that it runs.
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, ownEnv, env);
  const { command, runCommand } = load(bundle) as Bundle;
  void runCommand(command, {
    ...io,
    launcher,
    args: [...args],
    env,
    clock: systemClock,
    end: status => {
      endAs(status);
      throw ENDED;
    },
  }).then(endAs);
});
