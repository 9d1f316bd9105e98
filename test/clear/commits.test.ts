/** When changes are written: few commits, none of which keeps its changes waiting for long. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Commits } from '../../src/clear/rails/commits.js';
import type { ClearDatabase } from '../../src/db/clear/database.js';
import { ManualClock } from '../support/manual-clock.js';

/** A database whose commits take some time. */
function newCommits(tookMs = 0) {
  const clock = new ManualClock();
  const log = { error() {}, warn() {}, info() {}, debug() {} };
  /** When commits began, and of how many changes. */
  const made: [atMs: number, changes: number][] = [];
  let changes = 0;
  const write = (change: () => void) => {
    const atMs = clock.monotonicMs();
    changes = 0;
    change();
    made.push([atMs, changes]);
    if (tookMs > 0) clock.advance(tookMs);
  };
  const db = { write } as Pick<ClearDatabase, 'write'>;
  const fail = (error: unknown) => assert.fail(String(error));
  const commits = new Commits({ db, clock, log, maxChanges: 8, maxWaitMs: 20, timeoutMs: 60_000, fail });
  const add = (count = 1) => {
    for (let i = 0; i < count; i++) commits.add(() => void changes++);
  };
  return { clock, add, made };
}

describe('changes', () => {
  it('that come after a rest are committed at once, together', () => {
    const { clock, add, made } = newCommits();
    add(3);
    assert.deepEqual(made, [], 'what makes them goes on first');
    clock.advance(0);
    clock.advance(1000);
    add();
    clock.advance(0);
    assert.deepEqual(made, [
      [0, 3],
      [1000, 1],
    ]);
  });

  it('that go on coming are committed once in the time that is set, or when they are many', () => {
    const { clock, add, made } = newCommits();
    for (let ms = 0; ms < 60; ms++) {
      if (ms % 10 === 0) add();
      clock.advance(1);
    }
    assert.deepEqual(made, [
      [0, 1],
      [20, 1],
      [40, 2],
      [60, 2],
    ]);
    add(10);
    clock.advance(0);
    clock.advance(0);
    assert.deepEqual(made.slice(4), [
      [60, 8],
      [60, 2],
    ]);
  });

  it('are committed in larger pieces where the disk is slow, up to ten times the time that is set', () => {
    for (const [tookMs, nextMs] of [
      [5, 45],
      [100, 200],
    ] as const) {
      const { clock, add, made } = newCommits(tookMs);
      add();
      clock.advance(0);
      const endMs = clock.monotonicMs();
      add();
      clock.advance(1000);
      assert.deepEqual(
        made.map(([atMs]) => atMs),
        [0, endMs + nextMs],
      );
    }
  });
});
