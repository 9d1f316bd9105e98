// Runs the tests: node scripts/test.mjs [FOLDER-OR-FILE-PREFIX …], names below test/ without extension.
// Prints the runner's report and, last, `N passed, N failed, N skipped`.
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const testDir = join(root, 'dist/test');
const wanted = process.argv.slice(2).map(w =>
  w
    .replace(/^test\//, '')
    .replace(/\.ts$/, '')
    .replace(/\/$/, ''),
);
const files = readdirSync(testDir, { recursive: true })
  .map(String)
  .filter(f => f.endsWith('.test.js'))
  .filter(f => wanted.length === 0 || wanted.some(w => f.startsWith(w)))
  .sort();
if (files.length === 0) {
  console.error(`test: nothing matches ${wanted.join(' ')} below ${relative(process.cwd(), testDir)}`);
  process.exit(1);
}
const child = spawn(
  process.execPath,
  [
    '--test',
    '--test-reporter=spec',
    `--test-concurrency=${cpus().length}`,
    ...files.map(f => join(testDir, f)),
  ],
  { stdio: ['ignore', 'pipe', 'inherit'], cwd: root },
);
const counts = { pass: 0, fail: 0, skipped: 0 };
let tail = '';
child.stdout.setEncoding('utf8');
child.stdout.on('data', text => {
  process.stdout.write(text);
  tail = (tail + text).slice(-4000);
});
child.on('close', status => {
  for (const key of Object.keys(counts)) {
    const found = tail.match(new RegExp(`^\\S* ?${key} (\\d+)$`, 'm'));
    if (found) counts[key] = Number(found[1]);
  }
  console.log(`${counts.pass} passed, ${counts.fail} failed, ${counts.skipped} skipped`);
  process.exit(status === 0 && counts.fail === 0 && counts.pass > 0 ? 0 : 1);
});
