// Runs test files below dist/test in one process, one after the other, each as a suite with hooks of its own:
// node scripts/test-together.mjs NAME …. For test.mjs.
import { existsSync } from 'node:fs';
import { describe } from 'node:test';

const modules = new URL('../dist/test/', import.meta.url);
const atEnd = new URL('support/at-end.js', modules);
const end = existsSync(atEnd) ? (await import(atEnd)).takeOver() : undefined;
for (const name of process.argv.slice(2))
  await describe(`test/${name}`, async () => void (await import(new URL(`${name}.test.js`, modules))));
await end?.();
