import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transitions } from '../../src/lib/states.js';

test('a transition of the table is made, any other one names what was about to make it', () => {
  const move = transitions<'open' | 'shut'>('door', { open: ['shut'], shut: [] });
  assert.equal(move('open', 'shut', 7), 'shut');
  assert.throws(() => move('shut', 'open', 7), { message: 'door 7: shut does not become open' });
  assert.throws(() => move('open', 'open'), { message: 'door: open does not become open' });
});
