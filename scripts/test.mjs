// Runs the tests: node scripts/test.mjs [--set=SET] [FOLDER-OR-FILE-PREFIX …], names below test/ without extension; of all sets
// (test-sets.mjs) unless one is named. Prints node:test's report of each process when that ends and the files that took longest;
// of each failure, at the end, its file, its name and its words; and last and alone on its line `N passed, N failed, N skipped`.
//
// A file, or a few files of a room (test-together.mjs), are a process (test-process.mjs). A file that crashes, hangs, ends before
// its tests have run or has none is one failure; a test marked `todo` is a failure, for nothing unfinished is kept.
//
// Of a set, a file that failed is run once more, alone, after all others. If it passes then, it counts as passed, and a line
// `unstable: NAME` says so before the last one.
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bundleTests } from './test-bundle.mjs';
import { killAll, runFiles } from './test-process.mjs';
import { AMOUNTS, BUNDLED, processesOf, QUIET, SETS } from './test-sets.mjs';

const { values, positionals } = parseArgs({ options: { set: { type: 'string' } }, allowPositionals: true });
if (values.set !== undefined && !(values.set in SETS)) {
  console.error(`test: --set=${values.set}: the sets are ${Object.keys(SETS).join(', ')}`);
  process.exit(1);
}
for (const [name, amount] of Object.entries(AMOUNTS[values.set] ?? {})) process.env[name] ??= amount;
const isInSet = SETS[values.set] ?? (() => true);
// With these Node reads the authorities of the whole machine at every start, a third of its time; no test asks a site of theirs.
delete process.env.NODE_EXTRA_CA_CERTS;
// Set where this runs below a test: our test files would answer to that one's runner.
delete process.env.NODE_TEST_CONTEXT;

