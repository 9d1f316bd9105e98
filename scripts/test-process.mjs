// A process that runs test files, in a group of its own that is killed when its time is over, and what it said. For test.mjs.
import { spawn } from 'node:child_process';
import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * After this a process is killed and counted as a failure: a hang must not hold up the others for ever. A file that takes a
 * minute takes several on a machine whose processors are somebody else's most of the time.
 */
const timeoutMs = () => Number(process.env.LCC_TEST_TIMEOUT_MS ?? 300_000);

/** Free bytes below which temporary files do not go into memory. */
const ROOM_BYTES = 4 * 2 ** 30;

/**
 * Where processes of all runs of tests on this machine meet; each has a folder for temporary files of its own. In memory where
 * there is room: tests make many small files and sync them, and a disk that all of them share takes three times as long.
 */
const SHARED = process.env.LCC_TEST_SHARED ?? (isRoomy('/dev/shm') ? '/dev/shm' : tmpdir());

function isRoomy(folder) {
  try {
    accessSync(folder, constants.W_OK);
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize > ROOM_BYTES;
  } catch {
    return false;
  }
}

/** Processes that run. */
const running = new Set();

/** Ends a test process and all that it has started and not ended. */
function killGroup({ pid }) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** Ends all of them. */
export function killAll() {
  for (const child of running) killGroup(child);
}

/**
 * A process of the group that is being killed may write a last file meanwhile: tried again for some seconds. A disk that a
 * killed test has left mounted there stays, and so does the folder.
 */
function remove(folder, print) {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 8, retryDelay: 100 });
  } catch (error) {
    print(Buffer.from(`${folder} stays: ${error.message}\n`));
  }
}

/**
 * Runs files of one process.
 * @param root of the project
 * @param print takes what the process writes
 * @param bundle one module of all that they are; undefined: they are run as the compiler has made them
 * @returns for each file that is over its counts and failures; the files that are not; what is wrong with all; the time it took
 */
export function runFiles(root, files, { print, bundle }) {
  return new Promise((resolve, reject) => {
    const startMs = performance.now();
    const temporary = mkdtempSync(join(SHARED, 'lcc-t-'));
    // Tests run commands as other users.
    chmodSync(temporary, 0o1777);
    const child = spawn(
      process.execPath,
      [
        `--test-reporter=${join(root, 'scripts/test-report.mjs')}`,
        '--test-reporter-destination=stdout',
        ...(bundle !== undefined
          ? [bundle]
          : files.length === 1
            ? [join(root, 'dist/test', `${files[0]}.test.js`)]
            : [join(root, 'scripts/test-together.mjs'), ...files]),
      ],
      {
        env: { ...process.env, TMPDIR: temporary, LCC_TEST_SHARED: SHARED },
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      },
    );
    running.add(child);
    let said = '';
    let timedOut = false;
    child.stdio[3].setEncoding('utf8').on('data', text => void (said += text));
    for (const stream of [child.stdout, child.stderr]) stream.on('data', print);
    const timer = setTimeout(() => {
      timedOut = true;
      killGroup(child);
      // A process that has left the group may hold the other ends.
      for (const stream of child.stdio) stream?.destroy();
    }, timeoutMs());
    child.on('error', reject);
    child.on('exit', () => killGroup(child));
    child.on('close', (status, signal) => {
      clearTimeout(timer);
      running.delete(child);
      remove(temporary, print);
      const records = said.split('\n').slice(0, -1).map(JSON.parse);
      resolve({ ...sumsOf(files, records, { timedOut, status, signal }), ms: performance.now() - startMs });
    });
  });
}

const none = () => ({ passed: 0, failed: 0, skipped: 0, failures: [] });

function sumsOf(files, records, how) {
  const over = new Map();
  let sums = none();
  let begun;
  let open;
  let hasEnded = false;
  for (const record of records) {
    if (record.begun !== undefined) begun = record.begun;
    if (record.open !== undefined) open = record.open;
    if (record.end) hasEnded = true;
    if (record.outcome !== undefined) sums[record.outcome]++;
    if (record.outcome === 'failed') sums.failures.push(record);
    if (record.over === undefined) continue;
    over.set(record.over, sums);
    sums = none();
  }
  if (files.length === 1 && hasEnded) over.set(files[0], sums);
  let problem = problemOf(how, hasEnded, begun, open);
  if (files.length === 1 && hasEnded && sums.passed + sums.failed + sums.skipped === 0)
    problem = 'no test in it ran to its end';
  const failed = [...over.values()].reduce((sum, each) => sum + each.failed, 0);
  if (problem === undefined && failed === 0 && how.status !== 0) problem = `ended with status ${how.status}`;
  return { over, missing: files.filter(file => !over.has(file)), problem };
}

function problemOf({ timedOut, status, signal }, hasEnded, begun, open = []) {
  if (timedOut) {
    const where = begun === undefined ? '' : `, in “${begun}”`;
    const kept = open.length === 0 ? '' : `; open: ${[...new Set(open)].join(', ')}`;
    return `killed after ${timeoutMs() / 1000} s (LCC_TEST_TIMEOUT_MS)${where}${kept}`;
  }
  if (signal !== null) return `ended by ${signal}`;
  return hasEnded ? undefined : `ended before its tests, with status ${status}`;
}
