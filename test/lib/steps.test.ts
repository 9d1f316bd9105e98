import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { onStep, step } from '../../src/lib/steps.js';
import { ROOT } from '../support/tree.js';

function passSteps(names: string[], env: Record<string, string>) {
  const probe = spawnSync(process.execPath, [join(ROOT, 'dist/test/support/step-probe.js'), ...names], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  return { signal: probe.signal, status: probe.status, stdout: probe.stdout, pid: probe.pid };
}

function logFile(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-steps-'));
  t.after(() => rmSync(dir, { recursive: true }));
  return join(dir, 'steps');
}

test('steps are passed in silence unless asked for', () => {
  const done = passSteps(['a.b', 'c.d'], {});
  assert.deepEqual([done.signal, done.status, done.stdout], [null, 0, 'end\n']);
});

test('the step log has every step with its process, in order', t => {
  const path = logFile(t);
  const done = passSteps(['a.synced', 'a.renamed', 'a.synced'], { LCC_STEP_LOG: path });
  const { pid } = done;
  assert.equal(readFileSync(path, 'utf8'), `${pid} a.synced\n${pid} a.renamed\n${pid} a.synced\n`);
});

test('a process is killed at the named step and not one instruction later', t => {
  const path = logFile(t);
  const done = passSteps(['a', 'b', 'c'], { LCC_CRASH_AT: 'b', LCC_STEP_LOG: path });
  assert.deepEqual([done.signal, done.stdout], ['SIGKILL', '']);
  assert.equal(readFileSync(path, 'utf8'), `${done.pid} a\n${done.pid} b\n`);
});

test('the N-th passing of a step can be chosen; others are left alone', () => {
  assert.equal(passSteps(['a', 'b', 'a', 'a'], { LCC_CRASH_AT: 'a:3' }).signal, 'SIGKILL');
  assert.equal(passSteps(['a', 'b', 'a'], { LCC_CRASH_AT: 'a:3' }).signal, null);
  assert.equal(passSteps(['a', 'ab', 'ba'], { LCC_CRASH_AT: 'b' }).signal, null);
});

test('a watcher in the process sees every step, and what it throws ends the work there', () => {
  const seen: string[] = [];
  onStep(name => {
    seen.push(name);
    if (name === 'b') throw new Error('here');
  });
  step('a');
  assert.throws(() => step('b'), /here/);
  assert.deepEqual(seen, ['a', 'b']);
});
