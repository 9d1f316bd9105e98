/** The options that every command has. */
import type { Command } from 'commander';
import { VERSION } from './version.js';

/** Those that a command reads. For daemons they say what is logged: daemon/log-level.ts. */
export const COMMON_OPTIONS: { flags: string; help: string }[] = [
  { flags: '-q, --quiet', help: 'say nothing but errors' },
  { flags: '-v, --verbose', help: 'explain what is being done' },
];

/** First words of the operands as the synopsis has them: `root add`. */
export function actionsOf(operands = ''): string[] {
  const alternatives = operands.replace(/^\[(?=[a-z])/, '').split('|');
  return alternatives.flatMap(text => /^[a-z][a-z-]*(?: [a-z][a-z-]*)*/.exec(text)?.[0] ?? []);
}

/** The action that somebody names by the first of the words; undefined: there is none of that name. */
export function actionIn(operands: string | undefined, words: readonly string[]): string | undefined {
  return actionsOf(operands).find(action => `${words.join(' ')} `.startsWith(`${action} `));
}

/** An option's line in `--help` and in completions: the actions that it is for come first. */
export function helpOf({ of, help }: { of?: readonly string[]; help: string }): string {
  return of === undefined ? help : `${of.join(', ')}: ${help}`;
}

/** Those after which it ends: `--help` with an example and where the manual is, `--version`. */
export function addHelp(
  program: Command,
  { name, summary, example }: { name: string; summary: string; example: string },
): Command {
  return program
    .description(summary)
    .version(`${name} (LCC) ${VERSION}`, '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', `\nExample:\n${example.replace(/^/gm, '  ')}\n\n${manualLine(name)}`);
}

/** Daemons, robots and what administers them are in section 8, as everywhere; from a clone man(1) needs the
 * file. */
function manualLine(name: string): string {
  const section = /^lcc(d|bot|pidb|map|ctl|fsck|rail|rs$|keep|urld|spider|stored)/.test(name) ? 8 : 1;
  return `The manual: man ${name} (in a clone: man -l man/${name}.${section})`;
}
