/** The real bin/lcccpstate on directories that are removed when the tests are over, and what it reads and writes. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runBin } from './command.js';
import { ROOT } from './tree.js';
import { atEnd } from './at-end.js';

export const base = realpathSync(mkdtempSync(join(tmpdir(), 'lcccpstate-')));
atEnd(() => rmSync(base, { recursive: true }));
export const STATE = join(ROOT, 'bin/lcccpstate');
export const END = '<?lcc end?>\n';

let made = 0;
export function freshDir(): string {
  const dir = join(base, String(made++));
  mkdirSync(dir);
  return dir;
}
export function run(
  dir: string,
  input: string | Buffer,
  args: string[] = [],
  env: Record<string, string> = {},
) {
  const options = { input, env: { ...process.env, ...env } };
  const done = runBin('lcccpstate', ['--statefile', join(dir, 'state.txt'), ...args], options);
  const stdout = done.stdout.toString();
  return {
    status: done.status,
    signal: done.signal,
    stdout,
    stderr: done.stderr,
    urls: stdout.split('\n').filter(l => l.startsWith('<url')),
  };
}
export const url = (name: string, len: number) => `<url curl="${name}" mimetype="text/html" len="${len}"/>`;
export const stream = (...lines: string[]) => streamOf(lines);
export const streamOf = (lines: readonly string[]) =>
  `<?lcc from="test"?>\n${lines.map(l => `${l}\n`).join('')}${END}`;
export const site = (n: number) => Array.from({ length: n }, (_, i) => url(`p${i}`, i));
export const stateOf = (dir: string) => readFileSync(join(dir, 'state.txt'), 'utf8');
/** What lcccp does when the set was accepted. */
export const accept = (dir: string) => assert.equal(run(dir, '', ['--commit']).status, 0);

/** What a refusal writes: a stream that begins and does not end. */
export const CUT = '<?lcc from="lcccpstate"?>\n<?lcc-failed status="65"?>\n';
