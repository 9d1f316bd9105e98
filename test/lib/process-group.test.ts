import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { closeOutput } from '../../src/lib/process-group.js';
import { within } from '../support/until.js';

/** A second is over at once, as for a process that has stood still. */
const LATE = {
  after: (_delayMs: number, action: () => void) => {
    action();
    return () => undefined;
  },
};

/** Stands still until a program has written and ended. */
function standStill(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
}

it('output that was there when a program ended is read, however late that is', async () => {
  const { stdout } = spawn('echo', ['all of it'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const read = text(stdout);
  standStill();
  closeOutput(stdout, LATE);
  assert.equal(await read, 'all of it\n');
});

it('output that a program left behind holds is closed all the same', async () => {
  const { stdout } = spawn('sh', ['-c', 'exec 0<&-; tail -f /dev/null & echo $!'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let pid = '';
  stdout.on('data', (chunk: Buffer) => (pid += chunk.toString()));
  standStill();
  const closed = new Promise<void>(resolve => closeOutput(stdout, LATE, resolve));
  await within('the output is closed', closed);
  process.kill(Number(pid), 'SIGKILL');
  assert.ok(stdout.destroyed);
});
