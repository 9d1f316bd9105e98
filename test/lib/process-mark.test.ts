import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isRunning, ownMark } from '../../src/lib/process-mark.js';

test('a process is known as running by its mark, and not by that of an earlier one with its number', async () => {
  assert.ok(isRunning(ownMark()));
  const [pid, beginning] = ownMark().split('-');
  assert.ok(!isRunning(`${pid}-${Number(beginning) - 1}`));
  // A name that looks like the fields after it.
  const child = spawn('bash', ['-c', 'printf ") R 1 (x" >/proc/$$/comm; echo named; read']);
  await once(child.stdout, 'data');
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
  const mark = `${child.pid}-${fields[19]}`;
  assert.ok(isRunning(mark));
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.ok(!isRunning(mark));
});
