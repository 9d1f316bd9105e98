/**
 * Is loaded in front of a program that reads lines from its standard input (`node --import`): LCC_TEST_LINES names the file of the
 * lines that were handed to it, LCC_TEST_KILL says who dies when the nth is (`reader:n` the program, `writer:n` its parent).
 */
import { appendFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import readline, { type ReadLineOptions } from 'node:readline';

const file = process.env['LCC_TEST_LINES'] ?? '/dev/null';
const [who, at] = (process.env['LCC_TEST_KILL'] ?? '').split(':');
const create = readline.createInterface;

async function* noted(lines: AsyncIterable<string>) {
  let count = 0;
  for await (const line of lines) {
    appendFileSync(file, `${line}\n`);
    if (++count === Number(at)) {
      if (who === 'reader') process.kill(process.pid, 'SIGKILL');
      if (who === 'writer') process.kill(process.ppid, 'SIGKILL');
    }
    yield line;
  }
}

Object.assign(readline, {
  createInterface(options: ReadLineOptions) {
    const lines = create(options);
    return options.input === process.stdin ? noted(lines) : lines;
  },
});
syncBuiltinESMExports();
