/**
 * Makes vectors as an embedder does, known by `vectorOf` of their texts. LCC_TEST_ASKED names the file of the texts it was asked for,
 * LCC_TEST_KILL=asked:n has the program that asks die at the nth, before any answer to it.
 */
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { vectorOf } from './vector-table.js';

const [who, at] = (process.env['LCC_TEST_KILL'] ?? '').split(':');
let count = 0;
for await (const line of createInterface({ input: process.stdin })) {
  appendFileSync(process.env['LCC_TEST_ASKED'] ?? '/dev/null', `${line}\n`);
  if (++count === Number(at) && who === 'asked') {
    process.kill(process.ppid, 'SIGKILL');
    process.exit();
  }
  process.stdout.write(`${JSON.stringify(vectorOf(JSON.parse(line) as string))}\n`);
}
