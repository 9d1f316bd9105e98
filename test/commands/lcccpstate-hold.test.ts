/** Runs of lcccpstate on one statefile at once, as processes. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { runProgram } from '../support/command.js';
import { freshDir, site, STATE, stateOf, stream } from '../support/lcccpstate.js';
import { until } from '../support/until.js';

/** One that waits for its input. */
async function begun(dir: string): Promise<ChildProcess> {
  const child = spawn(STATE, [`--statefile=${dir}/state.txt`], { stdio: ['pipe', 'ignore', 'ignore'] });
  await until('it runs', () => heldIn(dir).length > 0);
  return child;
}
const heldIn = (dir: string) => readdirSync(dir).filter(name => name.startsWith('state.txt.run.'));
const again = (dir: string, input: string, args: string[] = []) =>
  runProgram(STATE, ['-q', `--statefile=${dir}/state.txt`, ...args], { input });

test('a second run says who is at work and ends with 75, before it has read its input', async () => {
  const dir = freshDir();
  const first = await begun(dir);
  // Its writer never ends: a run that read it would not, either.
  const second = spawn(STATE, ['-q', `--statefile=${dir}/state.txt`], { stdio: 'pipe' });
  let said = '';
  let wrote = '';
  second.stderr.on('data', data => (said += String(data)));
  second.stdout.on('data', data => (wrote += String(data)));
  const [status] = (await once(second, 'close')) as [number];
  assert.equal(status, 75);
  assert.equal(
    said,
    `lcccpstate: ${dir}/state.txt: another lcccpstate is at work on it (process ${first.pid}): nothing was done, run again when it has ended\n`,
  );
  assert.equal(wrote, '<?lcc from="lcccpstate"?>\n<?lcc-failed status="75"?>\n');
  first.stdin?.end(stream(...site(2)));
  assert.deepEqual(await once(first, 'close'), [0, null]);
  assert.equal(again(dir, stream(...site(3)), ['--commit-now']).status, 0);
  assert.deepEqual(heldIn(dir), []);
});

test('a run that was killed holds nobody up, and what it left is removed', async () => {
  const dir = freshDir();
  const first = await begun(dir);
  first.kill('SIGKILL');
  await once(first, 'close');
  assert.equal(heldIn(dir).length, 1);
  const done = again(dir, stream(...site(2)), ['--commit-now']);
  assert.equal(done.status, 0, done.stderr);
  assert.deepEqual(readdirSync(dir), ['state.txt']);
});

test('of many runs that begin at once one at most works at a time, and the state is whole', async () => {
  const dir = freshDir();
  const runs = Array.from({ length: 6 }, (_, n) => {
    const child = spawn(STATE, ['-q', `--statefile=${dir}/state.txt`, '--commit-now'], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    child.stdin.on('error', () => undefined).end(stream(...site(n + 1)));
    return once(child, 'close') as Promise<[number]>;
  });
  const statuses = (await Promise.all(runs)).map(([status]) => status);
  assert.ok(
    statuses.every(status => status === 0 || status === 75),
    statuses.join(),
  );
  assert.equal(again(dir, stream(...site(3)), ['--commit-now', '--max-delete=100%']).status, 0);
  assert.equal(stateOf(dir).split('\n').length, 4);
  assert.deepEqual(readdirSync(dir), ['state.txt']);
});

test('where no file can be made beside the statefile a run that finds nothing new goes on', () => {
  // Longer names there are none.
  const state = `${freshDir()}/${'s'.repeat(250)}`;
  writeFileSync(state, `${site(2).join('\n')}\n`);
  const done = runProgram(STATE, ['-q', `--statefile=${state}`], { input: stream(...site(2)) });
  assert.equal(done.status, 0, done.stderr);
});

test('--commit needs no turn: it is asked while another run waits for its input', async () => {
  const dir = freshDir();
  assert.equal(again(dir, stream(...site(2))).status, 0);
  const first = await begun(dir);
  assert.equal(again(dir, '', ['--commit']).status, 0);
  assert.equal(stateOf(dir).split('\n').length, 3);
  first.kill('SIGKILL');
  await once(first, 'close');
});
