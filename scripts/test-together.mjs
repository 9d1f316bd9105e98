// Runs test files below dist/test in one process, one after the other, each as a suite with hooks of its own:
// node scripts/test-together.mjs NAME …. For test.mjs.
import { describe } from 'node:test';

for (const name of process.argv.slice(2))
  await describe(`test/${name}`, async () => void (await import(`../dist/test/${name}.test.js`)));
