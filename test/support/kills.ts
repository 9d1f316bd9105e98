/** Kills at durable steps (`src/lib/steps.ts`): one process dies of SIGKILL when it has passed a step, once. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd } from './at-end.js';

/** Variables of the processes of which one is to die; those that are started with them afterwards live. */
export type KillEnv = Record<string, string>;

const folders: string[] = [];
atEnd(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** @param step as LCC_CRASH_AT has it, `name` or `name:n` @returns the variables, and whether it has happened */
export function killAt(step: string): { env: KillEnv; happened: () => boolean } {
  const folder = mkdtempSync(join(tmpdir(), 'lcc-kill-'));
  folders.push(folder);
  const mark = join(folder, 'crashed');
  return { env: { LCC_CRASH_AT: step, LCC_CRASH_ONCE: mark }, happened: () => existsSync(mark) };
}

/**
 * Lives a life undisturbed, and once for each step with a kill there; what is left must be the same.
 * @param live starts what dies again, and repeats what was not answered, as its peers do
 * @param same compares in another way than by deepEqual
 * @returns what the undisturbed life has left
 */
export async function leavesTheSame<T>(
  steps: readonly string[],
  live: (env: KillEnv) => Promise<T>,
  same: (disturbed: T, undisturbed: T, step: string) => void = (disturbed, undisturbed, step) =>
    assert.deepEqual(disturbed, undisturbed, `killed at ${step}`),
): Promise<T> {
  const undisturbed = await live({});
  for (const step of steps) same(await lifeWithKill(step, live), undisturbed, step);
  return undisturbed;
}

/** One life with a kill. @throws AssertionError where the step is never passed */
export async function lifeWithKill<T>(step: string, live: (env: KillEnv) => Promise<T>): Promise<T> {
  const { env, happened } = killAt(step);
  const left = await live(env);
  assert.ok(happened(), `${step} is never passed`);
  return left;
}
