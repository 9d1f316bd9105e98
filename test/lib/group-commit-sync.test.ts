import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { GroupCommit } from '../../src/lib/group-commit.js';
import { ManualClock } from '../support/manual-clock.js';

/** What happened, in order: changes, commits, syncs, and each answer with its receiver. */
let log: string[];
let commitFailure: Error | undefined;
/** Ends the sync that runs. */
let endSync: (error?: Error) => void;
let group: GroupCommit;

beforeEach(() => {
  log = [];
  commitFailure = undefined;
  group = new GroupCommit({
    clock: new ManualClock(),
    maxWeight: () => 3,
    commit: change => {
      const value = change();
      if (commitFailure !== undefined) throw commitFailure;
      log.push('commit');
      return value;
    },
    sync: () =>
      new Promise((resolve, reject) => {
        log.push('sync');
        endSync = error => (error === undefined ? resolve() : reject(error));
      }),
  });
});

function add(name: string): Promise<void> {
  return group
    .add(() => {
      log.push(name);
      return name.toUpperCase();
    })
    .then(
      value => void log.push(value),
      (error: unknown) => void log.push(String(error)),
    );
}

test('nobody is told before the sync that all share has ended', async () => {
  const told = Promise.all([add('a'), add('b')]);
  await turn();
  await turn();
  assert.deepEqual(log, ['a', 'b', 'commit', 'sync']);
  endSync();
  await told;
  assert.deepEqual(log.slice(4), ['A', 'B']);
});

test('what comes while a sync runs is made when it has ended, in the order it came, and shares the next', async () => {
  const first = add('a');
  await turn();
  const others = [add('b'), add('c')];
  await turn();
  assert.deepEqual(log, ['a', 'commit', 'sync']);
  endSync();
  await first;
  await turn();
  assert.deepEqual(
    log.slice(3).filter(what => what !== 'A'),
    ['b', 'c', 'commit', 'sync'],
  );
  endSync();
  await Promise.all(others);
  assert.deepEqual(log.slice(-2), ['B', 'C']);
});

test('a group is bounded: the rest has the next commit', async () => {
  const told = ['a', 'b', 'c', 'd'].map(add);
  await turn();
  assert.deepEqual(log, ['a', 'b', 'c', 'commit', 'sync']);
  endSync();
  await Promise.all(told.slice(0, 3));
  await turn();
  endSync();
  await Promise.all(told);
  assert.equal(log.filter(what => what === 'commit').length, 2);
});

test('a failed commit is told to its group alone, and synced for nobody', async () => {
  commitFailure = new Error('full');
  await Promise.all([add('a'), add('b')]);
  assert.deepEqual(log, ['a', 'b', 'Error: full', 'Error: full']);
  commitFailure = undefined;
  const told = add('c');
  await turn();
  endSync();
  await told;
  assert.equal(log.at(-1), 'C');
});

test('a failed sync is told to its group', async () => {
  const told = add('a');
  await turn();
  endSync(new Error('sick'));
  await told;
  assert.equal(log.at(-1), 'Error: sick');
});
