// Runs the tests: node scripts/test.mjs [FOLDER-OR-FILE-PREFIX …], names below test/ without extension.
// Prints node:test's report and, last and alone on its line, `N passed, N failed, N skipped`.
//
// Counted from the runner's events, not from its text: a file that crashes, hangs, ends before its tests have run or
// has none is one failure; a test marked `todo` is a failure, for nothing unfinished is kept.
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';

/**
 * After this a test file is killed and counted as a failure: a hang must not hold up the others for ever. A file that takes a
 * minute takes several on a machine whose processors are somebody else's most of the time.
 */
const FILE_TIMEOUT_MS = Number(process.env.LCC_TEST_TIMEOUT_MS ?? 600_000);

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const compiledDir = join(root, 'dist/test');
const wanted = process.argv.slice(2).map(prefix =>
  prefix
    .replace(/^test\//, '')
    .replace(/\.ts$/, '')
    .replace(/\/$/, ''),
);
const files = readdirSync(compiledDir, { recursive: true })
  .map(String)
  .filter(file => file.endsWith('.test.js'))
  // The compiler leaves behind what it once made of a test that has been removed or renamed since.
  .filter(file => existsSync(join(root, 'test', file.replace(/\.js$/, '.ts'))))
  .filter(file => wanted.length === 0 || wanted.some(prefix => file.startsWith(prefix)))
  .sort()
  .map(file => join(compiledDir, file));
if (files.length === 0) {
  console.error(`test: nothing matches ${wanted.join(' ')} below ${relative(process.cwd(), compiledDir)}`);
  process.exit(1);
}

const counts = { passed: 0, failed: 0, skipped: 0 };
const withoutTests = [];
const events = run({ files, concurrency: availableParallelism(), timeout: FILE_TIMEOUT_MS });
events.on('test:pass', event => {
  if (event.details.type === 'suite') return;
  if (files.includes(event.name)) withoutTests.push(event.name);
  else if (event.skip !== undefined && event.skip !== false) counts.skipped++;
  else if (event.todo !== undefined && event.todo !== false) counts.failed++;
  else counts.passed++;
});
events.on('test:fail', event => {
  // A suite fails because of its tests, which are counted themselves, or because of its own hooks.
  if (event.details.type === 'suite' && event.details.error?.failureType === 'subtestsFailed') return;
  counts.failed++;
});
events.compose(new spec()).pipe(process.stdout);
process.on('exit', status => {
  for (const file of withoutTests) console.log(`✖ ${relative(root, file)}: no test in it ran to its end`);
  const failed = counts.failed + withoutTests.length;
  console.log(`${counts.passed} passed, ${failed} failed, ${counts.skipped} skipped`);
  process.exitCode = status !== 0 || failed > 0 || counts.passed === 0 ? 1 : 0;
});