/** Files named at the end, as those that took longest. */
const SLOWEST = 10;
/** Kept of what a process prints: the end. */
const MAX_OUTPUT_BYTES = 1024 * 1024;
/** With more files that failed none is run again: something else is broken than a test. */
const MAX_RUN_AGAIN = 12;
/** Lines shown of the words of a failure. */
const WORDS_LINES = 12;

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const compiledDir = join(root, 'dist/test');
const wanted = positionals.map(prefix =>
  prefix
    .replace(/^test\//, '')
    .replace(/\.ts$/, '')
    .replace(/\/$/, ''),
);
const names = readdirSync(compiledDir, { recursive: true })
  .map(String)
  .filter(file => file.endsWith('.test.js'))
  // The compiler leaves what it once made of a test that has been removed or renamed since.
  .filter(file => existsSync(join(root, 'test', file.replace(/\.js$/, '.ts'))))
  .map(file => file.replace(/\.test\.js$/, ''))
  .filter(isInSet)
  .filter(name => wanted.length === 0 || wanted.some(prefix => `${name}.test`.startsWith(prefix)))
  .sort();
if (names.length === 0) {
  console.error(`test: nothing matches ${wanted.join(' ')} below ${relative(process.cwd(), compiledDir)}`);
  process.exit(1);
}

for (const [signal, status] of Object.entries({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }))
  process.once(signal, () => {
    killAll();
    process.exit(status);
  });

/** File → what came of it: the last run counts. */
const results = new Map();
const times = [];
const sum = outcome => [...results.values()].reduce((total, each) => total + each[outcome], 0);
const seconds = ms => `${(ms / 1000).toFixed(1)} s`;
/** `lib/clock … lib/conversation`. */
const labelOf = files => (files.length === 1 ? files[0] : `${files[0]} … ${files.at(-1)}`);

/** Runs the files of a process and prints their report: at once where there are no others. */
async function run(files) {
  const kept = [];
  let bytes = 0;
  const keep = chunk => {
    kept.push(chunk);
    bytes += chunk.length;
    while (bytes > MAX_OUTPUT_BYTES) bytes -= kept.shift().length;
  };
  const isAlone = files.length === names.length;
  const print = isAlone ? chunk => process.stdout.write(chunk) : keep;
  const { over, missing, problem, ms } = await runFiles(root, files, { print, bundle: bundles.get(files) });
  for (const [file, counts] of over) results.set(file, counts);
  const lone = problem !== undefined && missing.length === 0 && files.length === 1 ? files : missing;
  for (const file of lone)
    results.set(file, { passed: 0, failed: 1, skipped: 0, failures: [{ name: 'the file', words: problem }] });
  times.push({ name: labelOf(files), ms });
  console.log(`${isAlone ? '' : Buffer.concat(kept)}── ${labelOf(files)} ${seconds(ms)}`);
  if (problem !== undefined) console.log(`✖ test/${labelOf(files)}: ${problem}`);
}

/** Processes at a time: a test waits for what it has started, which is busy then. */
const AT_A_TIME = availableParallelism() + 1;
/** Others beside them, each begun when the processors had little to do for a moment: all of those wait then. */
const MORE = 2 * availableParallelism();
const MOMENT_MS = 500;
const IDLE_SHARE = 0.25;

/** @returns a function that says which share of the time since it was last asked the processors of the machine were idle */
function idleShares() {
  const timesNow = () => {
    const each = cpus().map(({ times }) => times);
    const sumOf = of => each.reduce((total, times) => total + of(times), 0);
    return {
      idleMs: sumOf(({ idle }) => idle),
      allMs: sumOf(({ user, nice, sys, idle, irq }) => user + nice + sys + idle + irq),
    };
  };
  let last = timesNow();
  return () => {
    const [before, now] = [last, timesNow()];
    last = now;
    return (now.idleMs - before.idleMs) / Math.max(1, now.allMs - before.allMs);
  };
}

const isQuiet = ([name]) => QUIET.includes(name);
const processes = processesOf(names);
const queue = processes.filter(files => !isQuiet(files));
const bundles = BUNDLED.includes(values.set) ? await bundleTests(root, values.set, processes) : new Map();
const work = async () => {
  for (let files; (files = queue.shift()) !== undefined;) await run(files);
};
const more = new Set();
const idleShare = idleShares();
const look = setInterval(() => {
  if (idleShare() < IDLE_SHARE || queue.length === 0 || more.size === MORE) return;
  const one = run(queue.shift()).finally(() => more.delete(one));
  more.add(one);
}, MOMENT_MS);
await Promise.all(Array.from({ length: AT_A_TIME }, work));
clearInterval(look);
await Promise.all(more);
for (const files of processes.filter(isQuiet)) await run(files);

const failing = () => names.filter(name => results.get(name).failed > 0);
const unstable = [];
const suspects = failing();
if (values.set !== undefined && suspects.length <= MAX_RUN_AGAIN)
  for (const file of suspects) {
    const { failures } = results.get(file);
    console.log(`── again, alone: ${file}`);
    await run([file]);
    if (results.get(file).failed === 0) unstable.push({ file, failures });
  }

const slowest = times.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST);
console.log('longest:', slowest.map(({ name, ms }) => `${name} ${seconds(ms)}`).join(', '));
for (const { file, failures } of unstable) tell(file, failures, 'failed beside others and passed alone');
for (const file of failing()) tell(file, results.get(file).failures, 'failed');
for (const { file } of unstable) console.log(`unstable: ${file}`);
console.log(`${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped`);
process.exitCode = sum('failed') > 0 || sum('passed') === 0 ? 1 : 0;

function tell(file, failures, how) {
  for (const { name, place, words } of failures) {
    const lines = words.split('\n').filter(line => !line.includes('node:internal'));
    console.log(
      `✖ test/${file}: “${name}” ${how}${place === undefined ? '' : ` (${relative(root, place)})`}`,
    );
    for (const line of lines.slice(0, WORDS_LINES)) console.log(`    ${line}`);
    if (lines.length > WORDS_LINES) console.log(`    … ${lines.length - WORDS_LINES} more lines above`);
  }
}
