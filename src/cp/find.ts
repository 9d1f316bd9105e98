/** find(1) as a source of names: the user's arguments, made to print every name with a NUL after it. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { LccError } from '../lib/errors.js';

/** Actions that print something other than names, which nobody downstream could tell from names. */
const PRINTS_OTHER = new Set(['-printf', '-ls', '-ok', '-okdir']);
/** With one of these find does not print by itself. */
const ACTIONS = new Set(['-exec', '-execdir', '-delete', '-fprint', '-fprint0', '-fprintf', '-fls']);

/**
 * The arguments to run find with: `-print` becomes `-print0`; where nothing is printed yet the whole expression is put
 * in parentheses, as find itself does for its default, and `-print0` follows it.
 * @throws LccError `usage` for an action that prints something else
 */
export function findArguments(given: readonly string[]): string[] {
  const other = given.find(word => PRINTS_OTHER.has(word));
  if (other !== undefined)
    throw new LccError('usage', `--find: ${other} does not print names; use -print, -print0 or no action`);
  if (given.some(word => word === '-print' || word === '-print0'))
    return given.map(word => (word === '-print' ? '-print0' : word));
  if (given.some(word => ACTIONS.has(word))) return [...given];
  const start = expressionStart(given);
  const expression = given.slice(start);
  return [...given.slice(0, start), ...(expression.length > 0 ? ['(', ...expression, ')'] : []), '-print0'];
}

/** Index of the first word that is neither an option for all (-H -L -P -D x -O3) nor a starting point. */
function expressionStart(words: readonly string[]): number {
  let index = 0;
  while (index < words.length) {
    const word = words[index]!;
    if (word === '-D') index += 2;
    else if (/^-(?:[HLP]|O\d*)$/.test(word) || !/^[-(!,)]/.test(word)) index += 1;
    else break;
  }
  return Math.min(index, words.length);
}

/**
 * Runs find and hands over its output chunk by chunk.
 * @throws LccError `io` when find could not be run, or ended with another status than 0: its list is not whole then
 */
export async function runFind(given: readonly string[], onChunk: (chunk: Buffer) => void): Promise<void> {
  const child = spawn('find', findArguments(given), { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<string | undefined>(resolve => {
    child.once('error', error => resolve(`cannot run find(1): ${error.message}`));
    child.once('close', (status, signal) => resolve(endText(status, signal)));
  });
  try {
    for await (const chunk of child.stdout) onChunk(chunk as Buffer);
  } catch (error) {
    child.kill();
    throw error;
  }
  const problem = await ended;
  if (problem !== undefined) throw new LccError('io', problem);
}

function endText(status: number | null, signal: NodeJS.Signals | null): string | undefined {
  if (status === 0) return undefined;
  const how =
    signal === null ? `with status ${status}` : `by signal ${constants.signals[signal]} (${signal})`;
  return `find ended ${how}: the list of files is not whole`;
}
