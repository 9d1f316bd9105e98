/** What lccstat says of rails, from what both daemons of cache clearing answer. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { HARD_FIGURES, SOFT_FIGURES } from '../../src/clear/figures.js';
import { reasonsOf } from '../../src/run/look/reasons.js';

function reasons(rail: object): string[] {
  const usual = {
    name: 'r1',
    state: 'up',
    reason: '',
    changed_ms: 0,
    backlog: 0,
    dead: 0,
    last_error: '',
    waiting: 0,
  };
  const looks = ['lccd-hard', 'lccd-soft'].map(name => ({
    name,
    status: { daemon: name, database_trouble: null, rails: [{ ...usual, ...rail }], generation_error: null },
  }));
  const figures = { 'lccd-hard': HARD_FIGURES, 'lccd-soft': SOFT_FIGURES };
  return reasonsOf(looks as never, undefined, 60_000, figures as never).filter(line => line.includes('r1'));
}

it('a rail that fails is reported from its first pages on, and once for both daemons', () => {
  assert.deepEqual(reasons({}), []);
  assert.deepEqual(reasons({ last_error: 'status 500' }), [], 'nothing is left to do');
  assert.deepEqual(reasons({ last_error: 'status 500', waiting: 2 }), [
    'rail r1 fails: status 500; 2 pages are tried again',
  ]);
  const [line = '', ...others] = reasons({ last_error: 'status 500', backlog: 1 });
  assert.match(line, /^rail r1 fails: status 500; 1 page waits in its backlog; lccclearq backlog/);
  assert.deepEqual(others, []);
  assert.equal(reasons({ state: 'down', reason: 'refused' }).length, 1);
});
