// Lint with types and check of the format: node scripts/check.mjs. Of what differs from the last commit that passed, where that is
// known; of all otherwise, and where the rules themselves differ. A commit has passed when this did on a tree without other changes.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
/** Goes with what is installed: another version of a tool may see more. */
const PASSED = join(root, 'node_modules/.cache/lcc/passed');
/** With one of these changed, everything is looked at. */
const RULES = /^(\.ox(lint|fmt)rc\.json|tsconfig\.json|package-lock\.json)$/;
const LINTED = /^(src|test|bench)\/.*\.ts$/;
const FORMATTED = /^(src|test|bench|scripts)\/.*\.(ts|mjs|cjs|js|json|css)$/;

/** Lines that git prints; undefined where it fails, as outside of a checkout. */
function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.split('\n').filter(line => line !== '') : undefined;
}

/** Files that differ from the last commit that passed, and are there; undefined: any of them may. */
function changedFiles() {
  const passed = existsSync(PASSED) ? readFileSync(PASSED, 'utf8').trim() : '';
  if (!/^[0-9a-f]{40}$/.test(passed)) return undefined;
  const tracked = git('diff', '--name-only', passed);
  const others = git('ls-files', '--others', '--exclude-standard');
  if (tracked === undefined || others === undefined || tracked.some(file => RULES.test(file)))
    return undefined;
  return [...tracked, ...others].filter(file => existsSync(join(root, file)));
}

/** @returns whether the tool is content; none is started for nothing */
async function pass(tool, args, all, changed) {
  const files = changed ?? all;
  if (files.length === 0) return true;
  const child = spawn(process.execPath, [join(root, 'node_modules', tool), ...args, ...files], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return await new Promise((resolve, reject) => {
    child.on('error', reject).on('close', status => resolve(status === 0));
  });
}

const changed = changedFiles();
console.log(changed === undefined ? 'check: all files' : `check: ${changed.length} changed files`);
const passed = await Promise.all([
  pass(
    'oxlint/bin/oxlint',
    ['--type-aware', '--deny-warnings'],
    ['src', 'test', 'bench'],
    changed?.filter(file => LINTED.test(file)),
  ),
  pass(
    'oxfmt/bin/oxfmt',
    ['--check'],
    ['src', 'test', 'bench', 'scripts'],
    changed?.filter(file => FORMATTED.test(file)),
  ),
]);
if (!passed.every(Boolean)) process.exit(1);
const [head] = git('rev-parse', 'HEAD') ?? [];
if (head !== undefined && git('status', '--porcelain')?.length === 0) {
  mkdirSync(dirname(PASSED), { recursive: true });
  writeFileSync(PASSED, `${head}\n`);
}
