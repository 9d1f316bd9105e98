import assert from 'node:assert/strict';
import { it } from 'node:test';
import { standbyState } from '../../../src/db/engine/home-rows.js';

it('a standby that lacks the news of a moment is as good as one that has all; one that says nothing is none', () => {
  const machine = 'h2';
  assert.equal(standbyState({ machine, behind: 0, age: 1 }), 'complete');
  assert.equal(standbyState({ machine, behind: 158, age: 1 }), 'complete');
  assert.equal(standbyState({ machine, behind: 20_000_000, age: 1 }), 'partial');
  assert.equal(standbyState({ machine, behind: 0, age: 10 }), 'away');
});
