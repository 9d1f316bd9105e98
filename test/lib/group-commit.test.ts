import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { GroupCommit } from '../../src/lib/group-commit.js';
import { ManualClock } from '../support/manual-clock.js';

let clock: ManualClock;
/** What happened, in order: changes, commits, and each answer with its receiver. */
let log: string[];
let commitMs: number;
let failure: Error | undefined;
let group: GroupCommit;

beforeEach(() => {
  clock = new ManualClock();
  log = [];
  commitMs = 0;
  failure = undefined;
  group = new GroupCommit({
    clock,
    maxWeight: () => 10,
    commit: change => {
      const value = change();
      clock.advance(commitMs);
      if (failure !== undefined) throw failure;
      log.push('commit');
      return value;
    },
  });
});

function add(name: string, weight = 1): Promise<void> {
  return group
    .add(() => {
      log.push(name);
      return name.toUpperCase();
    }, weight)
    .then(
      value => void log.push(value),
      (error: unknown) => void log.push(String(error)),
    );
}

test('a lone change is committed in this turn of the event loop', async () => {
  await add('a');
  assert.deepEqual(log, ['a', 'commit', 'A']);
});

test('what comes in one turn shares a commit, in the order it came', async () => {
  await Promise.all([add('a'), add('b'), add('c')]);
  assert.deepEqual(log, ['a', 'b', 'c', 'commit', 'A', 'B', 'C']);
});

test('nobody is told before the commit that all share', async () => {
  await Promise.all([add('a'), add('b')]);
  assert.ok(log.indexOf('A') > log.indexOf('commit'), log.join(' '));
});

test('after a commit others are gathered for as long as it took', async () => {
  commitMs = 8;
  await add('a');
  const later = Promise.all([add('b'), add('c')]);
  clock.advance(7);
  await turn();
  assert.deepEqual(log, ['a', 'commit', 'A']);
  clock.advance(1);
  await later;
  assert.deepEqual(log.slice(3), ['b', 'c', 'commit', 'B', 'C']);
});

test('a change that comes later than that does not wait', async () => {
  commitMs = 8;
  await add('a');
  clock.advance(8);
  await add('b');
  assert.deepEqual(log.slice(3), ['b', 'commit', 'B']);
});

test('a disk that takes for ever makes nobody wait longer than a tenth of a second', async () => {
  commitMs = 60_000;
  await add('a');
  const later = add('b');
  clock.advance(100);
  await later;
  assert.equal(log.at(-1), 'B');
});

test('changes that weigh too much together go one commit after the other', async () => {
  await Promise.all([add('a', 6), add('b', 4), add('c', 1), add('d', 50), add('e')]);
  assert.deepEqual(
    log.filter(what => !/[A-Z]/.test(what)),
    ['a', 'b', 'commit', 'c', 'commit', 'd', 'commit', 'e', 'commit'],
  );
});

test('a commit that fails has failed for all of it, and for nobody else', async () => {
  failure = new Error('no room');
  await Promise.all([add('a', 9), add('b', 1)]);
  assert.deepEqual(log, ['a', 'b', 'Error: no room', 'Error: no room']);
  failure = undefined;
  await add('c');
  assert.deepEqual(log.slice(4), ['c', 'commit', 'C']);
});
