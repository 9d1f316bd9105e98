/** Loaded before a daemon of a test: its wall clock goes apart by the milliseconds in a file, which may change while it runs. */
import { readFileSync } from 'node:fs';

const file = process.env['LCC_TEST_CLOCK'] ?? '';
const here = Date.now.bind(Date);
let apartMs = 0;
let readMs = -Infinity;
Date.now = () => {
  // Not for each of the many that ask.
  if (performance.now() - readMs > 100) {
    apartMs = Number(readFileSync(file, 'utf8'));
    readMs = performance.now();
  }
  return here() + apartMs;
};
