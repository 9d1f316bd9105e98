/** The password of a provider, as lcccp is given it. */
import { statSync } from 'node:fs';
import { keepMemoryOutOfCores } from '../lib/core-dumps.js';
import { LccError, reasonOf } from '../lib/errors.js';
import { firstLineOf, MAX_LINE_BYTES } from '../lib/first-line.js';
import { textOf } from './options.js';
import type { CommandContext } from './run.js';

/** From the command line, a file, or the environment, in this order. */
export function passwordOf({ options, env, say }: CommandContext): string | undefined {
  keepMemoryOutOfCores();
  const text = (name: string) => textOf(options, name);
  const file = text('pwdfile');
  const given = text('pwd');
  if (given !== undefined && file !== undefined)
    throw new LccError('usage', 'give --pwd or --pwdfile, not both');
  // An empty variable counts as none, as in a shell.
  if (file === undefined) return given ?? (env['LCC_PWD'] || undefined);
  const password = readPassword(file);
  if (mayBeReadByOthers(file)) say(`${file}: other users may read this password; chmod 600 ${file}`);
  if (password === undefined)
    throw new LccError(
      'config',
      `${file}: its first line is no password, it has more than ${MAX_LINE_BYTES} bytes; write the password there`,
    );
  if (password === '')
    throw new LccError('config', `${file}: its first line is empty; write the password there`);
  return password;
}

/** True for a file in the file system: a pipe is read once. */
function mayBeReadByOthers(file: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats?.isFile() === true && (stats.mode & 0o004) !== 0;
}

function readPassword(file: string): string | undefined {
  try {
    return firstLineOf(file);
  } catch (error) {
    throw new LccError('input.missing', `--pwdfile ${file}: ${reasonOf(error)}`);
  }
}
