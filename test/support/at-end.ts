/**
 * What a module for several test files leaves behind is removed when the process is over, not with the first of those files that
 * share it (scripts/test-together.mjs): a hook of the module would be of the file that happens to load it.
 */
import { after } from 'node:test';

const actions: (() => unknown)[] = [];
let isTakenOver = false;

/** Has an action done at the end, those that were given last first. */
export function atEnd(action: () => unknown): void {
  if (!isTakenOver && actions.length === 0) after(runAll);
  actions.push(action);
}

/** For a process of several files. @returns what it has to call at its end */
export function takeOver(): () => Promise<void> {
  isTakenOver = true;
  return runAll;
}

async function runAll(): Promise<void> {
  for (let action; (action = actions.pop()) !== undefined;) await action();
}
