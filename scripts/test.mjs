// Runs the tests: node scripts/test.mjs [--set=fast|rest|long] [FOLDER-OR-FILE-PREFIX …], names below test/ without
// extension; of all sets (test-sets.mjs) unless one is named. Prints node:test's report of each file when that ends, the
// files that took longest, those that failed and, last and alone on its line, `N passed, N failed, N skipped`.
//
// A file, or a few files of a room (test-together.mjs), are a process with a group of its own, killed with all in it when its
// time is over: Node 24 asks a test to end in a way that one that is busy does not hear. A file that crashes, hangs, ends before
// its tests have run or has none is one failure; a test marked `todo` is a failure, for nothing unfinished is kept (test-report.mjs).
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { AMOUNTS, processesOf, SETS } from './test-sets.mjs';

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
/**
 * After this a test file is killed and counted as a failure: a hang must not hold up the others for ever. A file that takes a
 * minute takes several on a machine whose processors are somebody else's most of the time.
 */
const FILE_TIMEOUT_MS = Number(process.env.LCC_TEST_TIMEOUT_MS ?? 600_000);
/** Kept of what a file prints: the end. */
const MAX_OUTPUT_BYTES = 1024 * 1024;

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

/** Test files that run. */
const running = new Set();

/** Ends a test file and what it has started and not ended. */
function killGroup({ pid }) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

for (const [signal, status] of Object.entries({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }))
  process.once(signal, () => {
    for (const child of running) killGroup(child);
    process.exit(status);
  });

/** Runs the files of a process. @returns their counts, the time they took and what is wrong with them as a whole */
function runFiles(files, print) {
  return new Promise((resolve, reject) => {
    const startMs = performance.now();
    const child = spawn(
      process.execPath,
      [
        `--test-reporter=${join(root, 'scripts/test-report.mjs')}`,
        '--test-reporter-destination=stdout',
        ...(files.length === 1
          ? [join(compiledDir, `${files[0]}.test.js`)]
          : [join(root, 'scripts/test-together.mjs'), ...files]),
      ],
      { detached: true, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] },
    );
    running.add(child);
    let outcomes = '';
    let timedOut = false;
    child.stdio[3].setEncoding('utf8').on('data', text => void (outcomes += text));
    for (const stream of [child.stdout, child.stderr]) stream.on('data', print);
    const timer = setTimeout(() => {
      timedOut = true;
      killGroup(child);
      // A process that has left the group may hold the other ends.
      for (const stream of child.stdio) stream?.destroy();
    }, FILE_TIMEOUT_MS);
    child.on('error', reject);
    child.on('exit', () => killGroup(child));
    child.on('close', (status, signal) => {
      clearTimeout(timer);
      running.delete(child);
      const lines = outcomes.split('\n');
      const count = outcome => lines.filter(line => line === outcome).length;
      const counts = { passed: count('passed'), failed: count('failed'), skipped: count('skipped') };
      const problem = problemOf({ timedOut, status, signal, lines, counts });
      if (problem !== undefined) counts.failed ||= 1;
      resolve({ name: labelOf(files), counts, problem, ms: performance.now() - startMs });
    });
  });
}

function problemOf({ timedOut, status, signal, lines, counts }) {
  if (timedOut) {
    const begun = lines.findLast(line => line.startsWith('begun '))?.slice('begun '.length);
    const where = begun === undefined ? '' : `, in “${begun}”`;
    return `killed after ${FILE_TIMEOUT_MS / 1000} s (LCC_TEST_TIMEOUT_MS)${where}`;
  }
  if (signal !== null) return `ended by ${signal}`;
  if (!lines.includes('end')) return `ended before its tests, with status ${status}`;
  if (counts.passed + counts.failed + counts.skipped === 0) return 'no test in it ran to its end';
  return status !== 0 && counts.failed === 0 ? `ended with status ${status}` : undefined;
}

/** `lib/clock … lib/conversation`. */
const labelOf = files => (files.length === 1 ? files[0] : `${files[0]} … ${files.at(-1)}`);

/** Runs the files of a process and prints their report: at once where there are no others. */
async function report(files) {
  const kept = [];
  let bytes = 0;
  const keep = chunk => {
    kept.push(chunk);
    bytes += chunk.length;
    while (bytes > MAX_OUTPUT_BYTES) bytes -= kept.shift().length;
  };
  const isAlone = files.length === names.length;
  const ran = await runFiles(files, isAlone ? chunk => process.stdout.write(chunk) : keep);
  console.log(`${isAlone ? '' : Buffer.concat(kept)}── ${ran.name} ${seconds(ran)}`);
  if (ran.problem !== undefined) console.log(`✖ test/${ran.name}: ${ran.problem}`);
  return ran;
}

const seconds = ({ ms }) => `${(ms / 1000).toFixed(1)} s`;

/** Processes at a time: a test waits for what it has started, which is busy then. */
const PROCESSES_AT_A_TIME = availableParallelism() + 1;

const done = [];
const queue = processesOf(names);
const work = async () => {
  for (let files; (files = queue.shift()) !== undefined;) done.push(await report(files));
};
await Promise.all(Array.from({ length: PROCESSES_AT_A_TIME }, work));

const sum = outcome => done.reduce((total, { counts }) => total + counts[outcome], 0);
const slowest = done.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST);
console.log('longest:', slowest.map(ran => `${ran.name} ${seconds(ran)}`).join(', '));
for (const { name, counts, problem } of done)
  if (counts.failed > 0) console.log(`✖ test/${name}: ${problem ?? `${counts.failed} failed`}`);
console.log(`${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped`);
process.exitCode = sum('failed') > 0 || sum('passed') === 0 ? 1 : 0;
