/**
 * find(1) as a source of names: the user's arguments, made to print every name with a NUL after it; with what
 * it knows of the file in front, where it can. Measured with 100 k files: find looks at a file while we
 * describe the one before, on another processor, where stat(2) of our own was two thirds of all our work.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { basename, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { LccError } from '../lib/errors.js';
import type { FileFacts } from './read-file.js';

/** Actions that print something other than names, which nobody downstream could tell from names. */
const PRINTS_OTHER = new Set(['-printf', '-ls', '-ok', '-okdir']);
/** With one of these find does not print by itself. */
const ACTIONS = new Set(['-exec', '-execdir', '-fprint', '-fprint0', '-fprintf', '-fls']);
/** Options by which programs write to where find prints its names. */
const RUNS_OTHERS = new Set(['-exec', '-execdir']);

/** Type, bytes, time of modification, name. */
const FACTS_FORMAT = '%y %s %T@ %p\\0';

export interface FindPlan {
  /** The arguments to run find with, as bytes (latin1). */
  words: string[];
  /** True if it runs programs, whose output would stand among the names. */
  runsOthers: boolean;
  /** Output of find: bare names, or what `factsOf` reads. */
  prints: 'names' | 'facts';
}

/**
 * `-print` becomes the action we need; where nothing is printed yet the whole expression is put in
 * parentheses, as find itself does for its default, and the action follows it.
 * @param given as bytes (latin1)
 * @throws LccError `usage` for actions that print something else, or nothing, and for one that removes the
 * files
 */
export function planFind(given: readonly string[], prints: FindPlan['prints']): FindPlan {
  const other = given.find(word => PRINTS_OTHER.has(word));
  if (other !== undefined)
    throw new LccError('usage', `--find: ${other} does not print names; use -print, -print0 or no action`);
  if (given.includes('-delete'))
    throw new LccError('usage', '--find: -delete would remove the files that it describes');
  const doesPrint = given.some(word => word === '-print' || word === '-print0');
  const action = given.find(word => ACTIONS.has(word));
  if (!doesPrint && action !== undefined)
    throw new LccError('usage', `--find: with ${action} find prints no names; add -print at the end`);
  const runsOthers = given.some(word => RUNS_OTHERS.has(word));
  const start = expressionStart(given);
  const places = given.slice(0, start);
  const expression = given.slice(start);
  // A file may go between its name being read and its facts: find is not to fail for that.
  if (prints === 'facts') places.push('-ignore_readdir_race');
  const ourAction = prints === 'facts' ? ['-printf', FACTS_FORMAT] : ['-print0'];
  if (doesPrint) {
    const printing = expression.flatMap(word =>
      word === '-print' || word === '-print0' ? ourAction : [word],
    );
    return { words: [...places, ...printing], prints, runsOthers };
  }
  if (expression.length > 0) places.push('(', ...expression, ')');
  return { words: [...places, ...ourAction], prints, runsOthers };
}

/**
 * The output of the find on this search path: only that of GNU, which has a program of its own, tells facts.
 */
export function printedBy(searchPath: string): FindPlan['prints'] {
  for (const dir of searchPath.split(':')) {
    try {
      return basename(realpathSync(join(dir, 'find'))) === 'find' ? 'facts' : 'names';
    } catch {
      // Not here.
    }
  }
  return 'names';
}

/** The name in what find printed of a file. */
export function nameOf(printed: string): string {
  return printed.slice(printed.indexOf(' ', printed.indexOf(' ', 2) + 1) + 1);
}

/** The facts of a name; `other` for what is no file, undefined for what must be looked at: links, times
 * before 1970, and what find did not print, or not alone. */
export function factsOf(printed: string): FileFacts | 'other' | undefined {
  const type = printed.charCodeAt(0);
  if (type !== REGULAR) return type === LINK || !PRINTED.test(printed) ? undefined : 'other';
  const second = printed.indexOf(' ', 2) + 1;
  if (printed.charCodeAt(second) === MINUS) return undefined;
  return {
    len: Number(printed.slice(2, second - 1)),
    mtimeMs: Number.parseInt(printed.slice(second, printed.indexOf(' ', second)), 10) * 1000,
  };
}

const PRINTED = /^[a-zA-Z] \d+ -?\d+\.\d+ /;
const REGULAR = 'f'.charCodeAt(0);
const LINK = 'l'.charCodeAt(0);
const MINUS = '-'.charCodeAt(0);

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
 * @param words as bytes (latin1) @param stderr where it complains
 * @throws LccError `io` when find could not be run, or ended with another status than 0: its list is not
 * whole then
 */
export async function runFind(
  words: readonly string[],
  stderr: number,
  onChunk: (chunk: Buffer) => void,
): Promise<void> {
  const child = start(words, stderr);
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

/** Node passes on arguments that are UTF-8 and no others: the shell does, of which it is told the bytes. */
function start(words: readonly string[], stderr: number): FindAlone | FindByShell {
  const texts = words.map(word => Buffer.from(word, 'latin1').toString());
  if (texts.every((text, n) => Buffer.from(text).toString('latin1') === words[n]))
    return spawn('find', texts, { stdio: ['ignore', 'pipe', stderr] }) as FindAlone;
  const shell = spawn('sh', ['-s'], { stdio: ['pipe', 'pipe', stderr] }) as FindByShell;
  shell.stdin.on('error', () => undefined).end(findScript(words));
  return shell;
}

type FindAlone = ChildProcessByStdio<null, Readable, null>;
type FindByShell = ChildProcessByStdio<Writable, Readable, null>;

/** Command substitution strips newlines at the end: an x after them keeps them. */
function findScript(words: readonly string[]): string {
  const lines = words.map(word => {
    const octal = [...Buffer.from(word, 'latin1')].map(byte => `\\${byte.toString(8).padStart(3, '0')}`);
    return `word=$(printf '${octal.join('')}x'); set -- "$@" "\${word%x}"\n`;
  });
  return `set --\n${lines.join('')}exec find "$@" </dev/null\n`;
}

function endText(status: number | null, signal: NodeJS.Signals | null): string | undefined {
  if (status === 0) return undefined;
  if (signal === null)
    return `find ended with status ${status}: the list of files is not whole; mend what find says, or have it leave that out`;
  return `find ended by signal ${constants.signals[signal]} (${signal}): the list of files is not whole`;
}
