/**
 * lcc-cp(1): every command of a site in one executable, the runtime included (docs/design/packages.md). Its
 * name says which command it is, by a link, or its first argument does.
 *
 * The executable holds a bundle of each, `NAME.cjs`, and the code that V8 made of it, `NAME.code`.
 */
import Module, { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { getRawAsset } from 'node:sea';
import { Script } from 'node:vm';
import { errnoOf, EXIT } from '../lib/errors.js';
import { writeFully } from '../lib/stdio.js';
import { VERSION } from './version.js';

/** Each command, with a line that says what it does. */
type Summaries = Readonly<Record<string, string>>;

/** Runs what the executable is called as; for its main script. */
export function launchSite(): void {
  const summaries = JSON.parse(assetOf('commands.json').toString()) as Summaries;
  const called = basename(process.argv0);
  if (Object.hasOwn(summaries, called)) return start(called);
  const [word = ''] = process.argv.splice(2, 1);
  if (Object.hasOwn(summaries, word)) return start(word);
  try {
    process.exitCode = sayWithout(word, summaries);
  } catch (error) {
    // A reader that went away is no error of ours.
    process.exitCode = errnoOf(error) === 'EPIPE' ? EXIT.ok : EXIT.ioerr;
  }
}

/** Help, or a complaint, where no command is named. @returns the exit status */
function sayWithout(word: string, summaries: Summaries): number {
  const print = (text: string) => writeFully(1, Buffer.from(text), 'standard output');
  const names = Object.keys(summaries);
  if (word === '--version') print(`lcc-cp (LCC) ${VERSION}\n`);
  else if (word === '--help' || word === '-h') print(helpOf(summaries));
  else {
    const what = word === '' ? 'no command is named' : `"${word}" is no command of a site`;
    writeFully(2, Buffer.from(`lcc-cp: ${what}; give one of ${names.join(', ')}\n`), 'standard error');
    return EXIT.usage;
  }
  return EXIT.ok;
}

const helpOf = (summaries: Summaries) => `Usage: lcc-cp COMMAND [options]

All commands of a site in one file. A link with the name of a command is that command.

Commands:
${Object.entries(summaries)
  .map(([name, summary]) => `  ${name.padEnd(14)}${summary}\n`)
  .join('')}
Options:
  -h, --help    print this help
  --version     print the version

Example:
  lcc-cp file2url --docroot=/var/www -- index.html

The manual: man lcc-cp
`;

/** As `node NAME.cjs` would. Where V8 refuses the code, as of another processor, it compiles. */
function start(name: string): void {
  const filename = join(dirname(process.execPath), `${name}.cjs`);
  const script = new Script(Module.wrap(assetOf(`${name}.cjs`).toString('latin1')), {
    filename,
    cachedData: assetOf(`${name}.code`),
  });
  const module = { exports: {} };
  const own = Object.assign(createRequire(filename), { main: module });
  const run = script.runInThisContext() as (...given: unknown[]) => void;
  run.call(module.exports, module.exports, own, module, filename, dirname(filename));
}

/** Not a copy. */
function assetOf(name: string): Buffer {
  return Buffer.from(getRawAsset(name) as ArrayBuffer);
}
