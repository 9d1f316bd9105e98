// Runs the tests: node scripts/test.mjs [--set=fast|rest|long] [FOLDER-OR-FILE-PREFIX …], names below test/ without
// extension; of all sets (test-sets.mjs) unless one is named. Prints node:test's report, the files that took longest and,
// last and alone on its line, `N passed, N failed, N skipped`.
//
// Counted from the runner's events, not from its text: a file that crashes, hangs, ends before its tests have run or
// has none is one failure; a test marked `todo` is a failure, for nothing unfinished is kept.
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { AMOUNTS, SETS } from './test-sets.mjs';

const { values, positionals } = parseArgs({ options: { set: { type: 'string' } }, allowPositionals: true });
if (values.set !== undefined && !(values.set in SETS)) {
  console.error(`test: --set=${values.set}: the sets are ${Object.keys(SETS).join(', ')}`);
  process.exit(1);
}
for (const [name, amount] of Object.entries(AMOUNTS[values.set] ?? {})) process.env[name] ??= amount;
const isInSet = SETS[values.set] ?? (() => true);

/** Files named at the end, as those that took longest. */
const SLOWEST = 8;
/**
 * After this a test file is killed and counted as a failure: a hang must not hold up the others for ever. A file that takes a
 * minute takes several on a machine whose processors are somebody else's most of the time.
 */
const FILE_TIMEOUT_MS = Number(process.env.LCC_TEST_TIMEOUT_MS ?? 600_000);

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const compiledDir = join(root, 'dist/test');
const wanted = positionals.map(prefix =>
  prefix
    .replace(/^test\//, '')
    .replace(/\.ts$/, '')
    .replace(/\/$/, ''),
);
const files = readdirSync(compiledDir, { recursive: true })
  .map(String)
  .filter(file => file.endsWith('.test.js'))
  // The compiler leaves what it once made of a test that has been removed or renamed since.
  .filter(file => existsSync(join(root, 'test', file.replace(/\.js$/, '.ts'))))
  .filter(file => isInSet(file.replace(/\.test\.js$/, '')))
  .filter(file => wanted.length === 0 || wanted.some(prefix => file.startsWith(prefix)))
  .sort()
  .map(file => join(compiledDir, file));
if (files.length === 0) {
  console.error(`test: nothing matches ${wanted.join(' ')} below ${relative(process.cwd(), compiledDir)}`);
  process.exit(1);
}

const counts = { passed: 0, failed: 0, skipped: 0 };
const withoutTests = [];
/** File → milliseconds that its tests took. */
const durations = new Map();
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
for (const outcome of ['test:pass', 'test:fail'])
  events.on(outcome, ({ file, nesting, details }) => {
    if (nesting === 0) durations.set(file, (durations.get(file) ?? 0) + details.duration_ms);
  });
events.compose(new spec()).pipe(process.stdout);
process.on('exit', status => {
  for (const file of withoutTests) console.log(`✖ ${relative(root, file)}: no test in it ran to its end`);
  const slowest = [...durations].sort(([, a], [, b]) => b - a).slice(0, SLOWEST);
  console.log(
    'longest:',
    slowest.map(([file, ms]) => `${relative(compiledDir, file)} ${(ms / 1000).toFixed(1)} s`).join(', '),
  );
  const failed = counts.failed + withoutTests.length;
  console.log(`${counts.passed} passed, ${failed} failed, ${counts.skipped} skipped`);
  process.exitCode = status !== 0 || failed > 0 || counts.passed === 0 ? 1 : 0;
});
