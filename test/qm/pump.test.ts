import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pump } from '../../src/qm/pump.js';

const turn = () => new Promise<void>(resolve => setImmediate(resolve));

test('it is looked once for all that is asked in a callback, and never again when it is stopped', async () => {
  let runs = 0;
  const pump = new Pump(
    () => runs++,
    action => process.nextTick(action),
  );
  for (let i = 0; i < 3; i++) pump.ask();
  assert.equal(runs, 0);
  await turn();
  assert.equal(runs, 1);
  pump.ask();
  pump.stop();
  await turn();
  assert.equal(runs, 1);
});

test('who works for long has the event loop go round, though each piece asks for the next one at once', async () => {
  let runs = 0;
  const pump = new Pump(
    () => {
      runs++;
      pump.ask();
      pump.rest();
    },
    action => process.nextTick(action),
  );
  pump.ask();
  for (const seen of [1, 2, 3]) {
    await turn();
    assert.ok(runs <= seen + 1, `${runs} pieces in ${seen} turns`);
  }
  pump.stop();
});
